//! The workload of a job, ready for a target of a known size: a file for each kind.

mod agents;
mod load;
mod programs;
mod trace;

use penstock_spec::{Job, WorkloadSpec};

pub(crate) use self::load::Load;

use crate::failure::Failure;

/// The workload of `job` on a target of `capacity` bytes in blocks of `block` bytes.
///
/// # Errors
/// What does not fit the target, and a trace that cannot be read.
pub(crate) fn load(job: &Job, capacity: u64, block: u32) -> Result<Load, Failure> {
    match &job.workload {
        WorkloadSpec::Agents(_) => agents::load(job, capacity, block),
        WorkloadSpec::Programs(spec) => programs::load(job, spec, capacity, block),
        WorkloadSpec::Trace(spec) => trace::load(job, spec, capacity),
    }
}
