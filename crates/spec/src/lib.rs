//! What people write: jobs, device files and arguments, read, checked and written out again.
//!
//! `job` reads a job, with `devices`, `agents`, `programs` and `traces` for its parts, each of which
//! declares its keys with `keys`; `diagnose` says what is wrong with it and where; `schema` is for
//! editors.

#![forbid(unsafe_code)]

pub mod devices;
pub mod diagnose;
pub mod drives;

pub mod list;
pub mod nearest;
pub mod params;
pub mod schema;
pub mod traces;
pub mod units;

mod agents;
mod amount;
mod arrivals;
mod classes;
mod file;
mod job;
mod keys;
mod kinds;
mod live;
mod page_cache;
mod programs;
mod reader;
mod region;
mod rows;
mod sets;
mod starts;
mod stop;
mod text;
mod tree;
mod workload;

pub use agents::AgentSpec;
pub use classes::Class;
pub use devices::DeviceSpec;
pub use diagnose::JobError;
pub use job::Job;
pub use live::{Live, View, timeout_in};
pub use page_cache::PageCacheSpec;
pub use programs::{ProgramSpec, ProgramsSpec};
pub use region::{Edge, Region};
pub use stop::Stop;
pub use workload::Workload;
