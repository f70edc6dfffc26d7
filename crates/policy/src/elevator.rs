//! The elevator of Linux 2.4: one queue in the order of sectors.
//!
//! A new request merges with a neighbour, behind it or before it. Otherwise it is inserted where
//! the arm will pass it: in this sweep if it lies ahead, in the next if it lies behind. Sweeps go
//! upwards. But if that place is before a request that may not be overtaken any more, the new
//! request goes to the end of the queue: at most `read_latency` or `write_latency` later requests
//! may overtake a request.
//!
//! Use it to see the effect of sorting alone, and its defect: reads and writes wait in one queue,
//! so a read waits behind every write that the arm meets first.
//!
//! Merged requests count among those that overtake, so the limit holds for merging as for
//! inserting. A chain keeps the place of the request that founded it. O(log n) per request.
//!
//! Promise: a request that was overtaken that often is not overtaken again.
//!
//! What it leaves out: the third number of `elvtune`, `max_bomb_segments`. The papers do not say
//! where a request goes if it fits into several queued sweeps; here it goes into the first.
//!
//! Source: lectures on the Linux elevator ("merge; else insert at the physically right place; else,
//! if a request has waited for long, at the end"); R. Love, "I/O Schedulers", Linux Journal 118,
//! 2004; elvtune(8), whose names and defaults these are.

use alloc::boxed::Box;

use penstock_core::{Counter, Go, Op, Out, Part, Policy, Request, Time};

use crate::entry::{Bound, Entry, Facts};
use crate::params::{Kind, Param, Params, Value};
use crate::queue::{Added, Chains, Line, MAX_SECTORS, max_sectors};

const ELVTUNE: &str = "elvtune(8) of Linux 2.4";

/// The entry of the policy in the registry.
pub const ENTRY: Entry = Entry {
    name: "elevator",
    summary: "one queue in the order of sectors; a request is overtaken a limited number of times",
    params: &[
        Param {
            name: "read_latency",
            kind: Kind::Count(1),
            default: Value::Count(8192),
            doc: "how many later requests may go before a read",
            source: ELVTUNE,
        },
        Param {
            name: "write_latency",
            kind: Kind::Count(1),
            default: Value::Count(16_384),
            doc: "how many later requests may go before a write",
            source: ELVTUNE,
        },
        MAX_SECTORS,
    ],
    build: |params, _| Box::new(Elevator::new(params)),
    bound: |params, _| {
        let overtakes = params.count("read_latency").max(params.count("write_latency"));
        Some(Bound { overtakes, ..Bound::FIFO })
    },
    facts: Facts { merges: max_sectors, linux: Some("2.4"), ..Facts::NONE },
};

/// The queue and the arm.
#[derive(Debug)]
pub struct Elevator {
    read_latency: u32,
    write_latency: u32,
    chains: Chains,
    line: Line<PlaceInLine>,
    arrivals: u64,
    arm: Arm,
    /// Requests sent to the end of the queue.
    at_end: u64,
}

/// The order of the queue: sweep, first byte, arrival number.
type PlaceInLine = (u64, u64, u64);

/// The sweep and position at which the last command ended.
#[derive(Debug, Default)]
struct Arm {
    sweep: u64,
    position: u64,
}

impl Elevator {
    /// Takes the tunables of the kernel's `elvtune`.
    pub fn new(params: &Params) -> Self {
        Self {
            read_latency: params.count("read_latency"),
            write_latency: params.count("write_latency"),
            chains: Chains::new(max_sectors(params).unwrap_or(0), true).unordered(),
            line: Line::default(),
            arrivals: 0,
            arm: Arm::default(),
            at_end: 0,
        }
    }

    /// The place of a request that does not merge: by position, or at the end of the queue.
    fn place(&mut self, start: u64) -> PlaceInLine {
        let Arm { sweep, position } = self.arm;
        let sorted = (sweep + u64::from(start < position), start, self.arrivals);
        if self.line.may_overtake(sorted) {
            return sorted;
        }
        self.at_end += 1;
        let last = self.line.last().expect("a request that may not be overtaken");
        let (sweep, end, _) = self.line.key(last);
        (sweep + u64::from(start < end), start, self.arrivals)
    }
}

impl Policy for Elevator {
    fn enqueue(&mut self, _: Time, req: &Request) {
        let line = &self.line;
        let may_join = |founder: u32| line.may_overtake(line.key(founder));
        match self.chains.add_where(0, req, may_join) {
            Added::Joined(founder) => self.line.overtake(self.line.key(founder)),
            Added::Founded(founder) => {
                let place = self.place(req.start);
                self.arrivals += 1;
                let read = req.op == Op::Read;
                let allowed = if read { self.read_latency } else { self.write_latency };
                self.line.overtake(place);
                self.line.insert(founder, place, allowed);
            }
        }
    }

    fn dispatch(&mut self, _: Time, out: &mut Out<'_>) -> Option<Go> {
        let founder = self.line.first()?;
        let (sweep, ..) = self.line.key(founder);
        self.line.remove(founder);
        self.arm = Arm { sweep, position: self.chains.end(founder) };
        Some(self.chains.take(founder, out))
    }

    fn complete(&mut self, _: Time, _: &Request, _: &Part) {}

    fn counters(&self, report: &mut dyn FnMut(Counter<'_>, u64)) {
        report(Counter::total("at_end"), self.at_end);
        self.chains.counters(report);
    }
}
