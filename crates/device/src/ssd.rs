//! A solid-state drive: dies that work in parallel, channels, a link, a write buffer, and garbage
//! collection.
//!
//! Use it for a flash drive of known parts (from data sheets and papers), or to study the effect of
//! depth, writes and flushes on reads. It has no data and no page map: it models time alone.
//!
//! Reads: the command is decoded (`command_overhead`; the controller takes one command each
//! `command_interval`). Each die that holds a part of it fetches its pages, reads before writes.
//! Each fetched page passes the die's channel and then the link.
//!
//! Writes: the command is decoded, its data passes the link into the write buffer, and it ends. The
//! buffer fills pages, which are programmed on the dies in turn. A program of random writes makes
//! its die owe collection (`collection.rs`). The die does that before it programs anything else, in
//! slices of one program; it erases a block after a fixed number of programs. So the drive is in
//! its steady state from the first write on: its sustained rate is what collection leaves. Writes
//! next to one of the last few dozen places form a run, in any order. A run of 32 MiB and more
//! costs no collection, since the data that it overwrites becomes free in whole blocks. It counts
//! as random until it has that length; then the debt of the dies is lowered by as much. The
//! division of a run into commands makes no difference.
//!
//! Commands share the link in turns (`link.turn`), so a short one waits for about a page of each
//! long one. A write takes its turn when the buffer has room for it; if there is none, writes wait
//! in order, for one turn each.
//!
//! A flush waits until the present content of the buffer is in the cells. With power-loss
//! protection it has nothing to do. A write with FUA is a write followed by a flush.
//!
//! Device time: every instant is divided equally among the commands in flight, as on a real device,
//! so the sum over all commands is the time in which any was in flight.
//!
//! Invariants: O(pages) for each request and no allocation in the steady state; each die's reads
//! and each channel are FIFO in the order in which they are reached; integers decide, except for
//! the cost of collection, which is computed once.
//!
//! # Divergence from real drives
//!
//! - Always in steady state, full and long in use: no fresh drive, no SLC buffer, no free blocks
//!   saved up for bursts, no collection put off until the drive is idle, no wear levelling.
//! - Random writes count as if they covered the whole drive. On a real drive, writes to a part of
//!   it cost less. So do discards, which here take the time of a command and change nothing.
//! - The place of data follows from its address, page by page over the dies, as after a sequential
//!   fill. On a drive filled at random a sequential read uses some dies twice and others not at
//!   all.
//! - Nothing is read ahead or from the write buffer: a small sequential read at depth 1 fetches its
//!   page each time.
//! - A die reads one page at a time, whole or in part at equal cost, and programs all of its planes
//!   together at the mean time of its pages; no cache reads, no reads of two planes at once but in
//!   collection, no retries, no errors, no parity among dies, no refresh.
//! - A write of less than 4 KiB costs its bytes and no more: nothing is read to complete a page of
//!   the map. The map itself is in memory and costs nothing.
//! - Chips of several dies take commands together, reads first, and do not suspend (`chips.rs`).
//!   Commands take no time on the channel.
//! - Equal priority on the channel; no power states, no heat.

mod buffer;
mod chips;
mod collection;
mod die;
mod events;
mod facts;
mod lanes;

pub use buffer::Buffered;
pub use facts::{Facts, Link};

use std::cell::Cell;
use std::collections::VecDeque;
use std::rc::Rc;

use buffer::{CLUSTERED, WriteBuffer};
use chips::{Chips, Parts};
use collection::{Collection, ONE};
use die::{BufferedPage, Die, Times, Work};
use events::{Event, Events};
use facts::{ns_at, within};
use lanes::{Lanes, Turn, Way};
use penstock_core::{
    Device, Done, Errno, Flags, Io, Op, ReqId, Request, Sharing, Span, Started, Table, Time,
};

/// Unit of addresses in bytes.
const SECTOR: u32 = 512;

