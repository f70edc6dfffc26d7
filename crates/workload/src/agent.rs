//! Load generators: a stream of requests of one kind each.
//!
//! Open loops (fixed, Poisson) issue requests on a schedule, whatever the device does, or with a bound
//! on how many are in flight. Closed loops keep a depth and think between requests. Agents that take turns
//! issue one request at a time, in a random order in each round, so that compared agents meet the same
//! states of a device. The intended arrival travels with each request as its `due`, so that lateness is
//! never hidden.
//!
//! Operations, sizes and think times are drawn from streams of their own: an agent has the same places
//! whatever they are.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::num::NonZeroU32;
use std::ops::Range;

mod arrivals;
mod ops;
mod schedule;
mod spacing;
mod spread;
mod think;
mod weighted;

use penstock_core::{
    ClassId, Done, Flags, Io, Op, Prio, Request, Rng, Seed, Source, StreamId, Time,
};
use rand::RngExt;
use rand::seq::SliceRandom;

pub use self::arrivals::{Arrivals, Pace};
pub use self::ops::{ALL_REQUESTS, Ops};
use self::schedule::Schedule;
use self::spacing::Position;
pub use self::spacing::{Growth, Spacing};
use self::spread::SpreadPlaces;
pub use self::spread::{Spread, WHOLE_REGION};
pub use self::think::Think;
pub use self::weighted::Weighted;

/// One agent. Its index among the agents is its stream.
#[derive(Clone, PartialEq, Debug)]
pub struct Agent {
    /// The class that its requests belong to.
    pub class: ClassId,
    /// Priority of that class.
    pub prio: Prio,
    /// What it asks for.
    pub ops: Ops,
    /// After how many of its writes and discards it asks for a flush: when the last of them has completed.
    pub flush: Option<NonZeroU32>,
    /// Synchronous, forced unit access: of what is no read.
    pub flags: Flags,
    /// Bytes of its requests, before they grow.
    pub sizes: Weighted<u32>,
    /// Where the next request begins.
    pub pattern: Pattern,
    /// How random requests are spread over the region.
    pub spread: Spread,
    /// How far requests lie apart, and how that and their size grow.
    pub spacing: Spacing,
    /// Requests that it issues at most. Flushes come on top.
    pub count: u64,
    /// Bytes of all its requests at most; the last request is as short as need be.
    pub bytes: u64,
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
    /// Each behind the one before, reads and writes apart; at the end of the region, again from its beginning.
    Sequential,
    /// Each before the one before, reads and writes apart; at the beginning of the region, again from its end.
    Backwards,
    /// At random, at multiples of the alignment, counted from the region's first byte.
    Random,
}

/// All agents of a job as one source.
pub struct Agents {
    states: Vec<State>,
    /// Next requests: the time, the agent, a number that keeps ties in order, and what it is.
    due: BinaryHeap<Reverse<(Time, u32, u64, Planned)>>,
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

/// What is planned.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Planned {
    Request,
    Flush,
}

struct State {
    agent: Agent,
    /// Of arrivals and places.
    rng: Rng,
    ops: Rng,
    sizes: Rng,
    think: Rng,
    /// Where random requests may begin, unless they are uniform and of one size.
    places: Option<SpreadPlaces>,
    /// Bytes of its smallest request.
    least: u32,
    /// Requests so far.
    taken: u64,
    /// The same, with those that are due.
    planned: u64,
    /// Bytes that it may still ask for.
    left: u64,
    /// Writes and discards that have completed since its last flush.
    unflushed: u32,
    in_flight: u32,
    /// When the next arrival was due that waits for a completion.
    held: Option<Time>,
    /// Of its next sequential read and of what else is sequential: a mix is two streams.
    positions: [Position; 2],
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
            states.push(State::new(agent, index, seed));
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
                        let has_more = state.taken < state.agent.count && state.left > 0;
                        has_more && now.max(active.start) < active.end
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
        let State { agent, planned, left, .. } = &mut self.states[index as usize];
        if at < agent.active.end && *planned < agent.count && *left > 0 {
            *planned += 1;
            self.push(at, index, Planned::Request);
        }
    }

    fn push(&mut self, at: Time, index: u32, what: Planned) {
        self.due.push(Reverse((at, index, self.issued, what)));
        self.issued += 1;
    }

    /// A request of the agent numbered `index` was issued: plans the next arrival of an open loop.
    fn schedule(&mut self, index: u32) {
        let State { agent, rng, schedule, in_flight, held, .. } = &mut self.states[index as usize];
        let Arrivals::Open { pace, buffers, .. } = agent.arrivals else { return };
        let next = schedule.next(pace, rng);
        if buffers.is_some_and(|most| *in_flight >= most.get()) {
            *held = Some(next);
        } else {
            self.plan(next, index);
        }
    }

    /// Whether the agent numbered `index` asks for a flush now that its request `req` has completed.
    fn flushes(&mut self, req: &Request, index: u32, now: Time) -> bool {
        let State { agent, unflushed, .. } = &mut self.states[index as usize];
        let Some(every) = agent.flush else { return false };
        if matches!(req.op, Op::Write | Op::Discard) {
            *unflushed += 1;
        }
        if *unflushed < every.get() || now >= agent.active.end {
            return false;
        }
        *unflushed = 0;
        self.push(now, index, Planned::Flush);
        true
    }
}

