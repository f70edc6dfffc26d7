//! A solid-state drive: dies that work in parallel, channels, a link, a write buffer, collection.
//!
//! Use it for a flash drive of known parts (from data sheets and papers), or to study the effect of
//! depth, writes and flushes on reads. It knows no data and no map of pages: it models time alone.
//!
//! A read: the command is decoded (`command_overhead`; the controller takes up one command each
//! `command_interval`). Each die that holds a part of it fetches its pages, reads before writes.
//! The fetched pages pass its channel and then the link.
//!
//! A write: it is decoded, waits for room in the write buffer, passes the link, and is done. After
//! that the buffer fills pages, which are programmed on the dies in turn. A program of random
//! writes makes its die owe collection (`collection.rs`). The die does that before it programs
//! anything else, in slices of a program each; every so many programs a block is erased. So the
//! drive is in its steady state from the first write on: its sustained rate is what collection does
//! not use. A write that goes on where one of the last few dozen ended is sequential and costs no
//! collection: the data that it overwrites becomes free in whole blocks.
//!
//! A flush waits until the present content of the buffer is in the cells. With power-loss
//! protection it has nothing to do. A write with FUA is one with a flush behind it.
//!
//! Device time: every instant is divided equally among the commands in flight, as on a real device,
//! so the sum over all is the time in which any was in flight.
//!
//! Invariants: O(dies touched) for each request and nothing allocated in the steady state; FIFO on
//! each die's reads, on each channel and on each direction of the link, by the time at which each
//! is reached; integers decide, but for the cost of collection, which is worked out once.
//!
//! # Divergence from real drives
//!
//! - Always in steady state, full and long in use: no fresh drive, no SLC buffer, no free blocks
//!   saved up for bursts, no collection put off until the drive is idle, no wear levelling.
//! - Random writes count as if they went over the whole drive. On a real drive writes to a part of
//!   it cost less. So do discards, which take a command's time here and change nothing.
//! - The place of data follows from its address, page by page over the dies, as after a sequential
//!   fill. On a drive filled at random a sequential read uses some dies twice and others not at
//!   all.
//! - Nothing is read ahead or from the write buffer: a small sequential read at depth 1 fetches its
//!   page each time.
//! - A die reads one page at a time, whole or in part at equal cost, and programs all of its planes
//!   together at the mean time of its pages; no cache reads, no reads of two planes at once but in
//!   collection, no retries, no errors, no parity among dies, no refresh.
//! - A write of less than 4 KiB costs its bytes and no more: nothing is read to fill up a page of
//!   the map. The map itself is in memory and costs nothing.
//! - Equal priority on the channel; no power states, no heat.

mod buffer;
mod collection;
mod die;
mod events;
mod facts;
mod lanes;

pub use facts::{Facts, Link};

use std::collections::VecDeque;

use buffer::WriteBuffer;
use collection::{Collection, ONE};
use die::{BufferedPage, Die, Times, Work};
use events::{Events, What};
use facts::ns_at;
use lanes::{Lanes, Passing, Way};
use penstock_core::{
    Device, Done, Errno, Flags, Io, Op, ReqId, Request, Sharing, Span, Started, Table, Time,
};

/// The unit of addresses.
const SECTOR: u32 = 512;

/// One drive.
#[derive(Debug)]
pub struct Ssd {
    facts: Facts,
    times: Times,
    /// Programs of collection for each program of random writes, in parts of [`ONE`].
    rewritten: u64,
    dies: Box<[Die]>,
    /// When each channel is free, in nanoseconds.
    channels: Box<[u64]>,
    lanes: Lanes,
    buffer: WriteBuffer,
    flights: Table<Flight>,
    /// When the controller may take up the next command.
    controller: u64,
    /// Commands by the time at which they are decoded, which is in the order of arrival.
    decoding: VecDeque<(u64, ReqId)>,
    /// Commands other than reads among them: those may be done at once.
    quick: u32,
    /// Writes that wait for room in the buffer, in order.
    waiting: VecDeque<ReqId>,
    events: Events,
    sharing: Sharing,
}

