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
        Ok(Box::new(with(self, |_, agent| agent.class == class)))
    }

    /// Agents are dealt out in turn; those that take turns with others stay together.
    fn split(&self, class: ClassId, most: usize) -> Result<Vec<Box<dyn Workload>>, Failure> {
        let numbers = || self.iter().enumerate().filter(move |(_, one)| one.class == class);
        let in_turn = numbers().any(|(_, agent)| agent.arrivals == Arrivals::Turns);
        let parts = if in_turn { 1 } else { most.min(numbers().count()).max(1) };
        let mut of_agent = vec![parts; self.len()];
        for (place, (number, _)) in numbers().enumerate() {
            of_agent[number] = place % parts;
        }
        let part = |part| Box::new(with(self, |number, _| of_agent[number] == part)) as _;
        Ok((0..parts).map(part).collect())
    }

    fn is_planned(&self, stream: StreamId) -> bool {
        is_planned(&self[stream.0 as usize])
    }

    fn is_open(&self, class: ClassId) -> bool {
        self.iter().filter(|agent| agent.class == class).all(is_planned)
    }
}

/// `agents`, of which only those ask that are `kept`: the others stay in their places, and with them the random
/// numbers of each.
fn with(agents: &[Agent], kept: impl Fn(usize, &Agent) -> bool) -> Vec<Agent> {
    let mut agents = agents.to_vec();
    for (number, agent) in agents.iter_mut().enumerate() {
        if !kept(number, agent) {
            agent.active.end = agent.active.start;
        }
    }
    agents
}

fn is_planned(agent: &Agent) -> bool {
    matches!(agent.arrivals, Arrivals::Open { .. })
}
