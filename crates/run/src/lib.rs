//! How a job is run: from what `penstock-spec` read to results, and the only crate that writes JSON.
//!
//! `session` keeps a target open and runs the `cells` of a `design` on it, `run` compares candidates
//! over one job, `bench` builds the stack of a cell and drives it at its `place` under its `candidate`, `stats` measures, `result` is what comes out. `record` and `replay`
//! prove that a run and its replay decide alike. `doctor` says what the machine can do, `gate` puts a
//! policy before an application's own requests, and `online_batch` runs the programs of a paper over
//! one.

#![forbid(unsafe_code)]

pub mod detail;
mod device_stats;
pub mod doctor;
pub mod gate;
pub mod online_batch;
pub mod record;
pub mod replay;
pub mod result;
pub mod trace_tools;

mod below;
mod bench;
mod busy;
mod candidate;
mod cells;
mod design;
mod ending;
mod errors;
mod failure;
mod independent;
mod ledger;
mod load;
mod machine;
mod measured;
mod options;
mod place;
mod program_stats;
mod recorded;
mod run;
mod schedule;
mod session;
mod snapshot;
mod stats;
mod step;
mod target;
mod target_options;
mod trace_file;
mod values;
mod version;
mod weights;
mod windows;

pub use candidate::{Build, Candidate, Foreign, Leave, Quit};
pub use failure::Failure;
pub use options::Options;
pub use penstock_live::{Handover, Noting, Pace, exit_without_memory};
pub use run::{compare, compare_text};
pub use session::Session;
pub use snapshot::{ClassSnapshot, Snapshot};
pub use step::{Patience, Step};
pub use target_options::TargetOptions;
pub use version::VERSION;
