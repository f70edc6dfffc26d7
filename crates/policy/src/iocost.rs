//! Shares by weight of what a cost model says a device can do: the kernel's `IOCost`.
//!
//! A linear model gives the cost of a command: a base by direction and by whether the command
//! continues the last one of its class, and an amount for each byte. The device has a virtual time,
//! and so has each class: a command moves it on by its cost over the class's share. A class may send
//! while it is not ahead of the device. Its distance from the device is its budget, at most half a
//! period's, and the class with the largest budget goes first. O(log n) per request in the number of
//! classes, O(n) per period and when a class becomes active.
//!
//! Shares are those of the weights of the classes that were active in the last period. A class that
//! has nothing queued donates what it did not use of its share, and takes it back as soon as it lacks
//! budget. The pace of the device's virtual time, `vrate`, is adjusted every period, between `min` and
//! `max`. It falls while the device is saturated: more reads than `rpct` allows took longer than
//! `rlat`, or writes than `wlat`, or requests waited for a place in a queue that was full. It rises
//! while the device is not saturated and a class lacks budget.
//!
//! Use it on a fast drive with many classes, where waiting for single commands would cost too much,
//! or to predict the effect of the kernel's `io.weight`. The targets decide when the device counts as
//! saturated, and the defaults suit a hard disk. If the requests of all classes fit into the queue
//! of a fast drive, virtual time rises until all are sent at once, and weights have no effect: set
//! `rlat` and `wlat` near the latency of the loaded drive, or `max=100`.
//!
//! Promise: while the pace keeps the device just below saturation, the costs of classes that always
//! have requests queued are in proportion to their weights. There is no bound on a wait in commands:
//! it depends on weights and costs.
//!
//! What it leaves out: the hierarchy of control groups, since each class is a group below the root;
//! debt, since no class here sends requests that others wait for, which `IOCost` does not hold back but
//! charges later; queues of processors. The last command of a budget may exceed it, which delays the
//! next. A latency counts from the time at which a request had its budget, and does not include
//! the cost of its length. At the end of a period, virtual time goes back by the budget that every
//! class with a backlog has left: the device could not serve it.
//!
//! Source: Heo and others, "`IOCost`: Block IO Control for Containers in Datacenters", ASPLOS '22, and
//! the kernel's documentation of `io.cost.model` and `io.cost.qos`. The order among classes with
//! budget, the way back of virtual time, the steps of the pace and the limits on a full queue are
//! ours.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use penstock_core::{ClassInfo, Counter, Go, Out, Part, Policy, Request, Served, Span, Time};

use crate::charge::Commands;
use crate::entry::{Conflict, Entry, Facts};
use crate::params::{Kind, Param, Params, Value};
use crate::queue::{Backlog, MAX_SECTORS, Taken, Tournament, max_sectors, put};

pub mod model;
mod pace;
mod shares;

use model::{FRACTION, LinearModel, MODEL};
use pace::{Pace, Signal};
use shares::{Shares, WHOLE};

const QOS: &str = "the example in the kernel's documentation of io.cost.qos";

/// The entry of the policy in the registry.
pub const ENTRY: Entry = Entry {
    name: "iocost",
    summary: "shares by weight of what a cost model says, at a pace that latencies allow",
    params: &[
        MODEL,
        percentile("rpct", "hundredths of the reads that must hold `rlat`; 0: none"),
        latency("rlat", 75, "longest latency of a read on a device that is not saturated"),
        percentile("wpct", "hundredths of the writes that must hold `wlat`; 0: none"),
        latency("wlat", 150, "longest latency of a write on a device that is not saturated"),
        bound("min", "slowest pace of virtual time in percent; auto: 50, and 1 if `model` is off"),
        bound("max", "fastest pace in percent; auto: 150, and 10000 if `model` is off"),
        Param {
            name: "period",
            kind: Kind::PositiveDurationOr(&[]),
            default: Value::Duration(Span::from_ms(50)),
            doc: "time between two changes of the pace and of donations",
            source: "ours; the paper has tens to hundreds of milliseconds",
        },
        Param {
            name: "nr_requests",
            kind: Kind::Count(1),
            default: Value::Count(128),
            doc: "commands in flight at most: the places in the queue",
            source: "the kernel's default nr_requests",
        },
        MAX_SECTORS,
    ],
    build: |params, served| Box::new(Iocost::new(params, served)),
    bound: |_, _| None,
    facts: Facts { merges: max_sectors, heeds_weights: true, conflict, ..Facts::NONE },
};

const fn percentile(name: &'static str, doc: &'static str) -> Param {
    Param { name, kind: Kind::CountIn(0, 100), default: Value::Count(95), doc, source: QOS }
}

const fn latency(name: &'static str, ms: u64, doc: &'static str) -> Param {
    let default = Value::Duration(Span::from_ms(ms));
    Param { name, kind: Kind::Duration, default, doc, source: QOS }
}

