//! Merges on targets without files: runs are made, and runs and outputs are ranges of the targets.
//!
//! Always true: each lies where the layout of the placement has it on modelled disks.

use std::path::PathBuf;

use penstock_core::Time;
use penstock_workload::merge::Place;

use super::disks::TargetDisk;
use super::job::Merging;
use super::make::make;
use super::options::AskedMerges;
use super::output::{MergeOutput, TargetRange};
use super::plan::{MergePlan, PlannedDisk, PlannedMerge, later};
use super::record::RecordFormat;
use super::run::RunReader;
use super::source::{FilePlace, MergePlaces};
use crate::failure::Failure;

/// The plan for what `asked` names, on `disks` that have room for it. The runs are made in round 0.
///
/// # Errors
/// [`Failure`]: merges that cannot lie so; a run cannot be written.
pub(super) fn plan(
    asked: &AskedMerges,
    disks: &[TargetDisk],
    round: u32,
    go_on: &mut dyn FnMut() -> bool,
) -> Result<MergePlan, Failure> {
    let spec = asked.spec();
    let (shape, stagger) = (spec.shape, spec.stagger);
    let block = u64::from(shape.block);
    let run = u64::from(shape.run) * block;
    let bytes = run * u64::from(shape.runs);
    let range = |place: &Place, len| {
        TargetRange::new(&disks[place.disk as usize], place.block * block, len)
    };
    let file_place = |place: &Place| {
        let (disk, address) = (place.disk, place.block * block);
        let unit = disks[disk as usize].target.unit();
        FilePlace { disk, address, offset: address, unit }
    };
    let mut plan = MergePlan {
        jobs: Vec::new(),
        files: Vec::new(),
        disks: disks.iter().map(planned).collect(),
        direct: true,
    };
    let layout = asked.laid(disks.len() as u32)?.layout;
    for (job, laid) in (0..).zip(&layout.jobs) {
        let runs =
            laid.runs.iter().map(|place| range(place, run)).collect::<Result<Vec<_>, _>>()?;
        let inputs: Vec<PathBuf> = runs.iter().map(|run| run.name.clone()).collect();
        if round == 0 {
            let runs = runs.into_iter().map(MergeOutput::Range).collect();
            make(job, runs, &shape, spec.depletion, asked.seed(round), go_on)?;
        }
        let output = MergeOutput::Range(range(&laid.output, bytes)?);
        let group = u64::from(shape.read) * block;
        let reader = |name: &PathBuf| {
            RunReader::new(name.clone(), RecordFormat::Lines, (run, Vec::new()), group, block)
        };
        let named = |name: &PathBuf, place: &Place| (name.display().to_string(), file_place(place));
        let places = MergePlaces {
            runs: inputs.iter().zip(&laid.runs).map(|(name, place)| named(name, place)).collect(),
            output: named(&output.path().to_owned(), &laid.output),
        };
        let begins = Time::ZERO + later(stagger, job as usize);
        let readers = inputs.iter().map(reader).collect();
        plan.jobs.push(Merging::new(readers, (shape.write * shape.block) as usize, begins));
        plan.files.push(PlannedMerge { inputs, output, places, bytes });
    }
    Ok(plan)
}

fn planned(disk: &TargetDisk) -> PlannedDisk {
    let TargetDisk { name, target, .. } = disk;
    let files = vec![(0, target.clone())];
    PlannedDisk { path: name.clone(), files, capacity: target.capacity() }
}
