//! From a job file to results: the only crate that reads what people write, and writes JSON.
//!
//! `spec` reads a job, `stack` builds the device that it names, `run` drives it under each policy,
//! `stats` measures, `result` is what comes out. `record` and `replay` prove that a run and its
//! replay decide alike.

#![forbid(unsafe_code)]

pub mod detail;
pub mod devices;
pub mod diagnose;
pub mod drives;
pub mod list;
pub mod nearest;
pub mod record;
pub mod replay;
pub mod result;
pub mod trace_tools;
pub mod units;

mod agents;
mod failure;
mod file;
mod load;
mod machine;
mod params;
mod run;
mod schedule;
mod sets;
mod spec;
mod stack;
mod stats;
mod text;
mod traces;
mod tree;

pub use agents::{AgentSpec, Edge, Region};
pub use devices::DeviceSpec;
pub use diagnose::JobError;
pub use failure::Failure;
pub use run::{Options, Step, compare, compare_text};
pub use spec::{Class, Job, Live, Stop};

/// Version of Penstock.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
