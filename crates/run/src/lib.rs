//! Runs jobs: from what `penstock-jobs` read to results. The only crate that writes JSON.
//!
//! `session` keeps a target open and runs the cells of a design on it; a comparison is a session of
//! one job. `ask` has the options. The runner of a session builds the stack of a cell and drives it
//! at its `place` with its `workload`; `measures` observe it, `progress` reports on it, and
//! `result` is the outcome. `pool` has the threads. `record` proves that a run and its replay
//! decide alike. `doctor` says what the machine can do, `gate` puts a policy before an
//! application's own requests, `papers` run the programs of papers over one, and `passes` test files
//! call by call.

#![forbid(unsafe_code)]

pub mod doctor;
pub mod foresee;
pub mod gate;
pub mod merge;
pub mod papers;
pub mod passes;
pub mod record;
pub mod result;
pub mod traces;

mod ask;
mod failure;
mod measures;
mod place;
mod pool;
mod progress;
mod schema;
mod session;
mod workload;

pub use ask::candidate::{Build, Candidate, Foreign, Quit, QuitFlag};
pub use ask::options::{Failures, Options, RequestSink, Survey};
pub use ask::target_options::TargetOptions;
pub use failure::Failure;
pub use merge::facts::{MergeFacts, merge_facts};
pub use penstock_live::{
    Handover, Noting, Pace, Tracefs, exit_without_memory, io_priority, set_io_priority,
};
pub use penstock_workload::trace::stoppable;
pub use progress::snapshot::{ClassSnapshot, Snapshot};
pub use progress::step::{Patience, Step};
pub use result::version::VERSION;
pub use result::without_detail::without_detail;
pub use schema::schema;
pub use session::run::{compare, compare_text};
pub use session::{Session, Variant};
