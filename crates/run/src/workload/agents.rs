//! The agents of a job.

use penstock_core::{ClassId, Op, Seed, Source, StreamId, Time};
use penstock_spec::Job;
use penstock_workload::{Agent, Agents, Arrivals};

use super::load::{Books, Load, Workload, classes};
use crate::failure::Failure;

/// The workload of a `job` with agents.
pub(super) fn load(job: &Job, capacity: u64, block: u32) -> Result<Load, Failure> {
    let agents = job.agents_on(capacity, block)?;
    let goes_on = agents.iter().filter(|one| !one.is_counted());
    Ok(Load {
        classes: classes(job),
        duration: job.duration,
        last: agents.iter().map(|agent| agent.active.end).max().unwrap_or(Time::ZERO),
        asks_until: goes_on.map(|one| one.active.end).max(),
        lanes: Vec::new(),
        longest: agents.iter().map(Agent::longest).max().unwrap_or(0),
        measured_ns: None,
        remarks: Vec::new(),
        workload: Box::new(agents),
    })
}

impl Workload for Vec<Agent> {
    fn source(&self, seed: Seed, _: u32, _: Books<'_>) -> Box<dyn Source> {
        Box::new(Agents::new(self.clone(), seed))
    }

    fn writes(&self) -> bool {
        self.iter().any(|agent| agent.op != Op::Read)
    }

    fn only(&self, class: ClassId) -> Result<Box<dyn Workload>, Failure> {
        let mut agents = self.clone();
        // They stay in their places, and with them the random numbers of the others.
        for agent in agents.iter_mut().filter(|agent| agent.class != class) {
            agent.active.end = agent.active.start;
        }
        Ok(Box::new(agents))
    }

    fn is_planned(&self, stream: StreamId) -> bool {
        is_planned(&self[stream.0 as usize])
    }

    fn is_open(&self, class: ClassId) -> bool {
        self.iter().filter(|agent| agent.class == class).all(is_planned)
    }
}

fn is_planned(agent: &Agent) -> bool {
    matches!(agent.arrivals, Arrivals::Open { .. })
}
