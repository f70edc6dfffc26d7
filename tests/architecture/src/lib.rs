//! Tests alone: which crate and which file may use which, and what types are called.
