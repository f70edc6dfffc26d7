//! Deadlines within each class of I/O priority, and the classes in strict order.
//!
//! Requests of processes of real-time priority go before all others, best-effort ones before idle
//! ones; levels within a class make no difference. Each class has the queues of `deadline`, and all
//! share its batches. No request of a class goes while one of a higher class is queued or in flight:
//! the disk rather takes fewer commands than it could. A class goes all the same, one command at a
//! time, if the request that it would send next has waited for `prio_aging_expire`.
//!
//! Use it for a typical Linux machine of today with a disk or a SATA drive, and to see the effect
//! of an I/O priority there. If all processes have one priority it is `deadline`. If not, priorities
//! cost throughput: under a higher class that always has a request in flight a lower one waits for
//! its ageing, and under one that pauses the disk stays idle for some milliseconds before the pause
//! is used.
//!
//! A lower class that is held back goes on when a request arrives, whatever its class, and otherwise
//! `prio_recheck` after the last try: the completion of the higher class alone does not wake it.
//! `prio_recheck=0s` lets it go as soon as the higher class has nothing in flight.
//!
//! While several classes have requests, each look first asks the classes below real-time, best-effort
//! first, what they would send next, and sends it if it is old enough. To ask may begin a batch of
//! that class, even if nothing is sent: then its batch continues at the next position, without regard
//! to the age of its oldest request. Requests of different classes are not merged. O(log n) per
//! request.
//!
//! Promise: with one class that of `deadline`. With several there is none: an old request of a lower
//! class waits until the order by position comes to it, or its class to the beginning of a batch.
//!
//! What it leaves out: the tags that `async_depth` keeps for reads (a model has none, so the
//! parameter is shown and has no effect), zoned disks, and requests that a driver gives back.
//!
//! Source: the kernel's documentation of the deadline scheduler (deadline-iosched) and of I/O
//! priorities; the messages of the changes that gave mq-deadline its priorities. What these leave
//! open was measured over loop devices of Linux 6.18, decision by decision: what holds a lower class
//! back (of 215,000 commands none was sent while one of a higher class was queued or in flight; with
//! no arrival in between, the next look at the lower class came 4 to 8 ms after the last one, half of
//! them within 6 ms), what a batch is among several classes, and which request of a class its ageing
//! lets go. With these rules 99.7 % and more of the kernel's decisions are made alike.

use alloc::boxed::Box;
use alloc::vec::Vec;

use penstock_core::{
    ClassInfo, Counter, Follower, Go, IoClass, IoPrio, Out, Part, Policy, Request, Span, Time,
};

use crate::deadline::{
    self, Batches, DIRECTIONS, FIFO_BATCH, FRONT_MERGES, READ_EXPIRE, WRITE_EXPIRE, WRITES_STARVED,
};
use crate::entry::{Entry, Facts};
use crate::params::{Kind, Param, Params, Value};
use crate::queue::{Lanes, MAX_SECTORS, max_sectors};

const KERNEL: &str = "the kernel's mq-deadline";

/// The entry of the policy in the registry.
pub const ENTRY: Entry = Entry {
    name: "mq-deadline",
    summary: "deadline in each class of I/O priority: real-time, then best-effort, then idle",
    params: &[
        READ_EXPIRE,
        WRITE_EXPIRE,
        WRITES_STARVED,
        FIFO_BATCH,
        FRONT_MERGES,
        Param {
            name: "prio_aging_expire",
            kind: Kind::Duration,
            default: Value::Duration(Span::from_secs(10)),
            doc: "a class goes before those above it if the request that it would send next has waited \
                  this long",
            source: KERNEL,
        },
        Param {
            name: "prio_recheck",
            kind: Kind::Duration,
            default: Value::Duration(PRIO_RECHECK),
            doc: "a lower class that is held back is looked at again after this time",
            source: "ours: measured, not a tunable of the kernel",
        },
        Param {
            name: "async_depth",
            kind: Kind::Count(0),
            default: Value::Count(0),
            doc: "tags that writes may take, 0: three quarters; a model has no tags, so no effect",
            source: KERNEL,
        },
        MAX_SECTORS,
    ],
    build: |params, served| Box::new(MqDeadline::new(params, served.classes)),
    // The classes are not known here, and with several there is none.
    bound: |_, _| None,
    facts: Facts {
        merges: max_sectors,
        heeds_ioprio: true,
        linux: Some("since 4.11"),
        follower: Some(|params, served| Box::new(MqDeadline::new(params, served.classes))),
        ..Facts::NONE
    },
};

/// The middle of what was measured: 4 to 8 ms, one or two ticks of a kernel with 250 of them a second.
const PRIO_RECHECK: Span = Span::from_ms(6);

/// Number of classes of I/O priority.
const CLASSES: u32 = 3;

