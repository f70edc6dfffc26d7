//! Shares of disk time by weight, accounted in cycles: FAIRIO.
//!
//! Use it if classes of work share a disk or an array and each must get the part that its weight
//! says, whatever the others request. In a cycle each disk has the cycle's length of device time.
//! Every class gets a share of it: the amount that brings it to its part of the last cycles and
//! this one together. While a class has some of its share left, its requests go in order of arrival
//! among those of such classes. The actual cost of a command is charged when it has completed;
//! until then the running mean of its class is reserved. If no class has a share left and few
//! commands are in flight, further requests fill the disk. Latencies grow with the cycle: a class
//! that has used its share waits for the next one.
//!
//! Neighbours of one class are merged. Requests of one class keep their order. O(log n) per request
//! in the number of classes, O(n log n) per cycle.
//!
//! `mode = "plus"`, the default, ends a cycle when every class that has requests has used its
//! share, and exempts use from the account only if no other class had requests waiting. `mode =
//! "paper"` is a reconstruction of the report: cycles have a fixed length, and all requests sent to
//! fill the disk are exempt. With short cycles it misses the weights as the report says.
//!
//! Promise: the charges of classes that always have requests queued, more than `load` commands, are
//! in proportion to their weights over a window. A class that requests less than its share gets all
//! it requests and no credit for the rest. There is no bound on a wait in commands: it depends on
//! weights and costs. In time, a class whose share of a cycle is enough for a command waits for
//! little more than a cycle.
//!
//! What it leaves out: a closed loop of no more than `load` requests is always completely at the
//! disk, and while it has no request queued the others may fill.
//!
//! Source: Arunagiri, Kwok, Teller, Portillo and Seelam, "FAIRIO: An Algorithm for Differentiated
//! I/O Performance" (technical report UTEP-CS-11-53). The report gives no formulas: division,
//! exemption and the order within a cycle are a reconstruction, chosen because it shows the
//! report's errors.

use alloc::boxed::Box;
use alloc::format;

use penstock_core::{ClassInfo, Counter, Go, Out, Part, Policy, Request, Served, Time};

use crate::charge::{Charge, Commands};
use crate::entry::{Entry, Facts};
use crate::params::Params;
use crate::queue::{Backlog, max_sectors};

mod auto;
mod class;
mod cycle;
mod history;
mod ranking;
mod settings;
mod share;

#[cfg(test)]
mod tests;

use cycle::Cycle;
use ranking::Ranking;
use settings::{Exempt, Settings};

/// The entry of the policy in the registry.
pub const ENTRY: Entry = Entry {
    name: "fairio",
    summary: "shares of disk time by weight, accounted in cycles, with a memory of the last ones",
    params: settings::PARAMS,
    build: |params, served| Box::new(Fairio::new(params, served)),
    bound: |_, _| None,
    facts: Facts {
        merges: max_sectors,
        heeds_weights: true,
        conflict: settings::conflict,
        ..Facts::NONE
    },
};

/// The queues and the accounts of the classes.
#[derive(Debug)]
pub struct Fairio {
    settings: Settings,
    charge: Charge,
    backlog: Backlog,
    commands: Commands<Flight>,
    cycle: Cycle,
    ranking: Ranking,
    /// Whether a command has completed since the last decision.
    completed: bool,
    /// Numbers of requests sent to fill an under-loaded disk, and sent although their class was
    /// held back.
    filled: u64,
    released: u64,
}

/// The account of a command in flight.
#[derive(Clone, Copy, Debug)]
struct Flight {
    class: u32,
    reserved: u64,
    exempt: bool,
}

impl Fairio {
    /// Takes the parameters of [`ENTRY`].
    pub fn new(params: &Params, served: &Served<'_>) -> Self {
        let settings = Settings::new(params, served);
        let mut cycle = Cycle::new(&settings);
        for info in served.classes {
            cycle.add(info, true, &settings);
        }
        let mut ranking = Ranking::new(settings.fill);
        cycle.begin(Time::ZERO, &settings);
        ranking.refresh(&cycle.classes, |_| None);
        Self {
            settings,
            charge: Charge::new(params),
            backlog: Backlog::new(params),
            commands: Commands::default(),
            cycle,
            ranking,
            completed: false,
            filled: 0,
            released: 0,
        }
    }

    /// Ends the cycle if its time is over.
    fn advance(&mut self, now: Time) {
        if self.cycle.end() <= now {
            self.cycle.pass(now, &self.settings);
            self.refresh();
        }
    }

    /// Ends the cycle now.
    fn restart(&mut self, now: Time) {
        self.cycle.close(now, &self.settings);
        self.cycle.begin(now, &self.settings);
        self.refresh();
    }

