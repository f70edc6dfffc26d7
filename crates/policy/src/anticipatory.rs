//! The deadline scheduler's queues, with an arm that waits for the next read of the same stream.
//!
//! After a read the arm stays for up to `antic_expire`, until the next read of the same stream
//! comes. It moves on at once if another request is nearer than that read is likely to be, if the
//! stream's think time is longer, or if the oldest read has expired. Reads and writes go in batches
//! that end after a time while the other direction waits. Within a batch the nearest request goes,
//! mostly upwards.
//!
//! Use it on a disk with one arm, under programs that read one block after another. Such a program
//! issues its next read a moment after the last has finished. A scheduler that never waits has
//! moved to another program's place by then, and crosses the disk for every read ("deceptive
//! idleness").
//!
//! While the arm waits, one command at a time is at the disk. The wait ends
//!
//! - when a read of the stream comes, or if one was queued already;
//! - when the next request in the order of positions is nearer than the stream's mean seek;
//! - when the stream's mean think time is longer than the wait can last;
//! - when the oldest read has expired, so that streams that would always wait for their own next
//!   read do not starve the others.
//!
//! A batch begins with its oldest request, when all commands of the other direction have finished;
//! a batch of reads also ends when no read is queued and no wait pays. Within a batch requests go
//! upwards, or back to one less than half as far and within 512 MiB. The oldest request goes first
//! if it has expired, but only once per `read_expire` or `write_expire`: in between the order of
//! positions holds, however many requests have expired. O(log n) per request.
//!
//! Promise: no bound in commands, since batches end by time. While writes wait, a batch of reads
//! ends after `read_batch_expire`; while reads wait, a batch of writes ends after
//! `write_batch_expire`. Each batch serves the oldest request of its direction first, and the
//! oldest one again after each expiry.
//!
//! What it leaves out: the kernel also shortens batches of writes by the time that earlier ones
//! took, and learns from processes that exit whether the first wait for a process pays. A stream
//! here exists for the whole run.
//!
//! Source: S. Iyer, P. Druschel, "Anticipatory scheduling: a disk scheduling framework to overcome
//! deceptive idleness in synchronous I/O", SOSP 2001; N. Piggin's documentation of the kernel's
//! scheduler (as-iosched), whose names and defaults these are.

mod history;

use alloc::boxed::Box;
use alloc::format;

use penstock_core::{Counter, Go, Op, Out, Part, Policy, Request, Span, StreamId, Time};

use self::history::Histories;
use crate::deadline::{DIRECTIONS, READ, WRITE, direction};
use crate::entry::{Conflict, Entry, Facts};
use crate::one_way::nearest;
use crate::params::{Kind, Param, Params, Value};
use crate::queue::{Chains, Lanes, MAX_SECTORS, max_sectors};

const KERNEL: &str = "the kernel's as-iosched";

/// Distance in bytes within which the arm goes at once: within a track it need not move.
const NEAR: u64 = 1 << 20;

/// Largest distance in bytes behind the arm at which a request may go before one ahead.
const BACK: u64 = 512 << 20;

/// A distance backwards counts this many times.
const BACK_PENALTY: u64 = 2;

/// The entry of the policy in the registry.
pub const ENTRY: Entry = Entry {
    name: "anticipatory",
    summary: "deadline's queues; after a read the arm waits for the same stream's next one",
    params: &[
        Param {
            name: "read_expire",
            kind: Kind::Duration,
            default: Value::Duration(Span::from_ms(125)),
            doc: "a read that has waited this long goes next in a batch of reads, and ends a wait",
            source: KERNEL,
        },
        Param {
            name: "write_expire",
            kind: Kind::Duration,
            default: Value::Duration(Span::from_ms(250)),
            doc: "a write that has waited this long goes next in a batch of writes",
            source: KERNEL,
        },
        Param {
            name: "read_batch_expire",
            kind: Kind::Duration,
            default: Value::Duration(Span::from_ms(500)),
            doc: "how long reads go on while writes wait",
            source: KERNEL,
        },
        Param {
            name: "write_batch_expire",
            kind: Kind::Duration,
            default: Value::Duration(Span::from_ms(125)),
            doc: "how long writes go on while reads wait",
            source: KERNEL,
        },
        Param {
            name: "antic_expire",
            kind: Kind::Duration,
            default: Value::Duration(Span::from_ms(6)),
            doc: "how long the arm waits for a stream's next read at most; 0ms: not at all",
            source: KERNEL,
        },
        MAX_SECTORS,
    ],
    build: |params, _| Box::new(Anticipatory::new(params)),
    bound: |_, _| None,
    facts: Facts { merges: max_sectors, linux: Some("2.6.0 to 2.6.32"), conflict, ..Facts::NONE },
};

