//! A reservation, a limit and a weight for each class, in requests a second: mClock.
//!
//! Each class has three tags, and each of its requests moves them on: the reservation tag by the time
//! between two requests at the reserved rate, the limit tag by that at the limit, the share tag by the
//! inverse of the weight. Among requests whose reservation tag is due, the one with the earliest tag
//! goes first: the phase of reservations. If no such tag is due, the class with the least share tag
//! goes among those whose limit tag is due: the phase of weights. A request sent in that phase does
//! not move the reservation tag, so it does not use up the reservation. A class that was idle begins
//! anew, with reservation and limit tags of the present and the share tag of the class that was last
//! served by weight: it has neither credit nor debt. The tags of a request are set when it becomes
//! the first of its class. O(log n) per request in the number of classes.
//!
//! Use it if some classes must have a rate whatever the others request, and others must not exceed
//! one: tenants with a service level. Rates are of requests, so a long request counts as several,
//! `1 + length / unit`, rounded down, and neighbours are not merged.
//!
//! Promise: a class that always has requests queued gets its reservation as long as the device can
//! serve all reservations. Since it last began anew, a class has got at most one request more than
//! its limit allows; it makes up for requests that the device was too busy to send in time. The rest
//! is divided in proportion to the weights, and requests sent by reservation count against a class's
//! part of the whole. There is no bound on a wait in commands: it depends on rates and weights.
//!
//! What it leaves out: dmClock, which lets tags advance by the requests that a class got on other
//! disks, since the policy of a disk does not know of others; an array is one disk. Share tags are
//! kept in virtual time instead of being moved to the present whenever a class becomes active.
//!
//! Source: Gulati, Merchant and Varman, "mClock: Handling Throughput Variability for Hypervisor IO
//! Scheduling", OSDI '10.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use penstock_core::{
    ClassInfo, Counter, Go, Out, Part, Policy, ReqId, Request, Served, Span, Time,
};

use crate::entry::{Conflict, Entry, Facts};
use crate::params::{Kind, Param, Params, Value};
use crate::per_class::PerClass;
use crate::queue::Tournament;

/// The entry of the policy in the registry.
pub const ENTRY: Entry = Entry {
    name: "mclock",
    summary: "a reservation, a limit and a weight for each class, in requests a second",
    params: &[
        Param {
            name: "reservation",
            kind: Kind::PerClass(&Kind::Count(0)),
            default: Value::Count(0),
            doc: "requests a second that a class gets before all others; 0: none",
            source: "ours: the paper has no default",
        },
        Param {
            name: "limit",
            kind: Kind::PerClass(&Kind::Count(0)),
            default: Value::Count(0),
            doc: "requests a second that a class gets at most; 0: no limit",
            source: "ours: the paper has no default",
        },
        Param {
            name: "unit",
            kind: Kind::SizeOr(&["off"]),
            default: Value::Size(300_000),
            doc: "length that costs as much as a further request; off: length costs nothing",
            source: "the paper: a disk of 60 MB/s that reaches a place in 5 ms",
        },
        Param {
            name: "depth",
            kind: Kind::Count(1),
            default: Value::Count(32),
            doc: "commands in flight at most: what is at the device is no longer ordered by tags",
            source: "ours: a usual depth of a hypervisor's queue; a fast drive needs more",
        },
    ],
    build: |params, served| Box::new(Mclock::new(params, served)),
    bound: |_, _| None,
    facts: Facts { heeds_weights: true, conflict, ..Facts::NONE },
};

/// Checks that no class has a reservation above its limit.
fn conflict(params: &Params) -> Option<Conflict> {
    let [reservation, limit] = ["reservation", "limit"].map(|name| PerClass::new(params, name));
    let classes = 0..reservation.len().max(limit.len());
    let (reserved, most) = classes
        .map(|class| (reservation.of(class), limit.of(class)))
        .find(|&(reserved, most)| most > 0 && reserved > most)?;
    let message = format!("a reservation of {reserved} is above the limit of its class, {most}");
    let hint = "raise the limit, or write 0 for none";
    Some(Conflict { param: "reservation", message, hint })
}

