//! Tests alone: which crate and which file may use which.