    fn refresh(&mut self) {
        let Self { ranking, cycle, backlog, .. } = self;
        ranking.refresh(&cycle.classes, |class| backlog.first(class));
    }

    /// Whether every class that has requests has used its share, so that the cycle may end.
    fn all_shares_used(&self, now: Time) -> bool {
        // If nothing is in flight, a request came after all shares were used.
        let may_end = self.completed || self.commands.len() == 0;
        let ends = self.settings.early_end && may_end && now > self.cycle.start();
        ends && self.ranking.waiting() > 0 && self.ranking.open() == 0
    }

    fn send(&mut self, class: u32, exempt: bool, out: &mut Out<'_>) -> Go {
        let taken = self.backlog.take(class, out);
        let entry = &mut self.cycle.classes[class as usize];
        let known = || self.charge.known(taken.op, taken.bytes).or(entry.estimate.ns());
        let reserved = if self.settings.reserve { known().unwrap_or(0) } else { 0 };
        entry.reserved = entry.reserved.saturating_add(reserved);
        entry.in_flight += 1;
        let first = self.backlog.first(class);
        entry.waits = first.is_some();
        self.ranking.update(class, entry, first);
        self.commands.sent(&taken, out.chain, Flight { class, reserved, exempt });
        taken.go
    }
}

impl Policy for Fairio {
    fn enqueue(&mut self, now: Time, req: &Request) {
        self.advance(now);
        let class = req.class.index();
        while self.cycle.classes.len() <= class {
            let info = ClassInfo::new(format!("{}", self.cycle.classes.len()));
            self.cycle.add(&info, false, &self.settings);
        }
        if !self.cycle.classes[class].active {
            // The class is new or was inactive: it has a share from now on.
            self.cycle.close(now, &self.settings);
            self.cycle.classes[class].active = true;
            self.cycle.begin(now, &self.settings);
            self.refresh();
        }
        self.cycle.arrives(class, now);
        if self.backlog.add(req) {
            let first = self.backlog.first(class as u32);
            self.ranking.update(class as u32, &self.cycle.classes[class], first);
        }
    }

    fn dispatch(&mut self, now: Time, out: &mut Out<'_>) -> Option<Go> {
        self.advance(now);
        if self.all_shares_used(now) {
            self.cycle.early += 1;
            self.restart(now);
        }
        self.completed = false;
        let in_flight = self.commands.len();
        if in_flight >= self.settings.cap {
            return None;
        }
        if let Some(class) = self.ranking.eligible() {
            return Some(self.send(class, false, out));
        }
        if self.settings.fill.is_some() && in_flight < self.settings.load {
            let class = self.ranking.to_fill()?;
            let exempt = match self.settings.exempt {
                Exempt::None => false,
                Exempt::Fill => true,
                Exempt::Strict => self.ranking.waiting() == 1,
            };
            self.filled += 1;
            return Some(self.send(class, exempt, out));
        }
        // A threshold must not keep the disk idle: if nothing is in flight, nothing would change.
        if in_flight > 0 {
            return None;
        }
        let class = self.cycle.most_left()?;
        self.released += 1;
        Some(self.send(class, false, out))
    }

    fn complete(&mut self, now: Time, req: &Request, part: &Part) {
        self.advance(now);
        let Some(sent) = self.commands.completed(req, part) else { return };
        let charge = self.charge.amount(&sent);
        let Flight { class, reserved, exempt } = sent.note;
        let entry = &mut self.cycle.classes[class as usize];
        entry.charge(now, charge, reserved, exempt);
        self.ranking.update(class, entry, self.backlog.first(class));
        self.completed = true;
    }

    /// The end of the cycle while a request is queued. Otherwise the next request counts the idle
    /// cycles.
    fn wakeup(&self) -> Time {
        if self.ranking.waiting() > 0 { self.cycle.end() } else { Time::NEVER }
    }

    fn counters(&self, report: &mut dyn FnMut(Counter<'_>, u64)) {
        report(Counter::total("cycles"), self.cycle.ended);
        report(Counter::total("cycles_ended_early"), self.cycle.early);
        report(Counter::level("cycle_ns"), self.cycle.length());
        report(Counter::total("filled"), self.filled);
        report(Counter::total("released"), self.released);
        for class in &self.cycle.classes {
            let charged = class.charged.saturating_add(class.used);
            report(Counter::total("charged_ns").for_class(&class.name), charged);
            report(Counter::level("share_left_ns").for_class(&class.name), class.left());
            if let Some(ns) = class.estimate.ns() {
                report(Counter::level("estimate_ns").for_class(&class.name), ns);
            }
        }
    }
}
