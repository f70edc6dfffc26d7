//! How a job is run: from what `penstock-jobs` read to results, and the only crate that writes JSON.
//!
//! `session` keeps a target open and runs the `cells` of a `design` on it, and a comparison (`run`)
//! is a session of one job. `runner` builds the stack of a cell and drives it at its `place` under its
//! `candidate` with its `workload`; `measures` observe, and `result` is what they write. `record`
//! proves that a run and its replay decide alike. `doctor` says what the machine can do, `gate` puts
//! a policy before an application's own requests, and `papers` run the programs of papers over one.

#![forbid(unsafe_code)]

pub mod amounts;
pub mod doctor;
pub mod gate;
pub mod merge;
pub mod papers;
pub mod races;
pub mod record;
pub mod result;
pub mod trace_make;
pub mod trace_tools;

mod below;
mod cached_devices;
mod candidate;
mod cells;
mod design;
mod durable;
mod ending;
mod engines;
mod extents;
mod failure;
mod independent;
mod lane;
mod lane_models;
mod lane_targets;
mod last_sent;
mod law;
mod live_target;
mod loops;
mod machine;
mod measures;
mod merge_facts;
mod model_data;
mod observer;
mod options;
mod parts;
mod place;
mod pool;
mod progress;
mod queues;
mod run;
mod run_errors;
mod runner;
mod schema;
mod session;
mod shares;
mod side_by_side;
mod snapshot;
mod stability;
mod step;
mod target;
mod target_options;
mod threads;
mod trace_file;
mod verify;
mod version;
mod without_detail;
mod without_effect;
mod workload;

pub use candidate::{Build, Candidate, Foreign, Quit, QuitFlag};
pub use failure::Failure;
pub use merge_facts::{MergeFacts, merge_facts};
pub use options::{Failures, Options, RequestSink, Survey};
pub use penstock_live::{Handover, Noting, Pace, exit_without_memory};
pub use run::{compare, compare_text};
pub use schema::schema;
pub use session::{Session, Variant};
pub use snapshot::{ClassSnapshot, Snapshot};
pub use stability::{Characteristic, ClassStability};
pub use step::{Patience, Step};
pub use target_options::TargetOptions;
pub use version::VERSION;
pub use without_detail::without_detail;
