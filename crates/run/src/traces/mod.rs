//! Traces: their files, what they hold, traces of jobs, captures, and the races in them.

pub mod agreement;
pub mod capture;
pub mod races;
pub mod trace_make;
pub mod trace_tools;

pub(crate) mod trace_file;