/// Two lanes and their batches for each class.
#[derive(Clone, Debug)]
pub struct MqDeadline {
    prio_aging_expire: Span,
    prio_recheck: Span,
    /// Class of I/O priority of each class of the job; 0 goes first.
    levels: Vec<u32>,
    queues: Lanes,
    batches: Batches,
    /// Requests in flight of each class of I/O priority.
    in_flight: [u32; CLASSES as usize],
    /// When a class that is held back is looked at again, if no request arrives before.
    held_until: Option<Time>,
    /// Number of requests that went before a class above theirs.
    aged: u64,
    /// Number of times that a class was held back.
    held: u64,
}

impl MqDeadline {
    /// Takes the kernel's tunables and the job's classes.
    pub fn new(params: &Params, classes: &[ClassInfo]) -> Self {
        Self {
            prio_aging_expire: params.duration("prio_aging_expire"),
            prio_recheck: params.duration("prio_recheck"),
            levels: classes.iter().map(|class| level(class.ioprio)).collect(),
            queues: Lanes::new(deadline::chains(params), CLASSES * DIRECTIONS),
            batches: Batches::new(params),
            in_flight: [0; CLASSES as usize],
            held_until: None,
            aged: 0,
            held: 0,
        }
    }

    fn level_of(&self, req: &Request) -> u32 {
        let known = self.levels.get(req.class.index()).copied();
        known.unwrap_or(level(IoPrio::DEFAULT))
    }

    /// Whether a class above `highest`, the highest one that waits, holds it back at `now`.
    fn holds(&mut self, now: Time, highest: u32) -> bool {
        let busy = self.in_flight[..highest as usize].iter().any(|&requests| requests > 0);
        self.held += u64::from(busy && self.held_until.is_none());
        self.held_until = busy.then(|| now + self.prio_recheck);
        busy
    }

    fn waits(&self, level: u32) -> bool {
        let lanes = level * DIRECTIONS..(level + 1) * DIRECTIONS;
        lanes.into_iter().any(|lane| !self.queues.is_empty(lane))
    }

    /// The lane and founder of the chain that a class below real-time would send next, if it has
    /// waited for `prio_aging_expire`. Classes are asked only while several have requests.
    fn aged(&mut self, now: Time) -> Option<(u32, u32)> {
        let has_requests = |&level: &u32| self.waits(level) || self.in_flight[level as usize] > 0;
        if (0..CLASSES).filter(has_requests).count() < 2 {
            return None;
        }
        (1..CLASSES).find_map(|level| {
            let (lane, founder) = self.batches.next(now, &self.queues, level * DIRECTIONS)?;
            let old = self.queues.arrived(founder) + self.prio_aging_expire <= now;
            old.then_some((lane, founder))
        })
    }
}

/// Returns the place of a class of I/O priority in the order of service; 0 goes first.
const fn level(ioprio: IoPrio) -> u32 {
    match ioprio.class() {
        IoClass::RealTime => 0,
        IoClass::BestEffort => 1,
        IoClass::Idle => 2,
    }
}

impl Policy for MqDeadline {
    fn enqueue(&mut self, now: Time, req: &Request) {
        let level = self.level_of(req);
        self.held_until = None;
        self.queues.add(now, level * DIRECTIONS + deadline::direction(req), req);
    }

    fn dispatch(&mut self, now: Time, out: &mut Out<'_>) -> Option<Go> {
        if self.held_until.is_some_and(|until| now < until) {
            return None;
        }
        let highest = (0..CLASSES).find(|&level| self.waits(level))?;
        let (lane, founder) = if let Some(aged) = self.aged(now) {
            self.aged += 1;
            // It may leave nothing to look at again.
            self.held_until = None;
            aged
        } else if self.holds(now, highest) {
            return None;
        } else {
            self.batches.next(now, &self.queues, highest * DIRECTIONS)?
        };
        self.batches.sent();
        let go = self.queues.take(lane, founder, out);
        self.in_flight[(lane / DIRECTIONS) as usize] += 1 + out.chain.len() as u32;
        Some(go)
    }

    fn complete(&mut self, _: Time, req: &Request, _: &Part) {
        self.in_flight[self.level_of(req) as usize] -= 1;
    }

    fn wakeup(&self) -> Time {
        // Without this time every completion is a new try.
        let later = self.held_until.filter(|_| self.prio_recheck > Span::ZERO);
        later.unwrap_or(Time::NEVER)
    }

    fn counters(&self, report: &mut dyn FnMut(Counter<'_>, u64)) {
        self.batches.counters(report);
        report(Counter::total("aged"), self.aged);
        report(Counter::total("held"), self.held);
        self.queues.chains().counters(report);
    }
}

impl Follower for MqDeadline {
    fn copy(&self) -> Box<dyn Follower> {
        Box::new(self.clone())
    }

    fn follow(&mut self, _: Time, req: &Request) {
        let level = self.level_of(req);
        let (pair, direction) = (level * DIRECTIONS, deadline::direction(req));
        self.held_until = None;
        self.batches.follow(&self.queues, pair, direction);
        self.queues.follow(pair + direction, req.id.slot());
        self.in_flight[level as usize] += 1;
    }
}
