//! The programs of a job, on its modelled processors.

use penstock_core::{ClassId, Seed, Source, StreamId, Time};
use penstock_jobs::{Job, ProgramsSpec, Stop};
use penstock_workload::program::{Cpus, Starts};
use penstock_workload::{Program, Programs};

use super::load::{Load, Processors, SourceEvents, Workload, classes};
use crate::failure::Failure;

/// Programs and the processors that they run on.
struct OnProcessors {
    programs: Vec<Program>,
    cpus: Cpus,
    /// The run ends when all programs of this class have ended.
    until: Option<ClassId>,
}

/// Loads the workload of a `job` with the programs `spec`.
pub(super) fn load(
    job: &Job,
    spec: &ProgramsSpec,
    capacity: u64,
    block: u32,
) -> Result<Load, Failure> {
    let programs = job.programs_on(capacity, block)?.unwrap_or_default();
    let goes_on = programs.iter().filter(|program| !matches!(program.starts, Starts::Once { .. }));
    let until = match job.stop {
        Stop::Done(class) => Some(class),
        _ => None,
    };
    Ok(Load {
        classes: classes(job),
        duration: job.duration,
        last: programs.iter().map(|program| program.active.end).max().unwrap_or(Time::ZERO),
        asks_until: goes_on.map(|program| program.active.end).max(),
        lanes: Vec::new(),
        files: Vec::new(),
        lane: None,
        below_cache: None,
        longest: programs.iter().map(Program::longest).max().unwrap_or(0),
        measured_ns: None,
        remarks: Vec::new(),
        workload: Box::new(OnProcessors { programs, cpus: spec.cpus, until }),
    })
}

impl Workload for OnProcessors {
    fn source(&self, seed: Seed, most: u32, mut events: SourceEvents) -> Box<dyn Source> {
        let happened = move |event| events.programs.iter_mut().for_each(|tell| tell(event));
        Box::new(Programs::new(self.programs.clone(), self.cpus, most, seed, happened))
    }

    fn writes(&self) -> bool {
        self.programs.iter().any(Program::writes)
    }

    fn only(&self, class: ClassId) -> Result<Box<dyn Workload>, Failure> {
        let mut programs = self.programs.clone();
        for program in programs.iter_mut().filter(|program| program.class != class) {
            program.active.end = program.active.start;
        }
        // Without the class that the run waits for, programs run for their own duration.
        let until = self.until.filter(|&until| until == class);
        Ok(Box::new(Self { programs, cpus: self.cpus, until }))
    }

    /// Returns false: their requests follow from what came before.
    fn is_planned(&self, _: StreamId) -> bool {
        false
    }

    fn is_open(&self, _: ClassId) -> bool {
        false
    }

    fn processors(&self) -> Option<Processors> {
        Some(Processors { count: self.cpus.count, until: self.until })
    }
}
