//! Sorted batches, with a date by which every request should have begun.
//!
//! Four queues: reads and writes, each both sorted by position and in order of arrival. Requests go
//! in batches of one direction, in ascending position. When a batch ends, the next direction is
//! chosen: reads, unless writes have been passed over `writes_starved` times. If the oldest request
//! of that direction has expired, the batch begins there; otherwise it goes on from where the
//! direction's last batch ended. O(log n) a request.
//!
//! Promise: once a request has expired, at most one running batch, `writes_starved` batches of the
//! other direction and one batch for each older request of its own go before it.
//!
//! Source: the kernel's documentation of the deadline scheduler (deadline-iosched), whose names and
//! defaults these are. Discards count as writes and are not merged.

use alloc::boxed::Box;
use alloc::vec::Vec;

use penstock_core::{Go, Op, Out, Part, Policy, Request, Span, Time};

use crate::entry::{Bound, Entry, Facts};
use crate::params::{Kind, Param, Params, Value};
use crate::queue::{Added, Chains, Links, List, MAX_SECTORS, max_sectors};

const KERNEL: &str = "the kernel's deadline-iosched";

/// Its entry in the registry.
pub const ENTRY: Entry = Entry {
    name: "deadline",
    summary: "sorted batches of one direction; reads first, and nothing waits for ever",
    params: &[
        Param {
            name: "read_expire",
            kind: Kind::Duration,
            default: Value::Duration(Span::from_ms(500)),
            doc: "a read that has waited this long begins the next batch of reads",
            source: KERNEL,
        },
        Param {
            name: "write_expire",
            kind: Kind::Duration,
            default: Value::Duration(Span::from_secs(5)),
            doc: "a write that has waited this long begins the next batch of writes",
            source: KERNEL,
        },
        Param {
            name: "writes_starved",
            kind: Kind::Count(0),
            default: Value::Count(2),
            doc: "how many batches of reads may go before waiting writes",
            source: KERNEL,
        },
        Param {
            name: "fifo_batch",
            kind: Kind::Count(1),
            default: Value::Count(16),
            doc: "commands in a batch at most",
            source: KERNEL,
        },
        Param {
            name: "front_merges",
            kind: Kind::Switch,
            default: Value::Switch(true),
            doc: "merge a request also before the one that begins where it ends",
            source: KERNEL,
        },
        MAX_SECTORS,
    ],
    build: |params, _| Box::new(Deadline::new(params)),
    bound: |params, _| {
        let after = params.duration("read_expire").max(params.duration("write_expire"));
        let batches = params.count("writes_starved").saturating_add(2);
        let overtakes = batches.saturating_mul(params.count("fifo_batch"));
        // With 0, writes always go first, as in the kernel: reads are promised nothing.
        (params.count("writes_starved") > 0).then_some(Bound { after, overtakes })
    },
    facts: Facts { merges: max_sectors, linux: Some("2.6 to 4.20"), ..Facts::NONE },
};

const READ: usize = 0;
const WRITE: usize = 1;

/// Four queues and the batch that runs.
#[derive(Debug)]
pub struct Deadline {
    writes_starved: u32,
    fifo_batch: u32,
    /// One lane for each direction: its sorted queue.
    chains: Chains,
    links: Links,
    directions: [Direction; 2],
    /// By founder's slot: when it expires.
    expires: Vec<Time>,
    /// The running batch: its direction, and how many commands it may still send.
    batch: (usize, u32),
    /// Batches of reads since writes were waiting.
    starved: u32,
}

#[derive(Debug)]
struct Direction {
    expire: Span,
    /// In order of arrival.
    fifo: List,
    /// Where its last command ended: the next batch goes on from there.
    position: u64,
}

impl Deadline {
    /// Takes the kernel's tunables.
    pub fn new(params: &Params) -> Self {
        let direction = |expire| Direction {
            expire: params.duration(expire),
            fifo: List::default(),
            position: 0,
        };
        let limit = max_sectors(params).unwrap_or(0);
        Self {
            writes_starved: params.count("writes_starved"),
            fifo_batch: params.count("fifo_batch"),
            chains: Chains::new(limit, params.switch("front_merges")),
            links: Links::default(),
            directions: [direction("read_expire"), direction("write_expire")],
            expires: Vec::new(),
            batch: (READ, 0),
            starved: 0,
        }
    }

    /// The direction of the next batch: reads, unless only writes wait or writes have waited long
    /// enough.
    fn choose(&mut self) -> Option<usize> {
        let waits = |d: usize| !self.directions[d].fifo.is_empty();
        match (waits(READ), waits(WRITE)) {
            (false, false) => return None,
            (true, true) if self.starved < self.writes_starved => {
                self.starved += 1;
                return Some(READ);
            }
            (true, false) => return Some(READ),
            _ => {}
        }
        self.starved = 0;
        Some(WRITE)
    }

    /// The command with which a batch begins: the oldest request if it has expired, otherwise the
    /// next by position, beginning again at the lowest.
    fn first(&self, now: Time, direction: usize) -> Option<u32> {
        let Direction { fifo, position, .. } = &self.directions[direction];
        let oldest = fifo.front()?;
        if self.expires[oldest as usize] <= now {
            return Some(oldest);
        }
        let lane = direction as u32;
        self.chains.at_or_after(lane, *position).or_else(|| self.chains.at_or_after(lane, 0))
    }
}

impl Policy for Deadline {
    fn enqueue(&mut self, now: Time, req: &Request) {
        let direction = if req.op == Op::Read { READ } else { WRITE };
        if let Added::Founded(founder) = self.chains.add(direction as u32, req) {
            let slot = founder as usize;
            if slot >= self.expires.len() {
                self.expires.resize(slot + 1, Time::NEVER);
            }
            let Direction { expire, fifo, .. } = &mut self.directions[direction];
            self.expires[slot] = now + *expire;
            self.links.push_back(fifo, founder);
        }
    }

    fn dispatch(&mut self, now: Time, out: &mut Out<'_>) -> Option<Go> {
        let (direction, left) = self.batch;
        // A batch goes on while its limit allows and something lies ahead.
        let ahead = self.chains.at_or_after(direction as u32, self.directions[direction].position);
        let (direction, founder) = match ahead {
            Some(founder) if left > 0 => (direction, founder),
            _ => {
                let direction = self.choose()?;
                self.batch = (direction, self.fifo_batch);
                (direction, self.first(now, direction)?)
            }
        };
        self.batch.1 -= 1;
        self.directions[direction].position = self.chains.end(founder);
        self.links.remove(&mut self.directions[direction].fifo, founder);
        Some(self.chains.take(founder, out))
    }

    fn complete(&mut self, _: Time, _: &Request, _: &Part) {}
}
