//! The agents of a job.

use std::ops::Range;

use penstock_core::{ClassId, Flags, Seed, Source, Span, StreamId, Time};
use penstock_live::Order;
use penstock_spec::{Extent, Job};
use penstock_workload::{Agent, Agents, Arrivals, Ops, Pattern};

use super::load::{Books, Load, Workload, classes};
use crate::cached_devices;
use crate::failure::Failure;
use crate::lane::Lane;
use crate::place::Place;

/// What a request takes, about. Only the resolution of a run's course depends on it, where no duration is
/// given.
const ABOUT: Span = Span::from_ms(5);

/// The workload of a `job` with agents at `place`.
pub(super) fn load(job: &Job, place: &Place) -> Result<Load, Failure> {
    let names = job.workload.file_names();
    let devices = place.extents(names.len())?;
    let agents = job.agents_over(&devices)?;
    let files = job.files_over(&devices)?;
    let lanes = names.iter().zip(&devices).zip(&files);
    let lane = |((name, on), file): ((&String, &Extent), &Range<u64>)| Lane {
        name: name.clone(),
        base: on.base,
        first: file.start,
    };
    let lanes = lanes.map(lane).collect();
    let goes_on = agents.iter().filter(|one| !one.is_limited());
    let alone = || agents.iter().map(lasts).max().unwrap_or(Span::ZERO);
    Ok(Load {
        classes: classes(job),
        duration: if job.duration == Span::MAX { alone() } else { job.duration },
        last: agents.iter().map(|agent| agent.active.end).max().unwrap_or(Time::ZERO),
        asks_until: goes_on.map(|one| one.active.end).max(),
        lanes,
        below_cache: cached_devices::layout(job, &devices)?,
        longest: agents.iter().map(Agent::longest).max().unwrap_or(0),
        measured_ns: None,
        remarks: remarks(job, &names),
        workload: Box::new(agents),
    })
}

/// That no agent works on some of the files called `names`.
fn unused(job: &Job, names: &[String]) -> Option<String> {
    let mut used = vec![false; names.len()];
    for agent in job.workload.agents() {
        for number in agent.file_numbers() {
            if let Some(used) = used.get_mut(number as usize) {
                *used = true;
            }
        }
    }
    let unused = names.iter().zip(used).filter(|(_, used)| !used);
    let unused: Vec<&str> = unused.map(|(name, _)| name.as_str()).collect();
    match &unused[..] {
        [] => None,
        [name] => Some(format!("no agent works on file {name}: its device stays idle")),
        [name, .., last] => Some(format!(
            "no agent works on {} of the files, {name} to {last}: their devices stay idle",
            unused.len()
        )),
    }
}

/// When an agent with a quota ends, about.
fn lasts(agent: &Agent) -> Span {
    let requests = agent.requests().unwrap_or(0);
    let asks = match agent.arrivals {
        Arrivals::Open { rate, .. } => Span::from_ns((requests as f64 / rate * 1e9) as u64),
        Arrivals::Closed { depth, .. } => ABOUT.share(requests, depth.into()),
        Arrivals::Turns => ABOUT.share(requests, 1),
    };
    (agent.active.start + asks).since(Time::ZERO)
}

/// What is to be known of files that no agent works on, and of agents whose total is no whole number of
/// their requests.
fn remarks(job: &Job, names: &[String]) -> Vec<String> {
    let mut remarks: Vec<String> = unused(job, names).into_iter().collect();
    for agent in job.workload.agents() {
        let Some(last) = agent.shorter_last() else { continue };
        let class = &job.classes[agent.class.index()].name;
        let remark = format!(
            "the total of an agent of class {class} is no whole number of its requests: its last has \
             {last} bytes"
        );
        if !remarks.contains(&remark) {
            remarks.push(remark);
        }
    }
    remarks
}

impl Workload for Vec<Agent> {
    fn source(&self, seed: Seed, _: u32, _: Books<'_>) -> Box<dyn Source> {
        Box::new(Agents::new(self.clone(), seed))
    }

    fn writes(&self) -> bool {
        self.iter().any(|agent| agent.ops.writes())
    }

    fn mixes(&self, class: ClassId) -> bool {
        let mixes = |agent: &Agent| agent.flush.is_some() || matches!(agent.ops, Ops::Mix { .. });
        self.iter().any(|agent| agent.class == class && mixes(agent))
    }

    fn order(&self) -> Order {
        let cached = |agent: &&Agent| agent.flags.has(Flags::BUFFERED) && !agent.active.is_empty();
        let all = |pattern| self.iter().filter(cached).all(|agent| agent.pattern == pattern);
        match (all(Pattern::Sequential), all(Pattern::Random)) {
            (true, false) => Order::Sequential,
            (false, true) => Order::Random,
            _ => Order::Unknown,
        }
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
    matches!(agent.arrivals, Arrivals::Open { buffers: None, .. })
}
