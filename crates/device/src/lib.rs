//! Modelled devices, one file each. Pure: no clock, no I/O; the loop tells them the time.
#![forbid(unsafe_code)]

mod fixed;

pub use fixed::{Cost, Fixed};