/// Ticks in a nanosecond. 2^64 ns are 2^96 ticks, and a request moves a tag by less.
const TICKS: u128 = 1 << 32;

/// Distance of share tags at a weight of 1. Only a sum of 2^47 of the longest requests would
/// overflow.
const SHARE: u128 = 1 << 48;

const SECOND: u128 = 1_000_000_000 * TICKS;

/// The classes, and the orders of their first requests. Ties go by arrival.
#[derive(Debug)]
pub struct Mclock {
    reservation: PerClass,
    limit: PerClass,
    /// The length that costs as much as a request.
    unit: Option<u64>,
    depth: u32,
    classes: Vec<Tagged>,
    /// Waiting classes with a reservation, by reservation tag.
    reserved: Tournament<(u128, u64)>,
    /// Waiting classes by limit tag, until it is due.
    limited: Tournament<(u128, u64)>,
    /// Waiting classes whose limit tag is due, by share tag.
    shared: Tournament<(u128, u64)>,
    /// The share tag that was served last by weight.
    virtual_time: u128,
    in_flight: u32,
    arrivals: u64,
}

/// A class, and the tags of its next request, before its arrival is counted.
#[derive(Debug)]
struct Tagged {
    name: String,
    weight: u32,
    reservation: u64,
    limit: u64,
    reservation_tag: u128,
    limit_tag: u128,
    share_tag: u128,
    queue: VecDeque<Unsent>,
    /// Numbers of requests sent by reservation and by weight.
    sent: [u64; 2],
}

/// A queued request.
#[derive(Clone, Copy, Debug)]
struct Unsent {
    id: ReqId,
    bytes: u64,
    /// Its arrival in ticks.
    arrived: u128,
    number: u64,
}

/// The rule by which a request goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    Reservation,
    Weight,
}

impl Mclock {
    /// Takes `reservation`, `limit`, `unit` and `depth`.
    pub fn new(params: &Params, served: &Served<'_>) -> Self {
        let mut policy = Self {
            reservation: PerClass::new(params, "reservation"),
            limit: PerClass::new(params, "limit"),
            unit: params.size("unit"),
            depth: params.count("depth"),
            classes: Vec::new(),
            reserved: Tournament::default(),
            limited: Tournament::default(),
            shared: Tournament::default(),
            virtual_time: 0,
            in_flight: 0,
            arrivals: 0,
        };
        for class in served.classes {
            policy.add(class);
        }
        policy
    }

    fn add(&mut self, info: &ClassInfo) {
        let class = self.classes.len();
        self.classes.push(Tagged {
            name: info.name.clone(),
            weight: info.weight.get(),
            reservation: self.reservation.of(class),
            limit: self.limit.of(class),
            reservation_tag: 0,
            limit_tag: 0,
            share_tag: 0,
            queue: VecDeque::new(),
            sent: [0; 2],
        });
    }

    /// Puts `class` in the orders by its first request; removes it if it has none.
    fn line_up(&mut self, class: u32) {
        let tagged = &self.classes[class as usize];
        let first = tagged.queue.front();
        let by_reservation = first.filter(|_| tagged.reservation > 0);
        let key = |tag: u128, first: &Unsent| (tag.max(first.arrived), first.number);
        self.reserved.set(class, by_reservation.map(|first| key(tagged.reservation_tag, first)));
        self.limited.set(class, first.map(|first| key(tagged.limit_tag, first)));
        self.shared.set(class, None);
    }

    /// Moves the classes whose limit tag is due by `now` to those that wait for their share.
    fn release(&mut self, now: u128) {
        while let Some(class) = due(&self.limited, now) {
            let (_, number) = self.limited.key(class).expect("it is the first");
            self.limited.set(class, None);
            self.shared.set(class, Some((self.classes[class as usize].share_tag, number)));
        }
    }

