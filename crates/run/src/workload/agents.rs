//! The agents of a job.

use std::ops::Range;

use penstock_core::{ClassId, Flags, Seed, Source, Span, StreamId, Time};
use penstock_jobs::{AgentSpec, Extent, Job};
use penstock_live::{Caching, Engine, Order};
use penstock_workload::{Agent, Agents, Arrivals, Ops, Pattern};

use super::load::{Load, SourceEvents, ThreadsOf, Workload, classes};
use crate::failure::Failure;
use crate::place::Place;
use crate::place::cached_devices;
use crate::place::lane::{Lane, LaneFile};

/// Rough guess of the time of a request. Only the resolution of the series depends on it, where no
/// duration is given.
const ABOUT: Span = Span::from_ms(5);

/// Loads the workload of a `job` with agents at `place`.
pub(super) fn load(job: &Job, place: &Place) -> Result<Load, Failure> {
    let names = job.workload.file_names();
    let lane_names = job.workload.lane_names();
    let devices = place.extents(lane_names.len())?;
    let agents = job.agents_over(&devices)?;
    let file = |((name, bytes), lane): ((&String, Range<u64>), usize)| LaneFile {
        name: name.clone(),
        lane,
        first: bytes.start,
    };
    let files = names.iter().zip(job.files_over(&devices)?).zip(job.workload.file_lanes());
    let files = files.map(file).collect();
    let lane = |(name, on): (String, &Extent)| Lane { name, base: on.base };
    let lanes = lane_names.into_iter().zip(&devices).map(lane).collect();
    let goes_on = agents.iter().filter(|agent| !agent.is_limited());
    let ordered = agents.iter().any(Agent::waits);
    let together =
        |all: Span, agent: &Agent| if ordered { all + lasts(agent) } else { all.max(lasts(agent)) };
    let alone = || agents.iter().fold(Span::ZERO, together);
    Ok(Load {
        classes: classes(job),
        duration: if job.duration == Span::MAX { alone() } else { job.duration },
        last: agents.iter().map(|agent| agent.active.end).max().unwrap_or(Time::ZERO),
        asks_until: goes_on.map(|agent| agent.active.end).max(),
        lanes,
        files,
        lane: None,
        below_cache: cached_devices::layout(job, &devices)?,
        longest: agents.iter().map(Agent::longest).max().unwrap_or(0),
        measured_ns: None,
        remarks: remarks(job, place, &names),
        workload: Box::new(AgentLoad { agents, engines: engines(job) }),
    })
}

/// Returns the engine that each agent of `job` names for a thread of its own, copies one by one.
fn engines(job: &Job) -> Vec<Option<Engine>> {
    let of = |agent: &AgentSpec| std::iter::repeat_n(agent.own_engine(), agent.agents() as usize);
    job.workload.agents().iter().flat_map(of).collect()
}

/// Returns a remark if no agent works on some of the files called `names`.
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
    // On a device that files share, others may.
    let idle = |text| if job.workload.shared_devices().is_empty() { text } else { "" };
    match &unused[..] {
        [] => None,
        [name] => Some(format!("no agent works on file {name}{}", idle(": its device stays idle"))),
        [name, .., last] => Some(format!(
            "no agent works on {} of the files, {name} to {last}{}",
            unused.len(),
            idle(": their devices stay idle")
        )),
    }
}

/// Estimates when an agent with a quota or a stop ends.
fn lasts(agent: &Agent) -> Span {
    if !agent.is_limited() {
        return agent.active.end.since(Time::ZERO);
    }
    let requests = agent.requests().unwrap_or(0);
    let asks = match agent.arrivals {
        Arrivals::Open { rate, .. } => Span::from_ns((requests as f64 / rate * 1e9) as u64),
        Arrivals::Closed { depth, .. } => ABOUT.share(requests, depth.into()),
        Arrivals::Turns => ABOUT.share(requests, 1),
    };
    (agent.active.start + asks).since(Time::ZERO)
}

/// Returns a remark if files lie on devices of their own although one device is named.
fn apart(job: &Job, place: &Place) -> Option<String> {
    if place.is_real() {
        return None;
    }
    let [one, other] = job.workload.apart()?;
    Some(format!(
        "files {one} and {other} lie on two devices of one kind; to put both on one, name it: \
         `[device.disk0]`, and `device = \"disk0\"` in both"
    ))
}