/// A single drive.
#[derive(Debug)]
pub struct Ssd {
    facts: Facts,
    times: Times,
    /// Programs of collection per program of random writes, in parts of [`ONE`].
    rewritten: u64,
    dies: Box<[Die]>,
    /// Chips of several dies, if it has such.
    chips: Option<Chips>,
    /// Time at which each channel is free, in nanoseconds; unused with such chips.
    channels: Box<[u64]>,
    lanes: Lanes,
    /// Most bytes of a turn on the link.
    turn: u32,
    buffer: WriteBuffer,
    flights: Table<Flight>,
    /// Time at which the controller may take the next command.
    controller: u64,
    /// Commands by the time at which they are decoded, which is the order of arrival.
    decoding: VecDeque<(u64, ReqId)>,
    /// Number of commands among them other than reads, which may end at once.
    quick: u32,
    /// Writes that wait for room in the buffer, in order.
    stalled: VecDeque<ReqId>,
    events: Events,
    sharing: Sharing,
    gauge: Option<Rc<Cell<Buffered>>>,
}

/// A command in flight in the drive.
#[derive(Debug)]
struct Flight {
    req: Request,
    begun: Time,
    started: Started,
    /// Bytes whose turn on the link has not begun.
    left: u32,
    /// Bytes of these that may pass: fetched by a read, or with room in the buffer.
    ready: u32,
    /// Bytes of a write that cost collection.
    random: u32,
    /// Whether it waits for its turn on the link, or has it.
    queued: bool,
    error: Option<Errno>,
}

impl Ssd {
    /// Creates an idle drive with these facts in its steady state.
    ///
    /// # Panics
    /// If a count, size or rate is zero, or the write buffer is smaller than one program.
    pub fn new(facts: &Facts) -> Self {
        assert!(facts.dies > 0 && facts.dies_per_chip > 0 && facts.channels > 0, "{facts:?}");
        assert!(facts.depth > 0, "{facts:?}");
        assert!(facts.page > 0 && facts.planes > 0 && facts.block_pages > 0, "{facts:?}");
        assert!(facts.channel_rate > 0 && facts.link.rate > 0, "{facts:?}");
        let collection = Collection::greedy(facts.over_provisioning);
        // The planes of a die are read together.
        let reads = facts.read_time.share(collection.reads(), ONE);
        let times = Times {
            program: facts.program_time.ns(),
            collect: (facts.program_time + reads).ns(),
            erase: facts.erase_time.ns(),
            suspend: facts.suspend_time.map(Span::ns),
            block_programs: facts.block_pages,
            most_ahead: most_ahead(facts, collection.rewritten()),
        };
        let rewritten = collection.rewritten();
        // Some blocks are free, so that a run is recognised as long before collection delays it.
        let ahead = collected(facts, rewritten, CLUSTERED) / i64::from(facts.dies);
        Self {
            times,
            rewritten,
            dies: (0..facts.dies).map(|_| Die::new(ahead)).collect(),
            chips: (facts.dies_per_chip > 1).then(|| Chips::new(facts)),
            channels: vec![0; facts.channels as usize].into(),
            lanes: Lanes::new(facts.link),
            turn: facts.link.turn.unwrap_or(u32::MAX),
            buffer: WriteBuffer::new(facts.write_buffer, facts.program_bytes(), facts.dies),
            flights: Table::new(),
            controller: 0,
            decoding: VecDeque::new(),
            quick: 0,
            stalled: VecDeque::new(),
            events: Events::default(),
            sharing: Sharing::default(),
            gauge: None,
            facts: facts.clone(),
        }
    }

    /// Adds a `gauge` through which the write buffer can be observed.
    #[must_use]
    pub fn gauged(self, gauge: Rc<Cell<Buffered>>) -> Self {
        Self { gauge: Some(gauge), ..self }
    }

    /// Returns the bytes written to the cells for each byte of random writes over the whole drive.
    pub fn write_amplification(&self) -> f64 {
        1.0 + self.rewritten as f64 / ONE as f64
    }

