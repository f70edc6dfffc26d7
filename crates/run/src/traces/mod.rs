//! Traces: their files, what they hold, traces of jobs, captures, meters, and the races in them.

pub mod agreement;
pub mod capture;
pub mod meter;
pub mod races;
pub mod trace_make;
pub mod trace_tools;

mod kernel_layout;
pub(crate) mod trace_file;
