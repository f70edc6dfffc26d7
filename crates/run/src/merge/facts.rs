//! The merges of a job and their needs, before it runs.

use penstock_jobs::Job;
use penstock_workload::merge::Memory;
use serde::Serialize;

use crate::failure::Failure;
use crate::place::Place;

/// The shape of the merges of a job, which is the same for all, and their needs.
#[derive(Debug, Serialize)]
pub struct MergeFacts {
    /// Number of merges.
    pub jobs: u32,
    /// Runs of each merge.
    pub runs: u32,
    /// Blocks of a run.
    pub run: u32,
    /// Bytes of a block.
    pub block: u32,
    /// Blocks that are read at once.
    pub read: u32,
    /// Blocks that are written at once.
    pub write: u32,
    /// Requests of all merges.
    pub requests: u64,
    /// Fewest blocks of memory of its own with which a merge can end.
    pub least: u64,
    /// Blocks of memory of its own with which a merge always ends.
    pub enough: u64,
}

/// Returns the facts of the job `text`, changed by `sets`. Messages call it `name`.
///
/// # Errors
/// [`Failure`]: the job is wrong, has no merges, or they do not fit its device.
pub fn merge_facts(name: &str, text: &str, sets: &[String]) -> Result<MergeFacts, Failure> {
    let job = Job::parse(name, text, sets)?;
    let place = Place::own(&job)?;
    let Some(spec) = job.workload.merges() else {
        return Err(Failure::wrong(format_args!("{name} has no merges"), "give it `[merge]`"));
    };
    let disks = place.geometry().side_by_side;
    let bytes = place.geometry().capacity / u64::from(disks.get());
    let merge = spec.on(disks, bytes, place.name(), &job.classes)?;
    let (shape, memory) = (merge.shape, Memory::Partition(0));
    Ok(MergeFacts {
        jobs: merge.jobs(),
        runs: shape.runs,
        run: shape.run,
        block: shape.block,
        read: shape.read,
        write: shape.write,
        requests: shape.requests().saturating_mul(merge.jobs().into()),
        least: memory.least(&shape, spec.when_full).unwrap_or(0),
        enough: memory.always_enough(&shape, merge.jobs()).unwrap_or(0),
    })
}