/// A command in flight in the drive.
#[derive(Debug)]
struct Flight {
    req: Request,
    begun: Time,
    started: Started,
    /// Bytes that are not yet booked on the link.
    left: u32,
    random: bool,
    error: Option<Errno>,
}

impl Ssd {
    /// The drive of these facts, in its steady state and idle.
    ///
    /// # Panics
    /// If a count, size or rate is zero, or the write buffer smaller than one program.
    pub fn new(facts: &Facts) -> Self {
        assert!(facts.dies > 0 && facts.channels > 0 && facts.depth > 0, "{facts:?}");
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
        };
        Self {
            times,
            rewritten: collection.rewritten(),
            dies: (0..facts.dies).map(|_| Die::default()).collect(),
            channels: vec![0; facts.channels as usize].into(),
            lanes: Lanes::new(facts.link),
            buffer: WriteBuffer::new(facts.write_buffer, facts.program_bytes(), facts.dies),
            flights: Table::new(),
            controller: 0,
            decoding: VecDeque::new(),
            quick: 0,
            waiting: VecDeque::new(),
            events: Events::default(),
            sharing: Sharing::default(),
            facts: facts.clone(),
        }
    }

    /// Bytes written to the cells for each byte of random writes, over the whole drive.
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
                let passing = self.lanes.pop().expect("it is first");
                if self.passed(&passing) {
                    let Flight { req, begun, started, error, .. } = self.flights.remove(passing.id);
                    let service = self.sharing.complete(now, started);
                    done.push(Done { id: req.id, at: now, begun, service, len: req.len, error });
                }
            } else if event == first {
                let what = self.events.pop().expect("it is first");
                self.happened(first, what);
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
            Op::Read => self.fetch(at, id, start, end),
            Op::Write => {
                flight.random = !self.buffer.continues(start, end);
                self.waiting.push_back(id);
                self.admit(at);
            }
            Op::Flush => self.make_durable(at, id),
            Op::Discard => self.answer(at, id),
        }
    }

    /// Spreads a read over its dies.
    fn fetch(&mut self, at: u64, id: ReqId, start: u64, end: u64) {
        let (page, dies) = (u64::from(self.facts.page), u64::from(self.facts.dies));
        let first = start / page;
        let pages = end.div_ceil(page) - first;
        for nth in 0..pages.min(dies) {
            let mine = (pages - nth).div_ceil(dies);
            let lowest = (first + nth) * page;
            let highest = lowest + ((mine - 1) * dies + 1) * page;
            // Whole pages, except for the parts outside of the range at either end.
            let bytes = mine * page - start.saturating_sub(lowest) - highest.saturating_sub(end);
            let die = ((first + nth) % dies) as u32;
            let takes = mine * self.facts.read_time.ns();
            let fetched = self.dies[die as usize].read(at, takes, &self.times);
            self.events.plan(fetched, What::Fetched { id, die, bytes: bytes as u32 });
        }
    }

    fn happened(&mut self, at: u64, what: What) {
        match what {
            What::Fetched { id, die, bytes } => {
                let channel = &mut self.channels[(die % self.facts.channels) as usize];
                *channel = at.max(*channel) + ns_at(self.facts.channel_rate, bytes);
                let out = *channel;
                self.events.plan(out, What::Out { id, bytes });
            }
            What::Out { id, bytes } => {
                let flight = flight(&mut self.flights, id);
                flight.left -= bytes;
                let last = flight.left == 0;
                self.lanes.book(Way::ToHost, last, Passing { at, id, bytes, last });
            }
            What::Worked { die } => match self.dies[die as usize].end(at) {
                Err(later) => self.events.plan(later, What::Worked { die }),
                Ok(work) => self.worked(at, die, work),
            },
        }
    }

    /// A die has ended an operation for writes, and goes on.
    fn worked(&mut self, at: u64, die: u32, work: Work) {
        if let Work::Program(page) = work {
            let part = self.rewritten * u64::from(page.random);
            self.dies[die as usize].owe(part / u64::from(self.facts.program_bytes()));
            self.buffer.programmed(&page);
            while let Some(id) = self.buffer.flushed() {
                self.answer(at, id);
            }
            self.admit(at);
        }
        self.go_on(at, die);
    }

    /// Starts the next operation for writes on a die.
    fn go_on(&mut self, at: u64, die: u32) {
        let bytes = self.facts.program_bytes();
        let rate = self.facts.channel_rate;
        let channel = &mut self.channels[(die % self.facts.channels) as usize];
        let begun = self.dies[die as usize].begin(at, &self.times, |programs| {
            *channel = at.max(*channel) + u64::from(programs) * ns_at(rate, bytes);
            *channel
        });
        if let Some(ends) = begun {
            self.events.plan(ends, What::Worked { die });
        }
    }

    /// Admits writes into the buffer while there is room.
    fn admit(&mut self, at: u64) {
        while let Some(&id) = self.waiting.front() {
            let flight = flight(&mut self.flights, id);
            let bytes = self.buffer.reserve(flight.left);
            if bytes == 0 {
                return;
            }
            let first = flight.left == flight.req.len;
            flight.left -= bytes;
            let last = flight.left == 0;
            if last {
                self.waiting.pop_front();
            }
            self.lanes.book(Way::FromHost, first, Passing { at, id, bytes, last });
        }
    }

    /// Ends a command that moves no data.
    fn answer(&mut self, at: u64, id: ReqId) {
        self.lanes.book(Way::ToHost, true, Passing { at, id, bytes: 0, last: true });
    }

    /// Whether the data that has passed the link ends its command.
    fn passed(&mut self, passing: &Passing) -> bool {
        let &Passing { at, id, bytes, last } = passing;
        let Flight { req, random, .. } = *flight(&mut self.flights, id);
        // The end of a write with FUA carries no bytes.
        if req.op != Op::Write || bytes == 0 {
            return last;
        }
        let mut rest = bytes;
        while rest > 0 {
            let (left, full) = self.buffer.fill(rest, random);
            rest = left;
            self.program(at, full);
        }
        let durable = self.facts.power_loss_protection || !req.flags.has(Flags::FUA);
        if last && !durable {
            self.make_durable(at, id);
        }
        last && durable
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

    /// Hands a closed page to its die.
    fn program(&mut self, at: u64, closed: Option<(u32, BufferedPage)>) {
        if let Some((die, page)) = closed {
            self.dies[die as usize].push(page);
            self.go_on(at, die);
        }
    }
}

/// A command in flight; the rest of the drive can still be borrowed.
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
        let (left, random) = (req.len, false);
        let flight = Flight { req: *req, begun: now, started, left, random, error: None };
        let id = self.flights.insert_with(|_| flight);
        let taken = self.controller.max(now.ns());
        self.controller = taken + self.facts.command_interval.ns();
        self.decoding.push_back((taken + self.facts.command_overhead.ns(), id));
        self.quick += u32::from(req.op != Op::Read);
    }

    fn wakeup(&self) -> Time {
        // No read is done before its die has fetched it: that saves a turn of the loop for each.
        let fetch = if self.quick == 0 { self.facts.read_time.ns() } else { 0 };
        let decoded = self.decoding.front().map_or(u64::MAX, |&(at, _)| at + fetch);
        Time::from_ns(self.lanes.next().min(self.events.next()).min(decoded))
    }

    fn advance(&mut self, now: Time, done: &mut Vec<Done>) {
        self.settle(now, done);
    }
}

#[cfg(test)]
mod tests;