    /// Handles all events that are due by `now`, in order of time; at one instant, completions
    /// first.
    fn settle(&mut self, now: Time, done: &mut Vec<Done>) {
        loop {
            let passed = self.lanes.next();
            let event = self.events.next();
            let decoded = self.decoding.front().map_or(u64::MAX, |&(at, _)| at);
            let first = passed.min(event).min(decoded);
            if first > now.ns() {
                return;
            }
            if passed == first {
                let turn = self.lanes.end().expect("it is first");
                if self.passed(first, turn) {
                    let Flight { req, begun, started, error, .. } = self.flights.remove(turn.id);
                    let service = self.sharing.complete(now, started);
                    done.push(Done { id: req.id, at: now, begun, service, len: req.len, error });
                }
                self.pass(first);
            } else if event == first {
                let event = self.events.pop().expect("it is first");
                self.happened(first, event);
            } else {
                let (_, id) = self.decoding.pop_front().expect("it is first");
                self.decoded(first, id);
            }
        }
    }

    fn decoded(&mut self, at: u64, id: ReqId) {
        let flight = flight(&mut self.flights, id);
        let Io { op, start, len, .. } = flight.req.io;
        let end = start + u64::from(len);
        self.quick -= u32::from(op != Op::Read);
        match op {
            Op::Read | Op::Write if end > self.facts.capacity => {
                flight.error = Some(Errno::EIO);
                self.answer(at, id);
            }
            Op::Read if self.chips.is_some() => {
                self.with_chips(|chips, parts| chips.read(at, (id, start, end), parts));
            }
            Op::Read => self.fetch(at, id, start, end),
            Op::Write => {
                let part = self.buffer.run(start, len);
                flight.random = part.random;
                if part.no_longer_random > 0 {
                    let all = collected(&self.facts, self.rewritten, part.no_longer_random);
                    let each = all / i64::from(self.facts.dies);
                    self.dies.iter_mut().for_each(|die| die.owe(-each));
                }
                self.admit(at, id);
            }
            Op::Flush => self.make_durable(at, id),
            Op::Discard => self.answer(at, id),
        }
    }

    /// Spreads a read over its dies. Each fetches its pages one after the other.
    fn fetch(&mut self, at: u64, id: ReqId, start: u64, end: u64) {
        let (page, dies) = (u64::from(self.facts.page), self.dies.len() as u64);
        let first = start / page;
        let pages = end.div_ceil(page) - first;
        let takes = self.facts.read_time.ns();
        for nth in 0..pages.min(dies) {
            let count = (pages - nth).div_ceil(dies);
            let die = &mut self.dies[((first + nth) % dies) as usize];
            let all = die.read(at, count * takes, &self.times);
            let fetched = all - (count - 1) * takes;
            let held_up = die.held_up();
            self.events.plan(fetched, Event::Fetched { id, nth: nth as u32, held_up });
        }
    }

