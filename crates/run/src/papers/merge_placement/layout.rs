//! Places of the runs and outputs of a job with merges.

use penstock_jobs::{Job, WorkloadSpec};
use penstock_workload::merge::{JobLayout, Layout, Place as At};
use serde::Serialize;

use crate::failure::Failure;
use crate::place::Place;

/// A layout, for pictures.
#[derive(Debug, Serialize)]
pub struct LayoutResult {
    /// Places of each job.
    jobs: Vec<JobPlaces>,
    /// Number of blocks used on each disk.
    used: Vec<u64>,
    /// Number of blocks of a run.
    run: u32,
    /// Number of blocks of an output.
    output: u64,
}

#[derive(Debug, Serialize)]
struct JobPlaces {
    runs: Vec<RunPlace>,
    output: RunPlace,
}

#[derive(Debug, Serialize)]
struct RunPlace {
    disk: u32,
    block: u64,
}

impl From<At> for RunPlace {
    fn from(At { disk, block }: At) -> Self {
        Self { disk, block }
    }
}

/// Returns the places of the runs and outputs of the job `text`, changed by `sets`, on its device.
/// Messages call the job `name`.
///
/// # Errors
/// [`Failure`]: wrong input, or a job without merges.
pub fn layout(name: &str, text: &str, sets: &[String]) -> Result<LayoutResult, Failure> {
    let job = Job::parse(name, text, sets)?;
    let WorkloadSpec::Merge(spec) = &job.workload else {
        return Err(Failure::wrong(format_args!("{name} has no merges"), "it needs `[merge]`"));
    };
    let place = Place::own(&job)?;
    let disks = place.geometry().side_by_side;
    let bytes = place.geometry().capacity / u64::from(disks.get());
    let Layout { jobs, used } = spec.on(disks, bytes, place.name(), &job.classes)?.layout;
    let places = |JobLayout { runs, output }: JobLayout| JobPlaces {
        runs: runs.into_iter().map(RunPlace::from).collect(),
        output: output.into(),
    };
    Ok(LayoutResult {
        jobs: jobs.into_iter().map(places).collect(),
        used,
        run: spec.shape.run,
        output: spec.shape.blocks(),
    })
}