    /// Takes out the first request of `class`, and moves the tags of the class on.
    fn take(&mut self, class: u32, phase: Phase) -> Go {
        let unit = self.unit;
        let tagged = &mut self.classes[class as usize];
        let first = tagged.queue.pop_front().expect("a request of the class waits");
        if phase == Phase::Weight {
            self.virtual_time = tagged.share_tag;
        }
        tagged.send(first, unit, phase);
        self.in_flight += 1;
        self.line_up(class);
        Go::all(first.id)
    }
}

impl Tagged {
    fn send(&mut self, first: Unsent, unit: Option<u64>, phase: Phase) {
        let count = 1 + u128::from(unit.map_or(0, |unit| first.bytes / unit));
        let part = |whole: u128, rate: u64| whole * count / u128::from(rate);
        self.share_tag += part(SHARE, self.weight.into());
        if self.limit > 0 {
            self.limit_tag = self.limit_tag.max(first.arrived) + part(SECOND, self.limit);
        }
        if phase == Phase::Reservation {
            let tag = self.reservation_tag.max(first.arrived);
            self.reservation_tag = tag + part(SECOND, self.reservation);
        }
        self.sent[phase as usize] += 1;
    }
}

/// The first class of `order`, if its tag is due by `now`.
fn due(order: &Tournament<(u128, u64)>, now: u128) -> Option<u32> {
    order.first().filter(|&class| order.key(class).is_some_and(|(tag, _)| tag <= now))
}

fn ticks(time: Time) -> u128 {
    u128::from(time.ns()) * TICKS
}

impl Policy for Mclock {
    fn enqueue(&mut self, now: Time, req: &Request) {
        while self.classes.len() <= req.class.index() {
            self.add(&ClassInfo::new(format!("{}", self.classes.len())));
        }
        let (arrived, number) = (ticks(now), self.arrivals);
        self.arrivals += 1;
        let tagged = &mut self.classes[req.class.index()];
        tagged.queue.push_back(Unsent { id: req.id, bytes: req.moved(), arrived, number });
        if tagged.queue.len() == 1 {
            tagged.share_tag = tagged.share_tag.max(self.virtual_time);
            self.line_up(req.class.index() as u32);
        }
    }

    fn dispatch(&mut self, now: Time, _: &mut Out<'_>) -> Option<Go> {
        if self.in_flight >= self.depth {
            return None;
        }
        let now = ticks(now);
        self.release(now);
        if let Some(class) = due(&self.reserved, now) {
            return Some(self.take(class, Phase::Reservation));
        }
        Some(self.take(self.shared.first()?, Phase::Weight))
    }

    fn complete(&mut self, _: Time, _: &Request, part: &Part) {
        self.in_flight -= u32::from(part.last);
    }

    /// The earliest tag while a command may go. Otherwise a completion comes first.
    fn wakeup(&self) -> Time {
        if self.in_flight >= self.depth {
            return Time::NEVER;
        }
        let orders = [&self.reserved, &self.limited];
        let tags = orders.into_iter().filter_map(|order| Some(order.key(order.first()?)?.0));
        // Rounded up: a tag is not due before.
        let time = |tag: u128| u64::try_from(tag.div_ceil(TICKS)).map(Span::from_ns);
        let earliest = tags.min().and_then(|tag| time(tag).ok());
        earliest.map_or(Time::NEVER, |span| Time::ZERO + span)
    }

    fn counters(&self, report: &mut dyn FnMut(Counter<'_>, u64)) {
        for Tagged { name, sent: [by_reservation, by_weight], .. } in &self.classes {
            report(Counter::total("by_reservation").for_class(name), *by_reservation);
            report(Counter::total("by_weight").for_class(name), *by_weight);
        }
    }
}