    /// Calls `act` with the chips, which the drive must have, and with the parts they work with.
    fn with_chips(&mut self, act: impl FnOnce(&mut Chips, &mut Parts<'_>)) {
        let Self { chips, facts, times, dies, events, .. } = self;
        let mut parts = Parts { facts, times, dies, events };
        act(chips.as_mut().expect("chips of several dies"), &mut parts);
    }

    /// Sends the `nth` page of a read, which its die has fetched, over the channel; then the die
    /// continues.
    fn fetched(&mut self, at: u64, id: ReqId, nth: u32, held_up: u64) {
        let (page, dies) = (u64::from(self.facts.page), self.dies.len() as u64);
        let Io { start, len, .. } = flight(&mut self.flights, id).req.io;
        let number = start / page + u64::from(nth);
        let die = &mut self.dies[(number % dies) as usize];
        if die.held_up() > held_up {
            let (later, held_up) = (at + die.held_up() - held_up, die.held_up());
            return self.events.plan(later, Event::Fetched { id, nth, held_up });
        }
        let end = start + u64::from(len);
        let bytes = within(number, page, start, end);
        let channel = number % dies % u64::from(self.facts.channels);
        let channel = &mut self.channels[channel as usize];
        *channel = at.max(*channel) + ns_at(self.facts.channel_rate, bytes);
        let out = *channel;
        self.events.plan(out, Event::Out { id, bytes });
        die.hold(at, out);
        if (number + dies) * page < end {
            let (nth, held_up) = (nth + dies as u32, die.held_up());
            let next = out + self.facts.read_time.ns();
            self.events.plan(next, Event::Fetched { id, nth, held_up });
        }
    }

    /// Hands bytes of a read that have passed a channel to the link.
    fn ready(&mut self, at: u64, id: ReqId, bytes: u32) {
        let flight = flight(&mut self.flights, id);
        flight.ready += bytes;
        if !flight.queued {
            self.queue(at, Way::ToHost, id);
        }
    }

    fn happened(&mut self, at: u64, event: Event) {
        match event {
            Event::Fetched { id, nth, held_up } => self.fetched(at, id, nth, held_up),
            Event::Out { id, bytes } => self.ready(at, id, bytes),
            Event::Read(page) => self.with_chips(|chips, parts| chips.fetched(at, page, parts)),
            Event::Passed(page) => {
                self.with_chips(|chips, parts| chips.passed(at, page, parts));
                self.ready(at, page.id, page.bytes);
            }
            Event::Sent { die } => {
                self.with_chips(|chips, parts| chips.channel_free(at, die, parts));
            }
            Event::Worked { die } => match self.dies[die as usize].end(at) {
                Err(later) => self.events.plan(later, Event::Worked { die }),
                Ok(work) => self.worked(at, die, work),
            },
        }
    }

    /// Ends an operation for writes on a die, and continues.
    fn worked(&mut self, at: u64, die: u32, work: Work) {
        if let Some(chips) = &mut self.chips {
            chips.die_free(die);
        }
        if let Work::Program(page) = work {
            let part = collected(&self.facts, self.rewritten, page.random.into());
            self.dies[die as usize].owe(part);
            self.buffer.programmed(&page);
            while let Some(id) = self.buffer.flushed() {
                self.answer(at, id);
            }
            while self.buffer.has_room()
                && let Some(id) = self.stalled.pop_front()
            {
                self.admit(at, id);
            }
        }
        self.go_on(at, die);
    }

    /// Starts the next operation for writes on a die.
    fn go_on(&mut self, at: u64, die: u32) {
        if self.chips.is_some() {
            return self.with_chips(|chips, parts| chips.use_channel(at, die, parts));
        }
        let bytes = self.facts.program_bytes();
        let rate = self.facts.channel_rate;
        let channel = &mut self.channels[(die % self.facts.channels) as usize];
        let begun = self.dies[die as usize].begin(at, &self.times, |programs| {
            *channel = at.max(*channel) + u64::from(programs) * ns_at(rate, bytes);
            *channel
        });
        if let Some(ends) = begun {
            self.events.plan(ends, Event::Worked { die });
        }
    }

    /// Gives a write its next turn, if the buffer has room.
    fn admit(&mut self, at: u64, id: ReqId) {
        let flight = flight(&mut self.flights, id);
        flight.ready = self.buffer.reserve(flight.left.min(self.turn));
        if flight.ready == 0 {
            self.stalled.push_back(id);
        } else {
            self.queue(at, Way::FromHost, id);
        }
    }

    /// Ends a command that moves no more data.
    fn answer(&mut self, at: u64, id: ReqId) {
        flight(&mut self.flights, id).left = 0;
        self.queue(at, Way::ToHost, id);
    }

    /// Queues a command for turns on the link.
    fn queue(&mut self, at: u64, way: Way, id: ReqId) {
        flight(&mut self.flights, id).queued = true;
        self.lanes.queue(way, id);
        self.pass(at);
    }

    /// Begins turns where the link is idle.
    fn pass(&mut self, at: u64) {
        let (flights, turn) = (&mut self.flights, self.turn);
        self.lanes.begin(at, |id| {
            let flight = flight(flights, id);
            let bytes = flight.ready.min(turn);
            let first = flight.left == flight.req.len;
            flight.ready -= bytes;
            flight.left -= bytes;
            let write = flight.req.op == Op::Write && bytes > 0;
            Turn { id, bytes, command: if write { first } else { flight.left == 0 } }
        });
    }

    /// Handles data that has passed the link; returns whether it ends its command.
    fn passed(&mut self, at: u64, turn: Turn) -> bool {
        let Turn { id, bytes, .. } = turn;
        let flight = flight(&mut self.flights, id);
        flight.queued = false;
        let Flight { req, left, ready, .. } = *flight;
        // The end of a write with FUA, and an error, carry no bytes.
        if req.op != Op::Write || bytes == 0 {
            if ready > 0 {
                self.queue(at, Way::ToHost, id);
            }
            return left == 0;
        }
        let (mut rest, mut random) = (bytes, bytes.min(flight.random));
        flight.random -= random;
        while rest > 0 {
            let closed;
            (rest, random, closed) = self.buffer.fill(rest, random);
            self.program(at, closed);
        }
        if left > 0 {
            self.admit(at, id);
            return false;
        }
        let durable = self.facts.power_loss_protection || !req.flags.has(Flags::FUA);
        if !durable {
            self.make_durable(at, id);
        }
        durable
    }

    /// Ends a command when the present content of the buffer is in the cells.
    fn make_durable(&mut self, at: u64, id: ReqId) {
        let waits = !self.facts.power_loss_protection && {
            let (waits, cut) = self.buffer.flush(id);
            self.program(at, cut);
            waits
        };
        if !waits {
            self.answer(at, id);
        }
    }

    /// Sends a closed page to its die.
    fn program(&mut self, at: u64, closed: Option<(u32, BufferedPage)>) {
        if let Some((die, page)) = closed {
            self.dies[die as usize].push(page);
            self.go_on(at, die);
        }
    }
}

/// Returns the programs of collection for `random` bytes of random writes, in parts of [`ONE`].
fn collected(facts: &Facts, rewritten: u64, random: u64) -> i64 {
    (rewritten * random / u64::from(facts.program_bytes())).cast_signed()
}

/// Returns how far the collection of a die may be ahead: until a twentieth of its flash is free, as
/// in the published defaults of `MQSim` (`GC_Exec_Threshold`; Tavakkol et al., FAST 2018).
fn most_ahead(facts: &Facts, rewritten: u64) -> i64 {
    let flash = facts.capacity as f64 * (1.0 + facts.over_provisioning);
    let programs = flash / f64::from(facts.dies) / f64::from(facts.program_bytes());
    (programs / 20.0 * rewritten as f64) as i64
}

/// Returns a command in flight, while the rest of the drive can still be borrowed.
fn flight(flights: &mut Table<Flight>, id: ReqId) -> &mut Flight {
    flights.get_mut(id).expect("a command that the drive holds")
}

impl Device for Ssd {
    fn capacity(&self) -> u64 {
        self.facts.capacity
    }

