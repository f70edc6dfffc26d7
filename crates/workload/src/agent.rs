//! Load generators: each agent issues a stream of similar requests.
//!
//! Open loops (fixed, Poisson) issue requests on a schedule, whatever the device does, or with a
//! bound on the requests in flight. Closed loops keep a depth and think between requests. Agents
//! that take turns issue one request at a time, in a random order in each round, so that compared
//! agents meet the same states of a device. The intended arrival travels with each request as its
//! `due`, so that lateness is never hidden.
//!
//! Operations, sizes and think times are drawn from random streams of their own, so they do not
//! change the places of an agent's requests.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

mod arrivals;
mod ops;
mod order;
mod schedule;
mod settings;
mod spacing;
mod spread;
mod think;
mod weighted;

use penstock_core::{Done, Flags, Io, Op, Request, Rng, Seed, Source, StreamId, Time};
use rand::RngExt;
use rand::seq::SliceRandom;

pub use self::arrivals::{Arrivals, Pace};
pub use self::ops::{ALL_REQUESTS, Ops};
use self::order::Ends;
use self::schedule::Schedule;
pub use self::settings::{Agent, Pattern};
use self::spacing::Position;
pub use self::spacing::{Growth, Spacing};
use self::spread::SpreadPlaces;
pub use self::spread::{Spread, WHOLE_REGION};
pub use self::think::Think;
pub use self::weighted::Weighted;

/// All agents of a job as one source.
pub struct Agents {
    states: Vec<State>,
    /// Planned requests: the time, the agent, a number that keeps ties in order, and the kind.
    due: Due,
    issued: u64,
    turns: Turns,
    order: Ends,
}

type Due = BinaryHeap<Reverse<(Time, u32, u64, Planned)>>;

/// The round of agents that take turns.
struct Turns {
    /// Agents that have not had their turn in this round.
    round: Vec<u32>,
    rng: Rng,
    /// Position of the next sequential request.
    position: Position,
}

/// The kind of a planned request.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Planned {
    Request,
    Flush,
}

struct State {
    agent: Agent,
    /// Random numbers for arrivals and places.
    rng: Rng,
    ops: Rng,
    sizes: Rng,
    think: Rng,
    /// Places of random requests, unless they are uniform and of one size.
    places: Option<SpreadPlaces>,
    /// Bytes of its smallest request.
    smallest: u32,
    /// Number of requests issued.
    taken: u64,
    /// Number of requests issued or planned.
    planned: u64,
    /// Bytes that it may still request.
    left: u64,
    /// Writes and discards completed since its last flush.
    unflushed: u32,
    /// Flushes planned.
    flushes: u32,
    in_flight: u32,
    /// Requests of its burst that were issued or planned.
    in_burst: u32,
    /// Due time of an arrival that waits for a completion because of the bound on requests in
    /// flight.
    held: Option<Time>,
    /// Positions of the next sequential read and of the next other sequential request.
    positions: [Position; 2],
    schedule: Schedule,
    /// Whether it has issued its last request and that has completed.
    over: bool,
}

impl Agents {
    /// Creates the source. Each agent has its own streams of random numbers from `seed`.
    ///
    /// # Panics
    /// If a region is too small for a request.
    pub fn new(agents: Vec<Agent>, seed: Seed) -> Self {
        let order = Ends::new(&agents);
        let mut states = Vec::with_capacity(agents.len());
        for (index, agent) in (0_u32..).zip(agents) {
            states.push(State::new(agent, index, seed));
        }
        let turns = Turns {
            round: Vec::with_capacity(states.len()),
            rng: seed.stream("turns", 0),
            position: Position::default(),
        };
        let mut agents = Self { states, due: BinaryHeap::new(), issued: 0, turns, order };
        let all = 0..agents.states.len() as u32;
        for index in all.clone() {
            if !agents.states[index as usize].agent.waits() {
                agents.start(index);
            }
        }
        agents.turn(Time::ZERO);
        all.for_each(|index| agents.settle(Time::ZERO, index));
        agents
    }

    /// Plans the first requests of the agent numbered `index`, unless it takes turns.
    fn start(&mut self, index: u32) {
        let State { agent, rng, schedule, .. } = &mut self.states[index as usize];
        match agent.arrivals {
            Arrivals::Open { pace, .. } => {
                let first = schedule.next(pace, rng);
                self.plan(first, index);
            }
            Arrivals::Closed { .. } => {
                let start = agent.active.start;
                self.begin(start, index);
            }
            Arrivals::Turns => {}
        }
    }

