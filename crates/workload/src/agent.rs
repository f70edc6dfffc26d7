//! Load generators: a stream of requests of one kind each.
//!
//! Open loops (fixed, Poisson) issue requests on a schedule, whatever the device does. Closed loops
//! keep a depth and think between requests. Agents that take turns issue one request at a time, in
//! a random order in each round, so that compared agents meet the same states of a device. The
//! intended arrival travels with each request as its `due`, so that lateness is never hidden.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;

mod schedule;
mod spacing;

use penstock_core::{
    ClassId, Done, Flags, Io, Op, Prio, Request, Rng, Seed, Source, Span, StreamId, Time,
};
use rand::RngExt;
use rand::seq::SliceRandom;

use self::schedule::Schedule;
use self::spacing::Position;
pub use self::spacing::{Growth, Spacing};

/// One agent. Its index among the agents is its stream.
#[derive(Clone, PartialEq, Debug)]
pub struct Agent {
    /// The class that its requests belong to.
    pub class: ClassId,
    /// Priority of that class.
    pub prio: Prio,
    /// What it asks for.
    pub op: Op,
    /// Synchronous, forced unit access.
    pub flags: Flags,
    /// Bytes of the first request.
    pub size: u32,
    /// Where the next request begins.
    pub pattern: Pattern,
    /// How far requests lie apart, and how that and their size grow.
    pub spacing: Spacing,
    /// Requests that it issues at most.
    pub count: u64,
    /// Bytes of the target that it uses.
    pub region: Range<u64>,
    /// When it issues requests.
    pub arrivals: Arrivals,
    /// When it begins and when it stops issuing requests.
    pub active: Range<Time>,
}

/// Where the next request begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pattern {
    /// Each behind the one before; at the end of the region, again from its beginning.
    Sequential,
    /// Uniform over the multiples of the alignment, counted from the region's first byte.
    Random,
}

/// When an agent issues requests.
#[derive(Clone, PartialEq, Debug)]
pub enum Arrivals {
    /// On a schedule.
    Open {
        /// Requests a second.
        rate: f64,
        /// How arrivals are spaced.
        pace: Pace,
        /// Factors of the rate over equal parts of the active time; empty: constant.
        curve: Vec<f64>,
    },
    /// When an earlier one has finished.
    Closed {
        /// Requests outstanding.
        depth: u32,
        /// Pause between a completion and the next request.
        think: Span,
    },
    /// In turn with all other agents that take turns: one request at a time, and each agent once in
    /// a round, in a random order for each round. Sequential ones share one position. After its
    /// last request an agent takes part in no further round.
    Turns,
}

/// How arrivals of an open loop are spaced.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pace {
    /// Evenly.
    Fixed,
    /// At random, independently of one another.
    Poisson,
}

/// All agents of a job as one source.
pub struct Agents {
    states: Vec<State>,
    /// Next requests: the time, the agent, and a number that keeps ties in order.
    due: BinaryHeap<Reverse<(Time, u32, u64)>>,
    issued: u64,
    turns: Turns,
}

/// The round of agents that take turns.
struct Turns {
    /// Agents that have not had their turn in this round.
    round: Vec<u32>,
    rng: Rng,
    /// Of the next sequential one.
    position: Position,
}

struct State {
    agent: Agent,
    rng: Rng,
    /// Requests so far.
    taken: u64,
    /// The same, with those that are due.
    planned: u64,
    /// Of the next sequential request.
    position: Position,
    schedule: Schedule,
}

impl Agents {
    /// The agents, each with a stream of random numbers of its own from `seed`.
    ///
    /// # Panics
    /// If a region holds no request.
    pub fn new(agents: Vec<Agent>, seed: Seed) -> Self {
        let mut states = Vec::with_capacity(agents.len());
        for (index, agent) in (0_u32..).zip(agents) {
            let last = u64::from(agent.longest());
            let bytes = agent.region.end - agent.region.start;
            assert!(agent.size > 0 && last <= bytes, "agent {index} has no room for a request");
            let rng = seed.stream("agent", u64::from(index));
            let (position, schedule) = (Position::new(&agent.spacing), Schedule::new(&agent));
            states.push(State { agent, rng, taken: 0, planned: 0, position, schedule });
        }
        let turns = Turns {
            round: Vec::with_capacity(states.len()),
            rng: seed.stream("turns", 0),
            position: Position::default(),
        };
        let mut agents = Self { states, due: BinaryHeap::new(), issued: 0, turns };
        for index in 0..agents.states.len() as u32 {
            let State { agent, rng, schedule, .. } = &mut agents.states[index as usize];
            match agent.arrivals {
                Arrivals::Open { pace, .. } => {
                    let first = schedule.next(pace, rng);
                    agents.plan(first, index);
                }
                Arrivals::Closed { depth, .. } => {
                    let start = agent.active.start;
                    (0..depth).for_each(|_| agents.plan(start, index));
                }
                Arrivals::Turns => {}
            }
        }
        agents.turn(Time::ZERO);
        agents
    }

