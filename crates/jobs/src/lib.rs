//! Reads, checks and writes out what users write: jobs, device files and arguments.
//!
//! `job` reads a job; `devices`, `agents`, `programs` and `traces` read its parts and declare their
//! keys with `keys`. `diagnose` renders errors with their place, `schema` describes jobs to
//! editors.

#![forbid(unsafe_code)]

pub mod devices;
pub mod diagnose;
pub mod drives;
pub mod engines;

pub mod list;
pub mod machines;
pub mod nearest;
pub mod params;
pub mod path_text;
pub mod policies;
pub mod schema;
pub mod study;
pub mod units;
pub mod workload;

mod amount;
mod block;
mod classes;
mod describe;
mod file;
mod fio;
mod from_fio;
mod gate;
mod job;
mod job_device;
pub mod kernel_tunables;
mod keys;
mod kinds;
mod live;
mod machine_names;
mod merge_files;
mod named_device;
mod page_cache;
mod policy_keys;
mod reader;
mod rows;
mod sets;
mod stop;
mod study_levels;
mod text;
mod tree;
mod volumes;

pub use classes::Class;
pub use devices::DeviceSpec;
pub use diagnose::JobError;
pub use file::read_other as text_file;
pub use fio::table as fio_options;
pub use from_fio::{FromFio, Note as FioNote, convert as convert_fio, from_fio};
pub use gate::GateSpec;
pub use job::Job;
pub use live::{CachedPages, Live, View, timeout_in};
pub use machines::MachineSpec;
pub use merge_files::MergeFiles;
pub use page_cache::PageCacheSpec;
pub use stop::Stop;
pub use study::Study;
pub use volumes::{VolumeSpec, volumes};
pub use workload::agents::AgentSpec;
pub use workload::extent::Extent;
pub use workload::files::FileSpec;
pub use workload::job_files::JobFiles;
pub use workload::lanes::{FileTarget, LaneDevice};
pub use workload::merge::{MergeSpec, RUNS as RUNS_OF_MERGE};
pub use workload::programs::{ProgramSpec, ProgramsSpec};
pub use workload::region::{Edge, Region};
pub use workload::verify::{VerifiedRanges, Verify};
pub use workload::{AgentsSpec, WorkloadSpec, traces};