const fn bound(name: &'static str, doc: &'static str) -> Param {
    let source = "the example in the kernel's documentation of io.cost.qos, and its limits";
    Param { name, kind: Kind::CountOr(1, &["auto"]), default: Value::Word("auto"), doc, source }
}

/// The fastest pace in percent.
const MOST: u32 = 10_000;

/// Checks that the bounds on the pace are in order and not too high.
fn conflict(params: &Params) -> Option<Conflict> {
    let [least, most] = pace::bounds(params);
    if most > MOST {
        let param = if params.count_or("max").is_some() { "max" } else { "min" };
        let message = format!("a pace of {most} % is above the fastest, {MOST} %");
        return Some(Conflict { param, message, hint: "write 10000 or less, as in `150`" });
    }
    let message = || format!("the slowest pace, {least} %, is above the fastest, {most} %");
    let hint = "make min at most as large as max";
    (least > most).then(|| Conflict { param: "min", message: message(), hint })
}

/// A command begins this close to the end of the last one of its class if it is sequential: a drive
/// reads as far ahead.
const NEAR: u64 = 1 << 20;

/// The classes, the order of their next commands, and the device's virtual time.
#[derive(Debug)]
pub struct Iocost {
    model: LinearModel,
    pace: Pace,
    period: Span,
    /// When the period began, in both times.
    begun: (Time, u128),
    queue: u32,
    classes: Vec<Group>,
    shares: Shares,
    backlog: Backlog,
    /// Waiting classes by virtual time; ties go by arrival.
    order: Tournament<(u128, u64)>,
    commands: Commands<Time>,
    /// Arrival times, by slot.
    arrived: Vec<Time>,
    /// Numbers of all periods, of those with a saturated device, and of those in which a class
    /// lacked budget.
    periods: [u64; 3],
    /// Number of shares that their classes took back.
    taken_back: u64,
}

/// The account of a class.
#[derive(Debug)]
struct Group {
    name: String,
    /// Its virtual time.
    at: u128,
    /// Cost of its commands in this period.
    used: u128,
    /// Cost of its commands before this period.
    charged: u128,
    /// End of its last command.
    end: u64,
    /// Whether it had requests queued all the time since the period began.
    backlogged: bool,
}

impl Iocost {
    /// Takes the parameters of [`ENTRY`].
    pub fn new(params: &Params, served: &Served<'_>) -> Self {
        let mut policy = Self {
            model: LinearModel::new(params),
            pace: Pace::new(params),
            period: params.duration("period"),
            begun: (Time::ZERO, 0),
            queue: params.count("nr_requests"),
            classes: Vec::new(),
            shares: Shares::default(),
            backlog: Backlog::new(params),
            order: Tournament::default(),
            commands: Commands::default(),
            arrived: Vec::new(),
            periods: [0; 3],
            taken_back: 0,
        };
        for class in served.classes {
            policy.add(class);
        }
        policy
    }

    fn add(&mut self, class: &ClassInfo) {
        let name = class.name.clone();
        self.classes.push(Group {
            name,
            at: 0,
            used: 0,
            charged: 0,
            end: u64::MAX,
            backlogged: false,
        });
        self.shares.add(class.weight);
    }

    /// The most budget that a class may have.
    fn most_budget(&self) -> u128 {
        self.pace.length(self.period) / 2
    }

    /// Puts `class` in the order by its virtual time; removes it if it has nothing queued. A class
    /// that donates takes its share back if it lacks budget.
    fn line_up(&mut self, now: Time, class: u32) {
        let first = self.backlog.first(class);
        let group = &mut self.classes[class as usize];
        group.backlogged &= first.is_some();
        let at = group.at;
        self.order.set(class, first.map(|number| (at, number)));
        if first.is_some() && at > self.pace.at(now) {
            self.taken_back += u64::from(self.shares.take_back(class));
        }
    }

    /// Ends the period if it is over.
    fn advance(&mut self, now: Time) {
        let (begun, begun_virtual) = self.begun;
        let length = now.since(begun);
        if length < self.period {
            return;
        }
        let passed = self.pace.at(now) - begun_virtual;
        let signal = self.pace.adjust(now, length);
        self.periods[0] += 1;
        self.periods[1] += u64::from(signal == Some(Signal::Saturated));
        self.periods[2] += u64::from(signal == Some(Signal::Short));
        // The budget that all backlogged classes have is what the device could not serve. It would be
        // there when the device is no longer saturated.
        let device = self.pace.at(now);
        let backlogged = self.classes.iter().filter(|group| group.backlogged);
        let ahead = backlogged.map(|group| device.saturating_sub(group.at)).min().unwrap_or(0);
        self.pace.hold_back(ahead);
        self.begun = (now, self.pace.at(now));
        self.end_period(passed, ahead);
    }

    /// Whether a class that waits has budget at `now`.
    fn may_send(&self, now: Time) -> bool {
        let first = self.order.first().and_then(|class| self.order.key(class));
        first.is_some_and(|(at, _)| at < self.pace.at(now))
    }