/// Checks that a wait is not longer than a batch of reads: such a wait would never end by itself.
fn conflict(params: &Params) -> Option<Conflict> {
    let [wait, batch] = ["antic_expire", "read_batch_expire"].map(|name| params.duration(name));
    let message = || {
        format!(
            "antic_expire {wait:?} is above read_batch_expire {batch:?}: no batch would last for a wait"
        )
    };
    let hint = "some milliseconds, longer than programs think between two reads, as in `6ms`";
    (wait > batch).then(|| Conflict { param: "antic_expire", message: message(), hint })
}

/// The queues, the running batch, and the read that the arm may wait for.
#[derive(Debug)]
pub struct Anticipatory {
    queues: Lanes,
    /// `read_expire` and `write_expire`, by direction.
    expire: [Span; 2],
    batch_expire: [Span; 2],
    antic_expire: Span,
    /// Whether the histories of the streams decide if a wait pays.
    statistics: bool,
    batch: Batch,
    /// Time from which the oldest request may go before its turn again, by direction.
    next_check: [Time; 2],
    /// Position at which the last command ended.
    arm: u64,
    /// Requests at the device.
    in_flight: u32,
    histories: Histories,
    /// The read that finished last, if nothing was sent since.
    finished: Option<Finished>,
    /// Time at which a wait of the arm ends.
    wake: Time,
    counts: Waits,
}

#[derive(Debug)]
struct Batch {
    direction: u32,
    /// Time at which it ends if the other direction waits.
    ends: Time,
}

/// The end of a read.
#[derive(Clone, Copy, Debug)]
struct Finished {
    stream: StreamId,
    at: Time,
    /// Time since which the arm waits although a request is queued.
    waits: Option<Time>,
}

/// Counters of batches and waits.
#[derive(Debug, Default)]
struct Waits {
    /// Batches, by direction.
    batches: [u64; 2],
    expired: u64,
    begun: u64,
    /// Waits that ended with the expected read.
    right: u64,
    /// Waits whose time ran out.
    wrong: u64,
    /// Waits cut short by a nearer or an expired request, or by the end of the batch.
    ended: u64,
    /// Waits not begun because of the stream's history.
    given_up: u64,
    held: Span,
}

/// The decision whether the arm waits.
enum Wait {
    Until(Time),
    /// The stream's history makes a wait unlikely to pay.
    NotWorth,
    /// There is no read to wait for, or no time left.
    Over,
}

impl Anticipatory {
    /// Takes the kernel's tunables.
    pub fn new(params: &Params) -> Self {
        let antic_expire = params.duration("antic_expire");
        Self {
            queues: Lanes::new(Chains::new(max_sectors(params).unwrap_or(0), true), DIRECTIONS),
            expire: ["read_expire", "write_expire"].map(|name| params.duration(name)),
            batch_expire: ["read_batch_expire", "write_batch_expire"]
                .map(|name| params.duration(name)),
            antic_expire,
            statistics: true,
            batch: Batch { direction: READ, ends: Time::NEVER },
            next_check: [Time::ZERO; 2],
            arm: 0,
            in_flight: 0,
            histories: Histories::new(antic_expire),
            finished: None,
            wake: Time::NEVER,
            counts: Waits::default(),
        }
    }

    /// Ignores the histories of the streams, to show the effect of the statistics.
    #[must_use]
    pub fn without_statistics(self) -> Self {
        Self { statistics: false, ..self }
    }

    /// The lane and founder of the command that goes now, if any does.
    fn next(&mut self, now: Time) -> Option<(u32, u32)> {
        let Batch { direction, ends } = self.batch;
        let opposite = 1 - direction;
        let [own, others] = [direction, opposite].map(|lane| !self.queues.is_empty(lane));
        if !own && !others || self.reads_one_by_one(direction) && self.in_flight > 0 {
            return None;
        }
        if others && ends <= now {
            return self.change(now, opposite);
        }
        if let Some(oldest) = self.expired(now, direction) {
            return Some((direction, oldest));
        }
        let nearest = self.nearest(direction);
        if self.reads_one_by_one(direction) {
            // If no read is queued the arm would leave for the oldest write.
            let candidate = nearest.or_else(|| self.queues.oldest(WRITE))?;
            if self.waits(now, candidate) {
                return None;
            }
        }
        match nearest {
            Some(founder) => Some((direction, founder)),
            None => self.change(now, opposite),
        }
    }

    fn reads_one_by_one(&self, direction: u32) -> bool {
        direction == READ && self.antic_expire > Span::ZERO
    }

    /// Begins a batch with the oldest request of `lane`, once the other batch has finished.
    fn change(&mut self, now: Time, lane: u32) -> Option<(u32, u32)> {
        if self.in_flight > 0 {
            return None;
        }
        let oldest = self.queues.oldest(lane)?;
        self.batch = Batch { direction: lane, ends: now + self.batch_expire[lane as usize] };
        if lane == READ && self.queues.is_empty(WRITE) {
            self.batch.ends = Time::NEVER;
        }
        self.counts.batches[lane as usize] += 1;
        Some((lane, oldest))
    }

