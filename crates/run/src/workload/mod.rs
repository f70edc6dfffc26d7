//! The workload of a job, ready for a target of a known size: a file for each kind.

mod agents;
mod load;
mod merge;
mod programs;
mod trace;
mod trace_devices;

use penstock_jobs::{Job, WorkloadSpec};

pub(crate) use self::load::{Load, SourceEvents};

use crate::failure::Failure;
use crate::place::Place;
use crate::place::geometry::Geometry;

/// Loads the workload of `job` at `place`.
///
/// # Errors
/// If the job does not fit the target, or a trace cannot be read.
pub(crate) fn load(job: &Job, place: &Place) -> Result<Load, Failure> {
    let Geometry { capacity, block, .. } = place.geometry();
    match &job.workload {
        WorkloadSpec::Agents(_) => agents::load(job, place),
        WorkloadSpec::Programs(spec) => programs::load(job, spec, capacity, block),
        WorkloadSpec::Trace(spec) => trace::load(job, spec, capacity, place.mapped()),
        WorkloadSpec::Merge(spec) => merge::load(job, spec, place),
    }
}
