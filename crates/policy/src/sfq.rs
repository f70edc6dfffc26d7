//! Start-time fair queueing with several commands in flight, SFQ(D): shares of disk time by weight.
//!
//! Use it as the baseline for schedulers that divide a disk by weights: it is small, and has no
//! cycle and no history. Each class has a queue in order of arrival; neighbours of one class are
//! merged. The first command of a queue has a start tag: the virtual time at which the class's last
//! command ended, but not before the current virtual time, so that an idle class gets no credit.
//! The command with the lowest start tag goes first, and virtual time becomes its tag. The class's
//! next tag is later by the charge of the command divided by the weight. The cost of a command is
//! not known before it has completed, so the charge is the running mean of the class; under `charge
//! = "law"` it is known. O(log n) per request.
//!
//! Promise: classes that always have requests queued are charged in proportion to their weights, up
//! to the cost of `depth` commands. Errors of the running mean are not corrected. There is no bound
//! on a wait: it depends on weights and costs.
//!
//! Source: Jin, Chase and Kaur, "Interposed Proportional Sharing for a Storage Service Utility"
//! (2004); the charge by a running mean of measured time is ours.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use penstock_core::{ClassInfo, Counter, Go, Out, Part, Policy, Request, Served, Time};

use crate::charge::{CHARGE, Charge, Commands, LAW, RunningMean};
use crate::entry::{Entry, Facts};
use crate::params::{Kind, Param, Params, Value};
use crate::queue::{Backlog, MAX_SECTORS, Tournament, max_sectors};

/// The entry of the policy in the registry.
pub const ENTRY: Entry = Entry {
    name: "sfq",
    summary: "start-time fair queueing: shares of disk time by weight, charged by a running mean",
    params: &[
        Param {
            name: "depth",
            kind: Kind::Count(1),
            default: Value::Count(8),
            doc: "commands in flight at most",
            source: "ours: few enough that weights decide, many enough for a disk's own queue",
        },
        CHARGE,
        LAW,
        MAX_SECTORS,
    ],
    build: |params, served| Box::new(Sfq::new(params, served)),
    bound: |_, _| None,
    facts: Facts { merges: max_sectors, heeds_weights: true, ..Facts::NONE },
};

/// Ticks of virtual time in a nanosecond, so that a charge divided by any weight is above zero.
/// 2^64 ns times this is 2^96; only a sum of 2^32 such charges would overflow.
const TICKS: u128 = 1 << 32;

/// The classes, and the order of their next commands.
#[derive(Debug)]
pub struct Sfq {
    depth: u32,
    charge: Charge,
    flows: Vec<Flow>,
    backlog: Backlog,
    /// Waiting classes by start tag; ties go by arrival.
    order: Tournament<(u128, u64)>,
    commands: Commands<u32>,
    /// The start tag of the last command that was sent.
    virtual_time: u128,
}

/// The state of a class.
#[derive(Debug)]
struct Flow {
    name: String,
    weight: u32,
    /// End of its last command in virtual time.
    finish: u128,
    estimate: RunningMean,
}

impl Flow {
    fn new(class: &ClassInfo) -> Self {
        let (name, weight) = (class.name.clone(), class.weight.get());
        Self { name, weight, finish: 0, estimate: RunningMean::default() }
    }
}

impl Sfq {
    /// Takes `depth`, `charge`, `law` and `max_sectors`.
    pub fn new(params: &Params, served: &Served<'_>) -> Self {
        Self {
            depth: params.count("depth"),
            charge: Charge::new(params),
            flows: served.classes.iter().map(Flow::new).collect(),
            backlog: Backlog::new(params),
            order: Tournament::default(),
            commands: Commands::default(),
            virtual_time: 0,
        }
    }

    /// Puts `class` in the order by its first request; removes it if it has none.
    fn line_up(&mut self, class: u32) {
        let start = self.flows[class as usize].finish.max(self.virtual_time);
        self.order.set(class, self.backlog.first(class).map(|number| (start, number)));
    }
}

impl Policy for Sfq {
    fn enqueue(&mut self, _: Time, req: &Request) {
        while self.flows.len() <= req.class.index() {
            let class = ClassInfo::new(format!("{}", self.flows.len()));
            self.flows.push(Flow::new(&class));
        }
        if self.backlog.add(req) {
            self.line_up(req.class.index() as u32);
        }
    }

    fn dispatch(&mut self, _: Time, out: &mut Out<'_>) -> Option<Go> {
        if self.commands.len() >= self.depth {
            return None;
        }
        let class = self.order.first()?;
        let (start, _) = self.order.key(class)?;
        let taken = self.backlog.take(class, out);
        self.virtual_time = start;
        let flow = &mut self.flows[class as usize];
        let cost = self.charge.known(taken.op, taken.bytes).or(flow.estimate.ns());
        let weight = u128::from(flow.weight);
        flow.finish = start + u128::from(cost.unwrap_or(0).max(1)) * TICKS / weight;
        self.commands.sent(&taken, out.chain, class);
        self.line_up(class);
        Some(taken.go)
    }

    fn complete(&mut self, _: Time, req: &Request, part: &Part) {
        if let Some(sent) = self.commands.completed(req, part) {
            self.flows[sent.note as usize].estimate.measured(self.charge.amount(&sent));
        }
    }

    fn counters(&self, report: &mut dyn FnMut(Counter<'_>, u64)) {
        for Flow { name, estimate, .. } in &self.flows {
            if let Some(ns) = estimate.ns() {
                report(Counter::level("estimate_ns").for_class(name), ns);
            }
        }
    }
}
