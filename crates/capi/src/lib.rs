//! The gate for programs in C: `libpenstock_gate`, whose interface is `penstock_gate.h`.
//!
//! Use it from C, C++, Go, or any language that calls C. The functions convert: pointers to values,
//! errors to `errno` and a text. What a call does is the gate's, in `penstock_run::gate`.
//!
//! Invariants: hand-written unsafe code is in `calls` and `memory` alone; no panic leaves the library; a
//! pointer of the caller is used during a call alone, except for the buffer of a submitted read, which
//! `pg_poll` fills on the caller's thread; all state belongs to a handle.

#![deny(unsafe_code)]

pub mod calls;

mod completions;
mod errors;
mod handle;
mod memory;
