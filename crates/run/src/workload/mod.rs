//! The workload of a job, ready for a target of a known size: a file for each kind.

mod agents;
mod load;
mod programs;
pub(crate) mod source;
mod trace;

use penstock_spec::Job;

pub(crate) use self::load::Load;

use crate::failure::Failure;

/// The workload of `job` on a target of `capacity` bytes in blocks of `block` bytes.
///
/// # Errors
/// What does not fit the target, and a trace that cannot be read.
pub(crate) fn load(job: &Job, capacity: u64, block: u32) -> Result<Load, Failure> {
    if let Some(spec) = &job.trace {
        return trace::load(job, spec, capacity);
    }
    if let Some(spec) = &job.programs {
        return programs::load(job, spec, capacity, block);
    }
    agents::load(job, capacity, block)
}