    fn block(&self) -> u32 {
        SECTOR
    }

    fn room(&self) -> u32 {
        self.facts.depth - self.flights.len()
    }

    fn start(&mut self, now: Time, req: &Request) {
        debug_assert!(self.room() > 0, "started without room");
        let started = self.sharing.start(now);
        let (left, ready, random, queued) = (req.len, 0, 0, false);
        let (req, begun, error) = (*req, now, None);
        let flight = Flight { req, begun, started, left, ready, random, queued, error };
        let id = self.flights.insert_with(|_| flight);
        let taken = self.controller.max(now.ns());
        self.controller = taken + self.facts.command_interval.ns();
        self.decoding.push_back((taken + self.facts.command_overhead.ns(), id));
        self.quick += u32::from(req.op != Op::Read);
    }

    fn wakeup(&self) -> Time {
        // No read ends before its die has fetched it; this saves a turn of the loop for each read.
        let fetch = if self.quick == 0 { self.facts.read_time.ns() } else { 0 };
        let decoded = self.decoding.front().map_or(u64::MAX, |&(at, _)| at + fetch);
        Time::from_ns(self.lanes.next().min(self.events.next()).min(decoded))
    }

    fn advance(&mut self, now: Time, done: &mut Vec<Done>) {
        self.settle(now, done);
        if let Some(gauge) = &self.gauge {
            gauge.set(self.buffer.gauge());
        }
    }
}

#[cfg(test)]
mod tests;