/// Returns remarks on where files lie, on files that no agent works on, and on agents whose total is
/// no whole number of their requests.
fn remarks(job: &Job, place: &Place, names: &[String]) -> Vec<String> {
    let mut remarks: Vec<String> =
        apart(job, place).into_iter().chain(unused(job, names)).collect();
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

/// The agents of a job.
struct AgentLoad {
    agents: Vec<Agent>,
    /// Engine that each agent names for a thread of its own.
    engines: Vec<Option<Engine>>,
}

impl AgentLoad {
    /// Returns a copy in which only the agents for which `kept` is true ask: the others keep their
    /// places, and with them the random numbers of each.
    fn with(&self, kept: impl Fn(usize) -> bool) -> Self {
        let mut agents = self.agents.clone();
        for (number, agent) in agents.iter_mut().enumerate() {
            if !kept(number) {
                agent.active.end = agent.active.start;
            }
        }
        Self { agents, engines: self.engines.clone() }
    }

    /// Returns the numbers of the agents of `class`.
    fn numbers_of(&self, class: ClassId) -> impl Iterator<Item = usize> {
        let agents = self.agents.iter().enumerate();
        agents.filter(move |(_, agent)| agent.class == class).map(|(number, _)| number)
    }

    /// Returns the agents that ask, through the page cache if `buffered`, otherwise past it.
    fn asking(&self, buffered: bool) -> impl Iterator<Item = &Agent> {
        let asks = move |agent: &&Agent| {
            agent.flags.has(Flags::BUFFERED) == buffered && !agent.active.is_empty()
        };
        self.agents.iter().filter(asks)
    }
}

impl Workload for AgentLoad {
    fn source(&self, seed: Seed, _: u32, _: SourceEvents) -> Box<dyn Source> {
        Box::new(Agents::new(self.agents.clone(), seed))
    }

    fn writes(&self) -> bool {
        self.agents.iter().any(|agent| agent.ops.writes())
    }

    fn mixes(&self, class: ClassId) -> bool {
        let mixes = |agent: &Agent| agent.flush.is_some() || matches!(agent.ops, Ops::Mix { .. });
        self.numbers_of(class).any(|number| mixes(&self.agents[number]))
    }

    fn engine(&self) -> Option<Engine> {
        let asks =
            self.agents.iter().zip(&self.engines).find(|(agent, _)| !agent.active.is_empty());
        asks.and_then(|(_, engine)| *engine)
    }

    fn caching(&self) -> Caching {
        match [true, false].map(|buffered| self.asking(buffered).next().is_some()) {
            [true, true] => Caching::Mixed,
            [true, false] => Caching::Buffered,
            [false, _] => Caching::Direct,
        }
    }

    fn order(&self) -> Order {
        let all = |pattern| self.asking(true).all(|agent| agent.pattern == pattern);
        match (all(Pattern::Sequential), all(Pattern::Random)) {
            (true, false) => Order::Sequential,
            (false, true) => Order::Random,
            _ => Order::Unknown,
        }
    }

    fn only(&self, class: ClassId) -> Result<Box<dyn Workload>, Failure> {
        Ok(Box::new(self.with(|number| self.agents[number].class == class)))
    }

    /// Deals out the agents of one engine in turn; agents that take turns with others stay
    /// together.
    fn split(
        &self,
        class: ClassId,
        threads: &ThreadsOf<'_>,
    ) -> Result<Vec<Box<dyn Workload>>, Failure> {
        let mut parts: Vec<Vec<usize>> = Vec::new();
        let mut engines: Vec<Option<Engine>> = Vec::new();
        for number in self.numbers_of(class) {
            if !engines.contains(&self.engines[number]) {
                engines.push(self.engines[number]);
            }
        }
        let in_turn =
            self.numbers_of(class).any(|number| self.agents[number].arrivals == Arrivals::Turns);
        for engine in engines {
            let alike: Vec<usize> =
                self.numbers_of(class).filter(|number| self.engines[*number] == engine).collect();
            let count = if in_turn { 1 } else { threads(engine).clamp(1, alike.len()) };
            let part = |part| alike.iter().copied().skip(part).step_by(count).collect();
            parts.extend((0..count).map(part));
        }
        if parts.is_empty() {
            parts.push(Vec::new());
        }
        let part = |numbers: Vec<usize>| {
            // A part may be one of thousands.
            let mut kept = vec![false; self.agents.len()];
            for number in numbers {
                kept[number] = true;
            }
            Box::new(self.with(|number| kept[number])) as _
        };
        Ok(parts.into_iter().map(part).collect())
    }

    fn within(&self, bytes: &Range<u64>) -> Option<Box<dyn Workload>> {
        Some(Box::new(self.with(|number| bytes.contains(&self.agents[number].region.start))))
    }

    fn agent_classes(&self) -> Vec<ClassId> {
        self.agents.iter().map(|agent| agent.class).collect()
    }

    fn asks(&self) -> bool {
        self.agents.iter().any(|agent| !agent.active.is_empty())
    }

    fn is_planned(&self, stream: StreamId) -> bool {
        is_planned(&self.agents[stream.0 as usize])
    }

    fn is_open(&self, class: ClassId) -> bool {
        self.numbers_of(class).all(|number| is_planned(&self.agents[number]))
    }
}

fn is_planned(agent: &Agent) -> bool {
    matches!(agent.arrivals, Arrivals::Open { buffers: None, .. })
}
