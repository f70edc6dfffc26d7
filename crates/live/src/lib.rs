//! Real devices and real time.
