//! From a job file to results: the only crate that reads what people write, and writes JSON.
//!
//! `spec` reads a job, `stack` builds the device that it names, `run` drives it under each
//! `candidate`, `stats` measures, `result` is what comes out. `record` and `replay` prove that a
//! run and its replay decide alike. `schema` tells editors what a job may hold, `doctor` what the
//! machine can do. `gate` puts a policy before an application's own requests, and `online_batch` runs
//! the programs of a paper over one.

#![forbid(unsafe_code)]

pub mod detail;
mod device_stats;
pub mod devices;
pub mod diagnose;
pub mod doctor;
pub mod drives;
pub mod gate;
pub mod list;
pub mod nearest;
pub mod online_batch;
pub mod record;
pub mod replay;
pub mod result;
pub mod schema;
pub mod trace_tools;
pub mod units;

mod agents;
mod below;
mod bench;
mod busy;
mod candidate;
mod classes;
mod ending;
mod errors;
mod failure;
mod file;
mod independent;
mod ledger;
mod load;
mod machine;
mod measured;
mod page_cache;
mod params;
mod place;
mod program_stats;
mod programs;
mod recorded;
mod run;
mod schedule;
mod sets;
mod snapshot;
mod spec;
mod stats;
mod stop;
mod target;
mod text;
mod traces;
mod tree;
mod values;
mod windows;

pub use agents::{AgentSpec, Edge, Region};
pub use candidate::{Build, Candidate, Foreign, Leave, Quit};
pub use devices::DeviceSpec;
pub use diagnose::JobError;
pub use failure::Failure;
pub use page_cache::PageCacheSpec;
pub use penstock_live::{Handover, Pace};
pub use programs::{ProgramSpec, ProgramsSpec};
pub use run::{Options, Patience, Step, compare, compare_text};
pub use snapshot::{ClassSnapshot, Snapshot};
pub use spec::{Class, Job, Live, Stop, View};

/// Version of Penstock.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
