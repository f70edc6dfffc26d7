//! The workload of a job, ready for a target of a known size: a file for each kind.

mod agents;
mod load;
mod programs;
mod trace;
mod trace_devices;

use penstock_spec::{Job, TraceDevice, WorkloadSpec};

pub(crate) use self::load::Load;

use crate::failure::Failure;

/// The workload of `job` on a target of `capacity` bytes in blocks of `block` bytes; on the devices
/// `on`, if each device of a trace has one of its own kind.
///
/// # Errors
/// What does not fit the target, and a trace that cannot be read.
pub(crate) fn load(
    job: &Job,
    capacity: u64,
    block: u32,
    on: &[TraceDevice],
) -> Result<Load, Failure> {
    match &job.workload {
        WorkloadSpec::Agents(_) => agents::load(job, capacity, block),
        WorkloadSpec::Programs(spec) => programs::load(job, spec, capacity, block),
        WorkloadSpec::Trace(spec) => trace::load(job, spec, capacity, on),
    }
}
