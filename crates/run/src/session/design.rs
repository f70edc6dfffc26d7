//! A design: the runs of a session, and their order.

use penstock_jobs::Job;

use crate::ask::candidate::Chosen;
use crate::place::Place;
use crate::workload::Load;

/// A job of a design, ready to run under its candidates.
pub(crate) struct Task {
    /// The job with everything that its place decides filled in.
    pub(crate) job: Job,
    /// Changes of the job, as the result lists them.
    pub(crate) sets: Vec<String>,
    pub(crate) policies: Vec<Chosen>,
    pub(crate) place: Place,
    pub(crate) load: Load,
}

/// A run of a design.
#[derive(Clone, Copy)]
pub(crate) struct Cell<'a> {
    /// Position in the results, from 0.
    pub(crate) number: usize,
    /// Number of the round, from 0.
    pub(crate) round: u32,
    /// Number of its task, from 0.
    pub(crate) task_number: usize,
    pub(crate) task: &'a Task,
    pub(crate) policy: &'a Chosen,
}

impl Cell<'_> {
    /// The seed of the cell's job and round.
    pub(crate) fn seed(&self) -> u64 {
        self.task.job.seed.wrapping_add(self.round.into())
    }
}

/// The cells of `rounds` rounds, each with every task under each of its candidates.
pub(crate) fn cells(tasks: &[Task], rounds: u32) -> Vec<Cell<'_>> {
    let mut cells = Vec::new();
    for round in 0..rounds {
        for (task_number, task) in tasks.iter().enumerate() {
            for policy in &task.policies {
                cells.push(Cell { number: cells.len(), round, task_number, task, policy });
            }
        }
    }
    cells
}
