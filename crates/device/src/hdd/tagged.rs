//! A drive with a queue of its own (tagged command queueing): commands arrive while the arm works.
//!
//! Commands cross the bus one at a time, and each takes the command overhead. A busy drive
//! continues meanwhile, so the overhead of a waiting command delays no other command; only an idle
//! drive waits for it. While data crosses the bus no command does: a command that comes then is not
//! among those that the drive picks from when it has finished.
//!
//! # Divergence from real disks
//!
//! - Data never waits for a command: a command that would still be on the bus when data is to cross
//!   it comes after the data instead.
//! - The command overhead of hits is that of misses.

use std::collections::VecDeque;

use penstock_core::{Device, Done, Op, Policy, Queued, Request, Span, Time};

use super::disk::Hdd;

/// A drive behind a queue of its own.
pub struct Tagged<P> {
    queue: Queued<P, Hdd>,
    depth: u32,
    /// Commands at the drive, including those on their way.
    held: u32,
    coming: VecDeque<Request>,
    /// Time at which the first of them reaches the queue.
    arrives: Time,
    overheads: [[u64; 2]; 2],
    /// Whether the last command that came moves data to the drive.
    wrote: bool,
}

impl<P: Policy> Tagged<P> {
    /// Creates a drive with room for `depth` commands, the one in service included; `policy` picks.
    pub fn new(policy: P, mut hdd: Hdd, depth: u32) -> Self {
        let overheads = hdd.take_overheads();
        let queue = Queued::new(policy, hdd);
        let (coming, arrives) = (VecDeque::new(), Time::NEVER);
        Self { queue, depth, held: 0, coming, arrives, overheads, wrote: false }
    }

    /// Returns when the first command on its way reaches the queue, if it cannot have the bus
    /// before `now`.
    fn arrival(&self, now: Time) -> Time {
        let Some(req) = self.coming.front() else { return Time::NEVER };
        let overhead = self.overheads[usize::from(req.op != Op::Read)][usize::from(self.wrote)];
        let begins = match self.queue.device().bus_taken() {
            Some(data) if data.start < now + Span::from_ns(overhead) => now.max(data.end),
            _ => now,
        };
        begins + Span::from_ns(overhead)
    }

    /// Queues the commands that have arrived.
    fn take(&mut self, now: Time) {
        while self.arrives <= now {
            let req = self.coming.pop_front().expect("something has come");
            self.wrote = req.op == Op::Write;
            self.queue.start(now, &req);
            self.arrives = self.arrival(now);
        }
    }
}

impl<P: Policy> Device for Tagged<P> {
    fn capacity(&self) -> u64 {
        self.queue.capacity()
    }

    fn block(&self) -> u32 {
        self.queue.block()
    }

    fn room(&self) -> u32 {
        self.depth.saturating_sub(self.held)
    }

    fn position(&self, now: Time, op: Op, start: u64) -> Span {
        self.queue.position(now, op, start)
    }

    fn start(&mut self, now: Time, req: &Request) {
        self.held += 1;
        self.coming.push_back(*req);
        if self.coming.len() == 1 {
            self.arrives = self.arrival(now);
            self.take(now);
        }
    }

    fn wakeup(&self) -> Time {
        self.queue.wakeup().min(self.arrives)
    }

    fn advance(&mut self, now: Time, done: &mut Vec<Done>) {
        let from = done.len();
        if self.queue.wakeup() <= now {
            self.queue.advance(now, done);
        }
        self.held -= (done.len() - from) as u32;
        self.take(now);
        // Data of the command that has begun may have the bus before the next command has crossed
        // it.
        if let Some(data) = self.queue.device().bus_taken()
            && (data.start..data.end).contains(&self.arrives)
        {
            self.arrives = self.arrival(data.end);
        }
    }
}
