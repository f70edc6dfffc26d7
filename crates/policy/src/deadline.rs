//! Sorted batches, with a date by which every request should have begun.
//!
//! Reads and writes are each kept by position and in order of arrival. Requests go upwards in
//! batches of one direction: reads, unless writes have been passed over `writes_starved` times. A
//! batch begins at the oldest request of its direction if that has expired; otherwise it continues
//! where the direction's last batch ended. If no request lies ahead of that place, it begins at the
//! oldest request too, or at the lowest position (`wrap`).
//!
//! Use it for a disk with an arm that many programs share: sorting saves seeks, and few requests
//! wait much beyond their date. It does not wait for a program's next read, as `anticipatory` does.
//! O(log n) per request.
//!
//! Promise: once a request has expired, at most one running batch, `writes_starved` batches of the
//! other direction and one batch for each older request of its own direction go before it.
//!
//! What it leaves out: requests that a driver gives back, and zoned disks. Discards count as writes
//! and are not merged.
//!
//! Source: the kernel's documentation of the deadline scheduler (deadline-iosched), whose names and
//! defaults these are.

use alloc::boxed::Box;

use penstock_core::{Counter, Go, Op, Out, Part, Policy, Request, Span, Time};

use crate::entry::{Bound, Entry, Facts};
use crate::params::{Kind, Param, Params, Value};
use crate::queue::{Chains, Lanes, MAX_SECTORS, max_sectors};

const KERNEL: &str = "the kernel's deadline-iosched";

pub(crate) const READ_EXPIRE: Param = Param {
    name: "read_expire",
    kind: Kind::Duration,
    default: Value::Duration(Span::from_ms(500)),
    doc: "a read that has waited this long begins the next batch of reads",
    source: KERNEL,
};
pub(crate) const WRITE_EXPIRE: Param = Param {
    name: "write_expire",
    kind: Kind::Duration,
    default: Value::Duration(Span::from_secs(5)),
    doc: "a write that has waited this long begins the next batch of writes",
    source: KERNEL,
};
pub(crate) const WRITES_STARVED: Param = Param {
    name: "writes_starved",
    kind: Kind::Count(0),
    default: Value::Count(2),
    doc: "how many batches of reads may go before waiting writes",
    source: KERNEL,
};
pub(crate) const FIFO_BATCH: Param = Param {
    name: "fifo_batch",
    kind: Kind::Count(1),
    default: Value::Count(16),
    doc: "commands in a batch at most",
    source: KERNEL,
};
pub(crate) const FRONT_MERGES: Param = Param {
    name: "front_merges",
    kind: Kind::Switch,
    default: Value::Switch(true),
    doc: "merge a request also before the one that begins where it ends",
    source: KERNEL,
};
pub(crate) const WRAP: Param = Param {
    name: "wrap",
    kind: Kind::Choice(&["fifo", LOWEST]),
    default: Value::Word("fifo"),
    doc: "where a batch begins when nothing lies ahead: at the oldest request, or at the lowest \
          position",
    source: "the kernel's scheduler, of whose decisions more agree with `fifo`",
};
const LOWEST: &str = "lowest";

/// The entry of the policy in the registry.
pub const ENTRY: Entry = Entry {
    name: "deadline",
    summary: "sorted batches of one direction; reads first, and nothing waits for ever",
    params: &[
        READ_EXPIRE,
        WRITE_EXPIRE,
        WRITES_STARVED,
        FIFO_BATCH,
        FRONT_MERGES,
        WRAP,
        MAX_SECTORS,
    ],
    build: |params, _| Box::new(Deadline::new(params)),
    bound: |params, _| bound(params),
    facts: Facts { merges: max_sectors, linux: Some("2.6 to 4.20"), ..Facts::NONE },
};

/// The lanes of a class in [`Lanes`]: reads, and what counts as writes.
pub(crate) const DIRECTIONS: u32 = 2;
pub(crate) const READ: u32 = 0;
pub(crate) const WRITE: u32 = 1;

/// The direction of a request.
pub(crate) fn direction(req: &Request) -> u32 {
    if req.op == Op::Read { READ } else { WRITE }
}

/// The chains that `max_sectors` and `front_merges` allow.
pub(crate) fn chains(params: &Params) -> Chains {
    Chains::new(max_sectors(params).unwrap_or(0), params.switch("front_merges"))
}

/// The starvation bound of the batches of two lanes.
pub(crate) fn bound(params: &Params) -> Option<Bound> {
    let after = params.duration("read_expire").max(params.duration("write_expire"));
    let batches = params.count("writes_starved").saturating_add(2);
    let overtakes = batches.saturating_mul(params.count("fifo_batch"));
    // With 0, writes always go first, as in the kernel, so there is no bound for reads.
    (params.count("writes_starved") > 0).then_some(Bound { after, overtakes })
}

/// Four queues, and the batches made from them.
#[derive(Clone, Debug)]
pub struct Deadline {
    queues: Lanes,
    batches: Batches,
}

impl Deadline {
    /// Takes the kernel's tunables.
    pub fn new(params: &Params) -> Self {
        let queues = Lanes::new(chains(params), DIRECTIONS);
        Self { queues, batches: Batches::new(params) }
    }
}