    /// Notes it if the agent numbered `index` has ended, and starts the agents that waited for it.
    fn settle(&mut self, now: Time, index: u32) {
        if !self.order.matters() {
            return;
        }
        self.end(now, index);
        loop {
            let Self { states, order, .. } = self;
            let after = |index: u32| &*states[index as usize].agent.after;
            let Some(index) = order.take_ready(after) else { return };
            states[index as usize].resume(now);
            self.start(index);
            self.end(now, index);
        }
    }

    /// Notes it if the agent numbered `index` has ended, and stops the others of its class if they
    /// end with it.
    fn end(&mut self, now: Time, index: u32) {
        let state = &mut self.states[index as usize];
        if !state.ends() {
            return;
        }
        let Agent { class, ends_class, .. } = state.agent;
        self.order.ended(class);
        if !ends_class {
            return;
        }
        for (number, state) in (0..).zip(&mut self.states) {
            if state.agent.class == class && !state.over {
                state.agent.active.end = state.agent.active.end.min(now);
                state.drop_planned(number, &mut self.due);
                if state.ends() {
                    self.order.ended(class);
                }
            }
        }
    }

    /// Plans a request of the next agent in turn, at `now` or at the beginning of its active time.
    fn turn(&mut self, now: Time) {
        loop {
            let Self { states, turns: Turns { round, rng, .. }, .. } = self;
            if round.is_empty() {
                let takes_part = |state: &State| match state.agent.arrivals {
                    Arrivals::Turns => {
                        // An agent that begins after its own end never issues a request.
                        let active = &state.agent.active;
                        let has_more = state.taken < state.agent.count && state.left > 0;
                        has_more && now.max(active.start) < active.end
                    }
                    _ => false,
                };
                let all = (0..).zip(&*states);
                round.extend(all.filter(|(_, state)| takes_part(state)).map(|(index, _)| index));
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

    /// Plans a request of the agent numbered `index` for time `at`, unless the agent has stopped by
    /// then or has planned all of its requests.
    fn plan(&mut self, at: Time, index: u32) {
        let State { agent, planned, left, .. } = &mut self.states[index as usize];
        if at < agent.active.end && *planned < agent.count && *left > 0 {
            *planned += 1;
            self.push(at, index, Planned::Request);
        }
    }

    /// Plans for time `at` the first requests of the closed loop of the agent numbered `index`, or
    /// those of its next burst.
    fn begin(&mut self, at: Time, index: u32) {
        let State { agent, in_burst, .. } = &mut self.states[index as usize];
        let Arrivals::Closed { depth, burst, .. } = agent.arrivals else { return };
        let first = burst.map_or(depth, |burst| depth.min(burst.get()));
        *in_burst = first;
        (0..first).for_each(|_| self.plan(at, index));
    }

    /// Plans what follows now that a request of the closed loop of the agent numbered `index` has
    /// completed.
    fn go_on(&mut self, now: Time, index: u32) {
        let State { agent, think, in_burst, taken, planned, in_flight, .. } =
            &mut self.states[index as usize];
        let Arrivals::Closed { think: pause, burst, .. } = agent.arrivals else { return };
        match burst {
            Some(burst) if *in_burst < burst.get() => {
                *in_burst += 1;
                self.plan(now, index);
            }
            // The others of the burst have not completed.
            Some(_) if *in_flight > 0 || taken < planned => {}
            Some(_) => {
                let at = now + pause.draw(think);
                self.begin(at, index);
            }
            None => {
                let at = now + pause.draw(think);
                self.plan(at, index);
            }
        }
    }

    fn push(&mut self, at: Time, index: u32, kind: Planned) {
        self.due.push(Reverse((at, index, self.issued, kind)));
        self.issued += 1;
    }

    /// A request of the agent numbered `index` was issued: plans the next arrival of an open loop.
    fn schedule(&mut self, index: u32) {
        let State { agent, rng, schedule, in_flight, held, .. } = &mut self.states[index as usize];
        let Arrivals::Open { pace, buffers, .. } = agent.arrivals else { return };
        let next = schedule.next(pace, rng);
        if buffers.is_some_and(|limit| *in_flight >= limit.get()) {
            *held = Some(next);
        } else {
            self.plan(next, index);
        }
    }

    /// Plans a flush of the agent numbered `index` if one is due now that its request `req` has
    /// completed. Returns whether it did.
    fn plan_flush(&mut self, req: &Request, index: u32, now: Time) -> bool {
        let State { agent, unflushed, flushes, .. } = &mut self.states[index as usize];
        let Some(every) = agent.flush else { return false };
        if matches!(req.op, Op::Write | Op::Discard) {
            *unflushed += 1;
        }
        if *unflushed < every.get() || now >= agent.active.end {
            return false;
        }
        *unflushed = 0;
        *flushes += 1;
        self.push(now, index, Planned::Flush);
        true
    }
}

impl State {
    fn new(agent: Agent, index: u32, seed: Seed) -> Self {
        let bytes = agent.region.end - agent.region.start;
        let smallest = agent.sizes.possible().min().unwrap_or(0);
        let longest = agent.longest();
        let room = smallest > 0 && u64::from(longest) <= bytes;
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
            smallest,
            taken: 0,
            planned: 0,
            left: agent.bytes,
            unflushed: 0,
            flushes: 0,
            in_flight: 0,
            in_burst: 0,
            held: None,
            positions: [Position::new(&agent.spacing); 2],
            schedule: Schedule::new(&agent.arrivals, &agent.active),
            over: false,
            agent,
        }
    }

    /// Begins its time at `now`: the agents that it waited for have ended.
    fn resume(&mut self, now: Time) {
        self.agent.after.clear();
        self.agent.active.start = now;
        self.schedule = Schedule::new(&self.agent.arrivals, &self.agent.active);
    }

    /// Whether it ends now: for the first time nothing of it is in flight, held or planned.
    fn ends(&mut self) -> bool {
        let Self { agent, in_flight, flushes, planned, taken, held, over, .. } = self;
        let idle = *in_flight == 0 && *flushes == 0 && planned == taken && held.is_none();
        let ends = idle && !*over && !agent.waits() && agent.arrivals != Arrivals::Turns;
        *over |= ends;
        ends
    }

    /// Drops the requests that it, numbered `index`, has in `due`. Flushes stay.
    fn drop_planned(&mut self, index: u32, due: &mut Due) {
        due.retain(|&Reverse((_, agent, _, kind))| agent != index || kind == Planned::Flush);
        (self.planned, self.held) = (self.taken, None);
    }

    /// The place of its next request of `len` bytes, from the beginning of its region. Sequential
    /// requests of agents that take turns share the position `shared`.
    fn offset(&mut self, op: Op, len: u32, shared: &mut Position) -> u64 {
        let Agent { pattern, spacing, region, arrivals, .. } = &self.agent;
        let (number, bytes) = (self.taken, region.end - region.start);
        let position = &mut self.positions[usize::from(op != Op::Read)];
        match (pattern, arrivals) {
            (Pattern::Sequential, Arrivals::Turns) => shared.next(spacing, len, number, bytes),
            (Pattern::Sequential, _) => position.next(spacing, len, number, bytes),
            (Pattern::Backwards, _) => {
                position.previous(spacing, (len, self.smallest), number, bytes)
            }
            (Pattern::Random, _) => {
                let step = u64::from(spacing.align.unwrap_or(self.smallest));
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
        // Forced unit access has no meaning for reads.
        let flags = if op == Op::Read { flags.without(Flags::FUA) } else { *flags };
        let flags = flags.with(Flags::of_program(op));
        let start = region.start + offset;
        Io { due, start, len, stream: StreamId(index), class: *class, op, prio: *prio, flags }
    }

    /// A flush, due at `due`: of the file or device in which its region lies.
    fn flush(&self, due: Time, index: u32) -> Io {
        let Agent { class, prio, flags, .. } = self.agent;
        Io {
            due,
            start: self.agent.region.start,
            len: 0,
            stream: StreamId(index),
            class,
            op: Op::Flush,
            prio,
            flags: flags.without(Flags::FUA).with(Flags::SYNC),
        }
    }
}

impl Source for Agents {
    fn next_due(&self) -> Time {
        self.due.peek().map_or(Time::NEVER, |&Reverse((at, ..))| at)
    }

    fn take(&mut self, now: Time) -> Option<Io> {
        let &Reverse((due, index, _, kind)) = self.due.peek()?;
        if due > now {
            return None;
        }
        self.due.pop();
        let state = &mut self.states[index as usize];
        state.in_flight += 1;
        if kind == Planned::Flush {
            state.flushes -= 1;
            return Some(state.flush(due, index));
        }
        let io = state.request(due, index, &mut self.turns.position);
        if state.left == 0 {
            // Its limit on bytes is used up, so the requests planned for later are dropped.
            state.drop_planned(index, &mut self.due);
        }
        self.schedule(index);
        Some(io)
    }

    fn finished(&mut self, now: Time, req: &Request, _: &Done) {
        let index = req.stream.0;
        self.states[index as usize].in_flight -= 1;
        // If a flush is due, it goes now, and its completion leads to the next request.
        if self.plan_flush(req, index, now) {
            return;
        }
        let State { agent, held, .. } = &mut self.states[index as usize];
        match agent.arrivals {
            Arrivals::Closed { .. } => self.go_on(now, index),
            Arrivals::Turns => self.turn(now),
            Arrivals::Open { .. } => {
                if let Some(at) = held.take() {
                    self.plan(at, index);
                }
            }
        }
        self.settle(now, index);
    }
}

#[cfg(test)]
mod tests;
