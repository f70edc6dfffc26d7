//! A design: which runs a session makes, and in which order.

use penstock_jobs::Job;

use crate::ask::candidate::Chosen;
use crate::place::Place;
use crate::workload::Load;

/// One job of a design, ready to run under its candidates.
pub(crate) struct Task {
    /// With everything that its place decides.
    pub(crate) job: Job,
    /// Changes of it, as the result lists them.
    pub(crate) sets: Vec<String>,
    pub(crate) policies: Vec<Chosen>,
    pub(crate) place: Place,
    pub(crate) load: Load,
}

/// One run of a design.
#[derive(Clone, Copy)]
pub(crate) struct Cell<'a> {
    /// From 0, in the order of the results.
    pub(crate) number: usize,
    /// From 0.
    pub(crate) round: u32,
    /// Number of its task, from 0.
    pub(crate) of: usize,
    pub(crate) task: &'a Task,
    pub(crate) policy: &'a Chosen,
}

impl Cell<'_> {
    /// The seed of its job and round.
    pub(crate) fn seed(&self) -> u64 {
        self.task.job.seed.wrapping_add(self.round.into())
    }
}

/// Every task under each of its candidates, in rounds of all of them.
pub(crate) fn cells(tasks: &[Task], rounds: u32) -> Vec<Cell<'_>> {
    let mut cells = Vec::new();
    for round in 0..rounds {
        for (of, task) in tasks.iter().enumerate() {
            for policy in &task.policies {
                cells.push(Cell { number: cells.len(), round, of, task, policy });
            }
        }
    }
    cells
}
