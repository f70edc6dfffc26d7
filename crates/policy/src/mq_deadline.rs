//! Deadlines within each class of I/O priority, and the classes in strict order.
//!
//! Requests of processes of real-time priority go before all others, best-effort ones before idle
//! ones; levels within a class make no difference. Each class has the four queues and the batches
//! of `deadline`. If the oldest of all requests has waited for `prio_aging_expire` and a higher
//! class has requests, that request goes alone, before the higher class.
//!
//! Use it for a typical Linux machine of today with a disk or a SATA drive, and to see the effect
//! of an I/O priority there. If all processes have one priority it is `deadline`.
//!
//! A request of a higher class interrupts the batch of a lower one, which continues afterwards.
//! Requests of different classes are not merged. O(log n) per request.
//!
//! Promise: once a request has waited for `prio_aging_expire` and for the longer of the two
//! expiries, at most as many commands of younger requests go before it or an older one as under
//! `deadline`, whatever its class.
//!
//! What it leaves out: the tags that `async_depth` keeps for reads (a model has none, so the
//! parameter is shown and has no effect), zoned disks, and requests that a driver gives back.
//!
//! Source: the kernel's documentation of the deadline scheduler (deadline-iosched) and of I/O
//! priorities; the messages of the changes that gave mq-deadline its priorities. These state no
//! order among requests that have waited too long. Here the oldest goes.

use alloc::boxed::Box;
use alloc::format;
use alloc::vec::Vec;

use penstock_core::{
    ClassInfo, Counter, Go, IoClass, IoPrio, Out, Part, Policy, Request, Span, Time,
};

use crate::deadline::{
    self, Batches, DIRECTIONS, FIFO_BATCH, FRONT_MERGES, READ_EXPIRE, WRITE_EXPIRE, WRITES_STARVED,
};
use crate::entry::{Bound, Entry, Facts};
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
            doc: "a request that has waited this long goes before the classes above its own",
            source: KERNEL,
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
    bound: |params, _| {
        let bound = deadline::bound(params)?;
        Some(Bound { after: bound.after.max(params.duration("prio_aging_expire")), ..bound })
    },
    facts: Facts {
        merges: max_sectors,
        heeds_ioprio: true,
        linux: Some("since 4.11"),
        ..Facts::NONE
    },
};

/// Number of classes of I/O priority.
const CLASSES: u32 = 3;

/// Their names in counters.
const NAMES: [&str; CLASSES as usize] = ["rt", "be", "idle"];

/// Two lanes and their batches for each class.
#[derive(Debug)]
pub struct MqDeadline {
    prio_aging_expire: Span,
    /// Class of I/O priority of each class of the job; 0 goes first.
    levels: Vec<u32>,
    queues: Lanes,
    batches: [Batches; CLASSES as usize],
    /// Number of requests that went before a class above theirs.
    aged: u64,
}

impl MqDeadline {
    /// Takes the kernel's tunables and the job's classes.
    pub fn new(params: &Params, classes: &[ClassInfo]) -> Self {
        Self {
            prio_aging_expire: params.duration("prio_aging_expire"),
            levels: classes.iter().map(|class| level(class.ioprio)).collect(),
            queues: Lanes::new(deadline::chains(params), CLASSES * DIRECTIONS),
            batches: [0, 1, 2].map(|level| Batches::new(params, level * DIRECTIONS)),
            aged: 0,
        }
    }

    fn waits(&self, level: u32) -> bool {
        self.batches[level as usize].waits(&self.queues)
    }

    /// The lane and founder of the oldest of all requests, if its class is below `highest` and it
    /// has waited for `prio_aging_expire`.
    fn aged(&self, now: Time, highest: u32) -> Option<(u32, u32)> {
        if (highest + 1..CLASSES).all(|level| !self.waits(level)) {
            return None;
        }
        let lanes = highest * DIRECTIONS..CLASSES * DIRECTIONS;
        let oldest = lanes.filter_map(|lane| Some((lane, self.queues.oldest(lane)?)));
        let (lane, founder) =
            oldest.min_by_key(|&(_, founder)| self.queues.chains().arrival(founder))?;
        let waited = self.queues.arrived(founder) + self.prio_aging_expire <= now;
        (waited && lane / DIRECTIONS > highest).then_some((lane, founder))
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
        let known = self.levels.get(req.class.index()).copied();
        let level = known.unwrap_or(level(IoPrio::DEFAULT));
        self.queues.add(now, level * DIRECTIONS + deadline::direction(req), req);
    }

    fn dispatch(&mut self, now: Time, out: &mut Out<'_>) -> Option<Go> {
        let highest = (0..CLASSES).find(|&level| self.waits(level))?;
        let (lane, founder) = if let Some(aged) = self.aged(now, highest) {
            self.aged += 1;
            aged
        } else {
            self.batches[highest as usize].next(now, &self.queues)?
        };
        Some(self.queues.take(lane, founder, out))
    }

    fn complete(&mut self, _: Time, _: &Request, _: &Part) {}

    fn counters(&self, report: &mut dyn FnMut(Counter<'_>, u64)) {
        for (name, batches) in NAMES.iter().zip(&self.batches) {
            batches.counters(&mut |counter, n| {
                report(Counter { name: &format!("{name}.{}", counter.name), ..counter }, n);
            });
        }
        report(Counter::total("aged"), self.aged);
        self.queues.chains().counters(report);
    }
}