impl State {
    fn new(agent: Agent, index: u32, seed: Seed) -> Self {
        let bytes = agent.region.end - agent.region.start;
        let least = agent.sizes.possible().min().unwrap_or(0);
        let longest = agent.longest();
        let room = least > 0 && u64::from(longest) <= bytes;
        assert!(room, "agent {index} has no room for a request");
        let law = agent.pattern == Pattern::Random
            && (agent.spread != Spread::Uniform || agent.sizes.single().is_none());
        let places = law
            .then(|| SpreadPlaces::new(&agent.spread, agent.places(), agent.step(), seed, index));
        let stream = |label| seed.stream(label, u64::from(index));
        Self {
            rng: stream("agent"),
            ops: stream("agent's operations"),
            sizes: stream("agent's sizes"),
            think: stream("agent's think time"),
            places,
            least,
            taken: 0,
            planned: 0,
            left: agent.bytes,
            unflushed: 0,
            in_flight: 0,
            held: None,
            positions: [Position::new(&agent.spacing); 2],
            schedule: Schedule::new(&agent.arrivals, &agent.active),
            agent,
        }
    }

    /// Where its next request of `len` bytes begins, from the beginning of its region. Sequential
    /// requests of agents that take turns share the position `shared`.
    fn offset(&mut self, op: Op, len: u32, shared: &mut Position) -> u64 {
        let Agent { pattern, spacing, region, arrivals, .. } = &self.agent;
        let (number, bytes) = (self.taken, region.end - region.start);
        let position = &mut self.positions[usize::from(op != Op::Read)];
        match (pattern, arrivals) {
            (Pattern::Sequential, Arrivals::Turns) => shared.next(spacing, len, number, bytes),
            (Pattern::Sequential, _) => position.next(spacing, len, number, bytes),
            (Pattern::Backwards, _) => position.previous(spacing, (len, self.least), number, bytes),
            (Pattern::Random, _) => {
                let step = u64::from(spacing.align.unwrap_or(self.least));
                let place = match &self.places {
                    Some(places) => places.draw(&mut self.rng, number),
                    None => self.rng.random_range(0..=(bytes - u64::from(len)) / step),
                };
                place * step
            }
        }
    }

    /// Its next request, which was due at `due`.
    fn request(&mut self, due: Time, index: u32, shared: &mut Position) -> Io {
        let size = self.agent.sizes.draw(&mut self.sizes);
        let len = self.agent.spacing.size(size, self.taken);
        let op = self.agent.ops.draw(&mut self.ops);
        let offset = self.offset(op, len, shared);
        let len = u32::try_from(self.left).map_or(len, |left| left.min(len));
        self.left -= u64::from(len);
        self.taken += 1;
        let Agent { region, class, prio, flags, .. } = &self.agent;
        // Only what is written can be durable.
        let flags = if op == Op::Read { flags.without(Flags::FUA) } else { *flags };
        let start = region.start + offset;
        Io { due, start, len, stream: StreamId(index), class: *class, op, prio: *prio, flags }
    }

    /// A flush of what it has written, due at `due`.
    fn flush(&self, due: Time, index: u32) -> Io {
        let Agent { class, prio, flags, .. } = self.agent;
        Io {
            due,
            start: 0,
            len: 0,
            stream: StreamId(index),
            class,
            op: Op::Flush,
            prio,
            flags: flags.without(Flags::FUA).with(Flags::SYNC),
        }
    }
}