    /// The oldest request of `lane`, if it goes before its turn.
    fn expired(&mut self, now: Time, lane: u32) -> Option<u32> {
        let (expire, next) = (self.expire[lane as usize], self.next_check[lane as usize]);
        let oldest = self.queues.expired(now, lane, expire).filter(|_| next <= now)?;
        self.next_check[lane as usize] = now + expire;
        self.counts.expired += 1;
        Some(oldest)
    }

    /// The next request of `lane` by position; the oldest if none lies near, as in `deadline`.
    fn nearest(&self, lane: u32) -> Option<u32> {
        nearest(self.queues.chains(), lane, self.arm, BACK, BACK_PENALTY)
            .or_else(|| self.queues.oldest(lane))
    }

    fn distance(&self, founder: u32) -> u64 {
        self.queues.chains().start(founder).abs_diff(self.arm)
    }

    /// Decides whether the arm waits instead of going to `candidate`, and counts the decision.
    fn waits(&mut self, now: Time, candidate: u32) -> bool {
        let Some(finished) = self.finished else { return false };
        match self.wait(now, finished, candidate) {
            Wait::Until(until) => {
                if finished.waits.is_none() {
                    self.counts.begun += 1;
                    self.finished = Some(Finished { waits: Some(now), ..finished });
                }
                self.wake = until;
                true
            }
            Wait::NotWorth => {
                self.counts.given_up += u64::from(finished.waits.is_none());
                false
            }
            Wait::Over => false,
        }
    }

    fn wait(&self, now: Time, finished: Finished, candidate: u32) -> Wait {
        let history = self.histories.stream(finished.stream);
        let mut until = finished.at + self.antic_expire;
        if let Some(oldest) = self.queues.oldest(READ) {
            let expires = self.queues.arrived(oldest) + self.expire[READ as usize];
            until = until.min(expires.max(self.next_check[READ as usize]));
        }
        if !self.queues.is_empty(WRITE) {
            until = until.min(self.batch.ends);
        }
        let distance = self.distance(candidate);
        if !history.is_idle() || until <= now || distance <= NEAR {
            return Wait::Over;
        }
        let left = until.since(finished.at);
        let pays = !self.statistics || history.thinks_within(left) && history.seek() < distance;
        if pays { Wait::Until(until) } else { Wait::NotWorth }
    }

    /// The arm goes on: counts the outcome of its wait, if it waited.
    fn go_on(&mut self, now: Time) {
        let Some(Finished { stream, at, waits: Some(began) }) = self.finished.take() else {
            return;
        };
        self.counts.held += now.since(began);
        if !self.histories.stream(stream).is_idle() {
            self.counts.right += 1;
        } else if at + self.antic_expire <= now {
            self.counts.wrong += 1;
        } else {
            self.counts.ended += 1;
        }
    }
}

impl Policy for Anticipatory {
    fn enqueue(&mut self, now: Time, req: &Request) {
        let lane = direction(req);
        if lane == READ {
            self.histories.arrives(now, req);
        } else if self.batch.direction == READ && self.queues.is_empty(WRITE) {
            self.batch.ends = now + self.batch_expire[READ as usize];
        }
        self.queues.add(now, lane, req);
    }

    fn dispatch(&mut self, now: Time, out: &mut Out<'_>) -> Option<Go> {
        self.wake = Time::NEVER;
        let (lane, founder) = self.next(now)?;
        self.go_on(now);
        if self.counts.batches == [0; 2] {
            self.counts.batches[lane as usize] = 1;
        }
        self.arm = self.queues.chains().end(founder);
        let go = self.queues.take(lane, founder, out);
        self.in_flight += 1 + out.chain.len() as u32;
        Some(go)
    }

    fn complete(&mut self, now: Time, req: &Request, part: &Part) {
        if !part.last {
            return;
        }
        self.in_flight -= 1;
        self.finished = None;
        if req.op == Op::Read {
            self.histories.completes(now, req.stream);
            self.finished = Some(Finished { stream: req.stream, at: now, waits: None });
        }
    }

    fn wakeup(&self) -> Time {
        self.wake
    }

    fn counters(&self, report: &mut dyn FnMut(Counter<'_>, u64)) {
        let Waits { batches: [reads, writes], expired, begun, right, wrong, ended, .. } =
            self.counts;
        report(Counter::total("read_batches"), reads);
        report(Counter::total("write_batches"), writes);
        report(Counter::total("expired_heads"), expired);
        report(Counter::total("anticipations"), begun);
        report(Counter::total("anticipations_right"), right);
        report(Counter::total("anticipations_wrong"), wrong);
        report(Counter::total("anticipations_cut_short"), ended);
        report(Counter::total("anticipations_given_up"), self.counts.given_up);
        report(Counter::total("idle_held_ns"), self.counts.held.ns());
        self.queues.chains().counters(report);
    }
}
