//! Load generators: a stream of requests of one kind each.
//!
//! Open loops (fixed, Poisson) issue requests on a schedule, whatever the device does. Closed loops
//! keep a depth and think between requests. Agents that take turns issue one request at a time, in
//! a random order in each round, so that compared agents meet the same states of a device. The
//! intended arrival travels with each request as its `due`, so that lateness is never hidden.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;

use penstock_core::{
    ClassId, Done, Flags, Io, Op, Prio, Request, Rng, Seed, Source, Span, StreamId, Time,
};
use rand::RngExt;
use rand::seq::SliceRandom;
use rand_distr::{Distribution, Exp1};

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
    /// Bytes of a request.
    pub size: u32,
    /// Where the next request begins.
    pub pattern: Pattern,
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
    /// Uniform over the multiples of the size, counted from the region's first byte.
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
    /// a round, in a random order for each round. Sequential ones share one position.
    Turns {
        /// Requests of this agent; after them it takes part in no further round.
        count: u64,
    },
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
    /// Bytes from the beginning of the region to the next sequential one.
    position: u64,
}

struct State {
    agent: Agent,
    rng: Rng,
    /// Requests so far: the position of a sequential pattern.
    taken: u64,
    schedule: Schedule,
}

impl Agents {
    /// The agents, each with a stream of random numbers of its own from `seed`.
    ///
    /// # Panics
    /// If a region holds no request.
    pub fn new(agents: Vec<Agent>, seed: Seed) -> Self {
        let mut due = BinaryHeap::new();
        let mut issued = 0;
        let mut states = Vec::with_capacity(agents.len());
        for (index, agent) in (0_u32..).zip(agents) {
            assert!(agent.size > 0 && agent.slots() > 0, "agent {index} has no room for a request");
            let mut rng = seed.stream("agent", u64::from(index));
            let mut schedule = Schedule::new(&agent);
            let mut plan = |at: Time| {
                if at < agent.active.end {
                    due.push(Reverse((at, index, issued)));
                    issued += 1;
                }
            };
            match agent.arrivals {
                Arrivals::Open { pace, .. } => plan(schedule.next(pace, &mut rng)),
                Arrivals::Closed { depth, .. } => (0..depth).for_each(|_| plan(agent.active.start)),
                Arrivals::Turns { .. } => {}
            }
            states.push(State { agent, rng, taken: 0, schedule });
        }
        let turns = Turns {
            round: Vec::with_capacity(states.len()),
            rng: seed.stream("turns", 0),
            position: 0,
        };
        let mut agents = Self { states, due, issued, turns };
        agents.turn(Time::ZERO);
        agents
    }

    /// Lets the next agent in turn issue a request from `now` on, if it has begun.
    fn turn(&mut self, now: Time) {
        loop {
            let Self { states, turns: Turns { round, rng, .. }, .. } = self;
            if round.is_empty() {
                let stays = |state: &State| match state.agent.arrivals {
                    Arrivals::Turns { count } => {
                        // An agent that begins after its own end never issues a request.
                        let active = &state.agent.active;
                        state.taken < count && now.max(active.start) < active.end
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

    fn plan(&mut self, at: Time, index: u32) {
        if at < self.states[index as usize].agent.active.end {
            self.due.push(Reverse((at, index, self.issued)));
            self.issued += 1;
        }
    }
}

impl Agent {
    /// Whether it issues a fixed number of requests.
    pub fn is_counted(&self) -> bool {
        matches!(self.arrivals, Arrivals::Turns { count } if count < u64::MAX)
    }

    /// How many requests fit next to each other into the region.
    pub fn slots(&self) -> u64 {
        (self.region.end - self.region.start) / u64::from(self.size)
    }
}

impl Turns {
    /// The beginning of `size` bytes behind the last ones, in a region of `bytes` that holds them.
    fn from(&mut self, size: u64, bytes: u64) -> u64 {
        let fits = self.position + size <= bytes;
        let from = if fits { self.position } else { 0 };
        self.position = from + size;
        from
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
        let State { agent, rng, taken, schedule } = &mut self.states[index as usize];
        let size = u64::from(agent.size);
        let offset = match (agent.pattern, &agent.arrivals) {
            (Pattern::Sequential, Arrivals::Turns { .. }) => {
                self.turns.from(size, agent.region.end - agent.region.start)
            }
            (Pattern::Sequential, _) => *taken % agent.slots() * size,
            (Pattern::Random, _) => rng.random_range(0..agent.slots()) * size,
        };
        *taken += 1;
        let io = Io {
            due,
            start: agent.region.start + offset,
            len: agent.size,
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
            Arrivals::Turns { .. } => self.turn(now),
            Arrivals::Open { .. } => {}
        }
    }
}

/// Arrival times of an open loop. The next arrival is where the integral of the rate has grown by
/// one (fixed) or by an exponential variate (Poisson). Floating point, but only sums, products and
/// quotients, so every machine computes the same.
struct Schedule {
    /// The present point of the schedule, in nanoseconds.
    at: f64,
    end: f64,
    /// Nanoseconds of a part, and arrivals a nanosecond in each.
    part: f64,
    start: f64,
    rates: Vec<f64>,
    first: bool,
}

impl Schedule {
    fn new(agent: &Agent) -> Self {
        let (start, end) = (agent.active.start.ns() as f64, agent.active.end.ns() as f64);
        let rates = match &agent.arrivals {
            Arrivals::Open { rate, curve, .. } if curve.is_empty() => vec![rate / 1e9],
            Arrivals::Open { rate, curve, .. } => curve.iter().map(|c| c * rate / 1e9).collect(),
            Arrivals::Closed { .. } | Arrivals::Turns { .. } => vec![0.0],
        };
        let part = (end - start) / rates.len() as f64;
        Self { at: start, end, part, start, rates, first: true }
    }

    /// The next arrival; [`Time::NEVER`] after the end. A fixed pace begins at once.
    fn next(&mut self, pace: Pace, rng: &mut Rng) -> Time {
        let mut need: f64 = match pace {
            Pace::Fixed if core::mem::take(&mut self.first) => 0.0,
            Pace::Fixed => 1.0,
            Pace::Poisson => Exp1.sample(rng),
        };
        while self.at < self.end {
            let part = (((self.at - self.start) / self.part) as usize).min(self.rates.len() - 1);
            let until = if part + 1 == self.rates.len() {
                self.end
            } else {
                // At least the next representable instant, so that every turn moves on.
                (self.start + (part + 1) as f64 * self.part).max(self.at.next_up())
            };
            let rate = self.rates[part];
            let here = (until - self.at) * rate;
            if rate > 0.0 && need < here {
                self.at += need / rate;
                return Time::from_ns(self.at.round() as u64);
            }
            need -= here;
            self.at = until;
        }
        Time::NEVER
    }
}

#[cfg(test)]
mod tests;