impl Agent {
    /// An agent of `class` with uniform random requests of one kind, which issues as many as come.
    pub fn new(class: ClassId, op: Op, size: u32, region: Range<u64>, arrivals: Arrivals) -> Self {
        Self {
            class,
            prio: Prio(0),
            ops: Ops::Only(op),
            flush: None,
            flags: Flags::NONE,
            sizes: Weighted::always(size),
            pattern: Pattern::Random,
            spread: Spread::Uniform,
            spacing: Spacing::default(),
            count: u64::MAX,
            bytes: u64::MAX,
            region,
            arrivals,
            active: Time::ZERO..Time::NEVER,
        }
    }

    /// Whether it issues a fixed number of requests, or of bytes.
    pub fn is_limited(&self) -> bool {
        self.count < u64::MAX || self.bytes < u64::MAX
    }

    /// Bytes of its requests on average, before they grow.
    pub fn mean_size(&self) -> f64 {
        let (bytes, weights) = self.weighed();
        bytes as f64 / weights as f64
    }

    /// Its sizes times their weights, and the weights.
    fn weighed(&self) -> (u128, u128) {
        let weighed =
            self.sizes.iter().map(|(size, weight)| (u128::from(size), u128::from(weight)));
        weighed.fold((0, 0), |(bytes, weights), (size, weight)| {
            (bytes + size * weight, weights + weight)
        })
    }

    /// How many requests it issues if nothing else ends it; with several sizes about as many. None if there is
    /// no end of them.
    pub fn requests(&self) -> Option<u64> {
        let (bytes, weights) = self.weighed();
        let all = (u128::from(self.bytes) * weights).div_ceil(bytes.max(1));
        let of_bytes =
            if self.bytes == u64::MAX { u64::MAX } else { all.min(u64::MAX.into()) as u64 };
        Some(self.count.min(of_bytes)).filter(|requests| *requests < u64::MAX)
    }

    /// Bytes of its longest request: of requests that grow, the last.
    pub fn longest(&self) -> u32 {
        let largest = self.sizes.possible().max().unwrap_or(0);
        self.spacing.size(largest, self.count.saturating_sub(1))
    }

    /// Bytes between two places where random requests may begin.
    fn step(&self) -> u64 {
        let least = self.sizes.possible().min().unwrap_or(0);
        self.spacing.align.unwrap_or(least).into()
    }

    /// Places of its region where its longest request may begin, if it is random.
    pub fn places(&self) -> u64 {
        (self.region.end - self.region.start - u64::from(self.longest())) / self.step() + 1
    }

    /// How many requests it has if it goes so many times through its region. A random pattern asks for as many
    /// bytes as the region has each time. None if the requests are not of one size: bytes bound them.
    pub fn requests_of_passes(&self, passes: u32) -> Option<u64> {
        let len = self.sizes.single().filter(|_| self.spacing.growth.is_none())?;
        let bytes = self.region.end - self.region.start;
        let (first, others) = match self.pattern {
            Pattern::Random => (bytes / u64::from(len), bytes / u64::from(len)),
            pattern => self.spacing.passes(len, bytes, pattern == Pattern::Backwards),
        };
        Some(first + others.saturating_mul(u64::from(passes.saturating_sub(1))))
    }
}

impl Source for Agents {
    fn next_due(&self) -> Time {
        self.due.peek().map_or(Time::NEVER, |&Reverse((at, ..))| at)
    }

    fn take(&mut self, now: Time) -> Option<Io> {
        let &Reverse((due, index, _, what)) = self.due.peek()?;
        if due > now {
            return None;
        }
        self.due.pop();
        let state = &mut self.states[index as usize];
        state.in_flight += 1;
        if what == Planned::Flush {
            return Some(state.flush(due, index));
        }
        let io = state.request(due, index, &mut self.turns.position);
        if state.left == 0 {
            // What it has planned for later it does not ask for any more.
            self.due
                .retain(|&Reverse((_, other, _, what))| other != index || what == Planned::Flush);
        }
        self.schedule(index);
        Some(io)
    }

    fn finished(&mut self, now: Time, req: &Request, _: &Done) {
        let index = req.stream.0;
        self.states[index as usize].in_flight -= 1;
        // A flush takes the place of the next request, which comes behind it.
        if self.flushes(req, index, now) {
            return;
        }
        let State { agent, think, held, .. } = &mut self.states[index as usize];
        match agent.arrivals {
            Arrivals::Closed { think: pause, .. } => {
                let at = now + pause.draw(think);
                self.plan(at, index);
            }
            Arrivals::Turns => self.turn(now),
            Arrivals::Open { .. } => {
                if let Some(at) = held.take() {
                    self.plan(at, index);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