    /// Lets the next agent in turn issue a request from `now` on, if it has begun.
    fn turn(&mut self, now: Time) {
        loop {
            let Self { states, turns: Turns { round, rng, .. }, .. } = self;
            if round.is_empty() {
                let stays = |state: &State| match state.agent.arrivals {
                    Arrivals::Turns => {
                        // An agent that begins after its own end never issues a request.
                        let active = &state.agent.active;
                        state.taken < state.agent.count && now.max(active.start) < active.end
                    }
                    _ => false,
                };
                let all = (0..).zip(&*states);
                round.extend(all.filter(|(_, state)| stays(state)).map(|(index, _)| index));
                round.shuffle(rng);
            }
            let Some(index) = round.pop() else { return };
            let active = &states[index as usize].agent.active;
            let at = now.max(active.start);
            if at < active.end {
                return self.plan(at, index);
            }
        }
    }

    /// Plans a request of the agent numbered `index` for `at`, unless it has stopped by then or has
    /// planned all of its requests.
    fn plan(&mut self, at: Time, index: u32) {
        let State { agent, planned, .. } = &mut self.states[index as usize];
        if at < agent.active.end && *planned < agent.count {
            *planned += 1;
            self.due.push(Reverse((at, index, self.issued)));
            self.issued += 1;
        }
    }
}

impl Agent {
    /// An agent of `class` with uniform random requests of one kind, which issues as many as come.
    pub fn new(class: ClassId, op: Op, size: u32, region: Range<u64>, arrivals: Arrivals) -> Self {
        Self {
            class,
            prio: Prio(0),
            op,
            flags: Flags::NONE,
            size,
            pattern: Pattern::Random,
            spacing: Spacing::default(),
            count: u64::MAX,
            region,
            arrivals,
            active: Time::ZERO..Time::NEVER,
        }
    }

    /// Whether it issues a fixed number of requests.
    pub fn is_counted(&self) -> bool {
        self.count < u64::MAX
    }

    /// Bytes of its longest request, which is its last one.
    pub fn longest(&self) -> u32 {
        self.spacing.size(self.size, self.count.saturating_sub(1))
    }
}

impl Source for Agents {
    fn next_due(&self) -> Time {
        self.due.peek().map_or(Time::NEVER, |&Reverse((at, ..))| at)
    }

    fn take(&mut self, now: Time) -> Option<Io> {
        let &Reverse((due, index, _)) = self.due.peek()?;
        if due > now {
            return None;
        }
        self.due.pop();
        let State { agent, rng, taken, position, schedule, .. } = &mut self.states[index as usize];
        let spacing = &agent.spacing;
        let (len, bytes) =
            (spacing.size(agent.size, *taken), agent.region.end - agent.region.start);
        let offset = match (agent.pattern, &agent.arrivals) {
            (Pattern::Sequential, Arrivals::Turns) => {
                self.turns.position.next(spacing, len, *taken, bytes)
            }
            (Pattern::Sequential, _) => position.next(spacing, len, *taken, bytes),
            (Pattern::Random, _) => {
                let step = u64::from(spacing.align.unwrap_or(agent.size));
                rng.random_range(0..=(bytes - u64::from(len)) / step) * step
            }
        };
        *taken += 1;
        let io = Io {
            due,
            start: agent.region.start + offset,
            len,
            stream: StreamId(index),
            class: agent.class,
            op: agent.op,
            prio: agent.prio,
            flags: agent.flags,
        };
        if let Arrivals::Open { pace, .. } = agent.arrivals {
            let next = schedule.next(pace, rng);
            self.plan(next, index);
        }
        Some(io)
    }

    fn finished(&mut self, now: Time, req: &Request, _: &Done) {
        let index = req.stream.0;
        match self.states[index as usize].agent.arrivals {
            Arrivals::Closed { think, .. } => self.plan(now + think, index),
            Arrivals::Turns => self.turn(now),
            Arrivals::Open { .. } => {}
        }
    }
}

#[cfg(test)]
mod tests;