impl Policy for Deadline {
    fn enqueue(&mut self, now: Time, req: &Request) {
        self.queues.add(now, direction(req), req);
    }

    fn dispatch(&mut self, now: Time, out: &mut Out<'_>) -> Option<Go> {
        let (lane, founder) = self.batches.next(now, &self.queues, 0)?;
        self.batches.sent();
        Some(self.queues.take(lane, founder, out))
    }

    fn complete(&mut self, _: Time, _: &Request, _: &Part) {}

    fn counters(&self, report: &mut dyn FnMut(Counter<'_>, u64)) {
        self.batches.counters(report);
        self.queues.chains().counters(report);
    }
}

/// Batches over pairs of lanes, of reads and of writes: the rule that chooses the next chain. A pair is
/// named by its lane of reads; all pairs share the running batch.
#[derive(Clone, Debug)]
pub(crate) struct Batches {
    /// `read_expire` and `write_expire`, by direction.
    expire: [Span; 2],
    writes_starved: u32,
    fifo_batch: u32,
    wrap: Wrap,
    /// The direction of the running batch, and the number of commands that it may still send.
    batch: (u32, u32),
    /// Batches of reads since writes began to wait.
    starved: u32,
    counts: Counts,
}

/// The request at which a batch begins when none lies ahead.
#[derive(Clone, Copy, Debug)]
enum Wrap {
    Fifo,
    Lowest,
}

/// Counters of the batches.
#[derive(Clone, Debug, Default)]
struct Counts {
    /// Batches begun, by direction.
    batches: [u64; 2],
    /// Batches that began at an expired request.
    expired: u64,
    /// Batches of reads that went while writes waited.
    passed_over: u64,
}

impl Batches {
    /// Takes the kernel's tunables.
    pub(crate) fn new(params: &Params) -> Self {
        Self {
            expire: ["read_expire", "write_expire"].map(|name| params.duration(name)),
            writes_starved: params.count("writes_starved"),
            fifo_batch: params.count("fifo_batch"),
            wrap: if params.has(WRAP.name, LOWEST) { Wrap::Lowest } else { Wrap::Fifo },
            batch: (READ, 0),
            starved: 0,
            counts: Counts::default(),
        }
    }

    /// The lane and founder of the chain of a pair that goes next. It begins a batch if the running one
    /// cannot continue there, even if the caller then does not send it; see [`sent`](Self::sent).
    pub(crate) fn next(&mut self, now: Time, queues: &Lanes, pair: u32) -> Option<(u32, u32)> {
        let (direction, left) = self.batch;
        // A batch continues while its limit allows and a request lies ahead.
        if left > 0
            && let Some(founder) = queues.ahead(pair + direction)
        {
            return Some((pair + direction, founder));
        }
        let direction = self.choose(queues, pair)?;
        self.batch = (direction, self.fifo_batch);
        let lane = pair + direction;
        Some((lane, self.begin(now, queues, lane, direction as usize)?))
    }

    /// Counts the chain that [`next`](Self::next) returned as a command of the running batch.
    pub(crate) fn sent(&mut self) {
        self.batch.1 -= 1;
    }

    /// The direction of a pair's next batch: reads, unless only writes wait or writes have waited
    /// long enough.
    fn choose(&mut self, queues: &Lanes, pair: u32) -> Option<u32> {
        match (!queues.is_empty(pair + READ), !queues.is_empty(pair + WRITE)) {
            (false, false) => return None,
            (true, true) if self.starved < self.writes_starved => {
                self.starved += 1;
                self.counts.passed_over += 1;
                return Some(READ);
            }
            (true, false) => return Some(READ),
            _ => {}
        }
        self.starved = 0;
        Some(WRITE)
    }

    /// The chain at which a batch begins: the oldest if it has expired, otherwise the next by
    /// position. If none lies ahead, `wrap` decides.
    fn begin(&mut self, now: Time, queues: &Lanes, lane: u32, direction: usize) -> Option<u32> {
        self.counts.batches[direction] += 1;
        let expired = queues.expired(now, lane, self.expire[direction]);
        self.counts.expired += u64::from(expired.is_some());
        expired.or_else(|| queues.ahead(lane)).or_else(|| match self.wrap {
            Wrap::Fifo => queues.oldest(lane),
            Wrap::Lowest => queues.lowest(lane),
        })
    }

    /// Counts a command that another scheduler chose of a pair: the running batch continues if it is
    /// of that direction and not at its end; otherwise a batch begins.
    pub(crate) fn follow(&mut self, queues: &Lanes, pair: u32, direction: u32) {
        if self.batch.0 != direction || self.batch.1 == 0 {
            if direction == WRITE {
                self.starved = 0;
            } else if !queues.is_empty(pair + WRITE) {
                self.starved = self.starved.saturating_add(1);
            }
            self.batch = (direction, self.fifo_batch);
        }
        self.batch.1 -= 1;
    }

    /// Reports the counters of the batches.
    pub(crate) fn counters(&self, report: &mut dyn FnMut(Counter<'_>, u64)) {
        let Counts { batches: [reads, writes], expired, passed_over } = self.counts;
        report(Counter::total("read_batches"), reads);
        report(Counter::total("write_batches"), writes);
        report(Counter::total("expired_heads"), expired);
        report(Counter::total("writes_passed_over"), passed_over);
    }
}