    /// Limits budgets, and lets classes donate by what they used while `passed` of virtual time went
    /// by, which was then held back by `ahead`.
    fn end_period(&mut self, passed: u128, ahead: u128) {
        let (now, most) = (self.begun.1, self.most_budget());
        for (class, group) in (0..).zip(&mut self.classes) {
            let first = self.backlog.first(class);
            let used = core::mem::take(&mut group.used);
            group.charged += used;
            let kept = if group.backlogged { group.at } else { group.at.saturating_sub(ahead) };
            group.at = kept.max(now.saturating_sub(most));
            group.backlogged = first.is_some();
            self.order.set(class, first.map(|number| (group.at, number)));
            // So much that the class has half of a period's budget at the end of the next one, if it
            // requests as much again.
            let lacking = most - now.saturating_sub(group.at).min(most);
            let needed = (used.min(passed) * WHOLE / passed.max(1)) * 2 * most;
            let needed = needed / (2 * most - lacking).max(1);
            let active = used > 0 || first.is_some();
            self.shares.begin(class, active, first.is_none().then_some(needed));
        }
        self.shares.donate();
    }

    /// Charges a command that `class` sends at `now`, and moves the class's virtual time on. What is
    /// left to a class that donates may be so little that one command would cost it hours, so it takes
    /// its share back before it pays more than its budget.
    fn charge(&mut self, now: Time, class: u32, taken: &Taken) {
        let group = &mut self.classes[class as usize];
        let sequential = taken.start.abs_diff(group.end) <= NEAR;
        let cost = self.model.cost(taken.op, sequential, taken.bytes);
        group.end = taken.start.saturating_add(taken.bytes);
        group.used += u128::from(cost);
        if group.at + self.shares.length(class, cost) > self.pace.at(now) {
            self.taken_back += u64::from(self.shares.take_back(class));
        }
        group.at += self.shares.length(class, cost);
    }
}

impl Policy for Iocost {
    fn enqueue(&mut self, now: Time, req: &Request) {
        self.advance(now);
        while self.classes.len() <= req.class.index() {
            self.add(&ClassInfo::new(format!("{}", self.classes.len())));
        }
        put(&mut self.arrived, req.id.slot(), now);
        let class = req.class.index() as u32;
        if self.shares.activate(class) {
            let least = self.pace.at(now).saturating_sub(self.most_budget());
            let group = &mut self.classes[class as usize];
            group.at = group.at.max(least);
        }
        if self.backlog.add(req) {
            self.line_up(now, class);
        }
    }

    fn dispatch(&mut self, now: Time, out: &mut Out<'_>) -> Option<Go> {
        self.advance(now);
        if self.commands.len() >= self.queue {
            return None;
        }
        let class = self.order.first()?;
        let (at, _) = self.order.key(class)?;
        let device = self.pace.at(now);
        if at > device {
            self.pace.short = true;
            return None;
        }
        let places = out.below.room().saturating_add(self.commands.len()).min(self.queue);
        let taken = self.backlog.take(class, out);
        self.charge(now, class, &taken);
        // It had its budget since then.
        let waited = self.pace.span(device - at).ns().min(now.ns());
        let released = self.arrived[taken.go.id.index()].max(Time::from_ns(now.ns() - waited));
        self.commands.sent(&taken, out.chain, released);
        self.pace.sent(now, self.commands.len(), places);
        self.line_up(now, class);
        Some(taken.go)
    }

    fn complete(&mut self, now: Time, req: &Request, part: &Part) {
        self.advance(now);
        self.pace.made_room(now, self.may_send(now));
        let Some(sent) = self.commands.completed(req, part) else { return };
        let transfer = Span::from_ns(self.model.transfer(req.op, sent.bytes) >> FRACTION);
        let latency = now.since(sent.note).ns().saturating_sub(transfer.ns());
        self.pace.measured(req.op, Span::from_ns(latency));
    }

    /// The time at which the first class has budget, or the end of the period.
    fn wakeup(&self) -> Time {
        if self.commands.len() >= self.queue {
            return Time::NEVER;
        }
        let first = self.order.first().and_then(|class| self.order.key(class));
        first.map_or(Time::NEVER, |(at, _)| self.pace.when(at).min(self.begun.0 + self.period))
    }

    fn counters(&self, report: &mut dyn FnMut(Counter<'_>, u64)) {
        let [periods, saturated, short] = self.periods;
        report(Counter::level("vrate_percent"), self.pace.percent());
        report(Counter::total("periods"), periods);
        report(Counter::total("periods_saturated"), saturated);
        report(Counter::total("periods_short"), short);
        report(Counter::total("taken_back"), self.taken_back);
        for (class, Group { name, used, charged, .. }) in self.classes.iter().enumerate() {
            let ns = u64::try_from((charged + used) >> FRACTION).unwrap_or(u64::MAX);
            report(Counter::total("cost_ns").for_class(name), ns);
            report(Counter::level("share_percent").for_class(name), self.shares.percent(class));
        }
    }
}
