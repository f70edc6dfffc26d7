//! Budget fair queueing: bytes by weight, a queue at a time, and programs that start go first.
//!
//! Each stream (an agent, a process) has a queue. One queue at a time is served, until its budget
//! of bytes is too small for its next command, its time `timeout_sync` is over, or it has been
//! empty for `slice_idle`. B-WF2Q+ chooses the next queue so that bytes are by weight; a queue that
//! makes the disk slow is charged its time instead. `low_latency` raises the weights of programs
//! that start, and of those that repeatedly request little.
//!
//! Use it for a disk with an arm under a desktop, or under several tenants of different weights.
//!
//! Requests that no caller waits for share a queue for each class of work. The scheduler waits for
//! an empty queue because the next request of a program that reads in sequence comes at once and is
//! near the arm. It does not keep the disk idle for a stream whose mean think time is longer, nor,
//! if all weights are equal, for one whose requests are scattered.
//!
//! Bytes are by weight whatever the budgets are. So a budget may follow the needs of its queue: it
//! doubles if it was too small, and becomes the number of bytes used if the queue ran empty, so
//! that a program that requests little is served soon. The largest budget is the number of bytes
//! that the disk serves in `timeout_sync` at the rate of sequential queues. A queue whose requests
//! are scattered, or that is served at less than half of that rate, is charged the bytes that the
//! disk would have served in its time: charging its own bytes would give it nearly the whole disk.
//!
//! `low_latency` raises weights for a while: by a factor of 30 for a queue that is new or was idle
//! for two seconds, for the time that a large program takes to load; by 3,000 for a queue that
//! repeatedly requests at most 3.5 MB a second, as a media player does. A raised queue interrupts
//! one that is not raised. `strict_guarantees` sends one command at a time and always idles.
//!
//! Real time goes before best effort, and best effort before idle. Weights are those of the
//! classes, at most 1,000 (`weights_capped` counts the classes that have more); a class with an I/O
//! priority and no weight gets its weight from the priority's level. Commands of a queue go upwards
//! from the arm on, unless one a little behind is nearer; a queue's service begins with its oldest
//! command, if that has expired. O(log n) per request.
//!
//! Promise: with `low_latency = false`, queues of one class of I/O priority that always have
//! requests get bytes in proportion to their weights, up to two of the largest budgets per queue;
//! among the queues that are charged by time, the same holds for time. A queue that is idle now and
//! then gets no more than that, and no credit for its idle time. There is no bound on a wait in
//! commands: it depends on budgets and weights, and a class that goes first may always have
//! requests.
//!
//! What it leaves out: groups; merging the queues of programs that read in turn; bursts of new
//! queues, which the kernel does not raise; the small share that the kernel gives to idle so that
//! it does not starve; injecting requests of other queues while the disk is kept idle; the rules
//! for drives with a queue, where the kernel idles less. The kernel's `slice_idle_us` is
//! `slice_idle` in another unit. A stream has the class of the request that finds its queue empty.
//!
//! Source: Checconi and Valente, "High Throughput Disk Scheduling with Fair Bandwidth Distribution"
//! (IEEE Transactions on Computers, 2010) for budgets, B-WF2Q+ and the charge of slow queues;
//! Valente and Andreolini, "Improving Application Responsiveness with the BFQ Disk I/O Scheduler"
//! (2012) for `low_latency`; the kernel's documentation (bfq-iosched) for names and defaults. Rules
//! that these do not state are ours: the growth of budgets, the definition of a slow queue, the
//! duration and the factors of raised weights.

use alloc::boxed::Box;
use alloc::vec::Vec;

use penstock_core::{Counter, Go, Out, Part, Policy, Request, Served, Span, Time};

use crate::entry::{Entry, Facts};
use crate::idling::Idling;
use crate::one_way::{FIFO_EXPIRE_ASYNC, FIFO_EXPIRE_SYNC, OneWay};
use crate::params::Params;
use crate::queue::max_sectors;

mod budgets;
mod params;
mod queue;
mod raising;
mod virtual_time;

use budgets::{Budgets, EndOfService};
use params::PARAMS;
use queue::{BudgetQueue, WEIGHT_MOST, WorkClass};
use raising::Raised;
use virtual_time::FairOrder;

/// The entry of the policy in the registry.
pub const ENTRY: Entry = Entry {
    name: "bfq",
    summary: "budget fair queueing: bytes by weight, idling, and programs that start go first",
    params: PARAMS,
    build: |params, served| Box::new(Bfq::new(params, served)),
    bound: |_, _| None,
    facts: Facts {
        merges: max_sectors,
        heeds_weights: true,
        heeds_ioprio: true,
        linux: Some("since 4.12"),
        ..Facts::NONE
    },
};

/// Queues, their order, and the one in service.
#[derive(Debug)]
pub struct Bfq {
    slice_idle: Span,
    timeout: Span,
    low_latency: bool,
    strict: bool,
    /// `fifo_expire_async` and `fifo_expire_sync`.
    expire: [Span; 2],
    /// Classes of work; the last stands for those that are not listed.
    classes: Vec<WorkClass>,
    lanes: OneWay,
    /// Queues by lane: first those that streams share, one for each class of work, then one for
    /// each stream.
    queues: Vec<BudgetQueue>,
    /// Order of the waiting queues of each class of I/O priority.
    orders: [FairOrder; 3],
    service: Option<Service>,
    /// Whether a queue waits that is raised higher than the one in service.
    interrupts: bool,
    in_flight: u32,
    idling: Idling,
    budgets: Budgets,
    counts: ServiceCounts,
}

#[derive(Debug, Default)]
struct ServiceCounts {
    services: u64,
    exhausted: u64,
    timed_out: u64,
    preempted: u64,
    charged_time: u64,
    charged_bytes: u64,
    interactive: u64,
    soft_real_time: u64,
    weights_capped: u64,
}

/// The queue in service.
#[derive(Clone, Copy, Debug)]
struct Service {
    lane: u32,
    began: Time,
    budget: u64,
    used: u64,
}

impl Bfq {
    /// Takes the parameters of [`ENTRY`].
    pub fn new(params: &Params, served: &Served<'_>) -> Self {
        let timeout = params.duration("timeout_sync");
        let known = served.classes.iter();
        let capped = known.clone().filter(|class| class.weight.get() > WEIGHT_MOST).count() as u64;
        let classes = known.map(|class| WorkClass::new(class.ioprio, class.weight.get()));
        Self {
            slice_idle: params.duration("slice_idle"),
            timeout,
            low_latency: params.switch("low_latency"),
            strict: params.switch("strict_guarantees"),
            expire: [FIFO_EXPIRE_ASYNC, FIFO_EXPIRE_SYNC].map(|param| params.duration(param.name)),
            classes: classes.chain([WorkClass::unlisted()]).collect(),
            lanes: OneWay::new(params),
            queues: Vec::new(),
            orders: Default::default(),
            service: None,
            interrupts: false,
            in_flight: 0,
            idling: Idling::default(),
            budgets: Budgets::new(params.size("max_budget"), timeout),
            counts: ServiceCounts { weights_capped: capped, ..ServiceCounts::default() },
        }
    }

    /// The index of the class of `req` in `classes`.
    fn class(&self, req: &Request) -> usize {
        req.class.index().min(self.classes.len() - 1)
    }

    fn is_shared(&self, lane: u32) -> bool {
        (lane as usize) < self.classes.len()
    }

    fn lane(&self, req: &Request) -> u32 {
        match self.class(req) as u32 {
            _ if req.is_sync() => self.classes.len() as u32 + req.stream.0,
            class => class,
        }
    }

    fn queue(&mut self, lane: u32) -> &mut BudgetQueue {
        if lane as usize >= self.queues.len() {
            self.queues.resize_with(lane as usize + 1, BudgetQueue::new);
        }
        &mut self.queues[lane as usize]
    }

    /// The highest class of I/O priority in which a queue waits.
    fn first_order(&self) -> Option<usize> {
        self.orders.iter().position(|order| !order.is_empty())
    }

    /// An idle queue gets a request.
    fn joins(&mut self, now: Time, lane: u32, class: WorkClass) {
        let raised = self.low_latency && !self.is_shared(lane);
        let (rate, first) = (self.budgets.rate(), self.budgets.first());
        let queue = &mut self.queues[lane as usize];
        queue.class = class;
        queue.is_member = true;
        if raised {
            let scattered = queue.locality.is_scattered();
            match queue.raising.begins(now, scattered, rate) {
                Some(Raised::Interactive) => self.counts.interactive += 1,
                Some(Raised::SoftRealTime) => self.counts.soft_real_time += 1,
                None => {}
            }
        }
        let (weight, budget) = (queue.weight(), queue.budget.unwrap_or(first));
        let order = &mut self.orders[class.order];
        // If its service had not been cut off, the disk would have been kept idle for this request.
        if queue.cut_off.take().is_some_and(|cut_off| now <= cut_off + self.slice_idle) {
            order.rejoin(&mut queue.stamps, weight);
        } else {
            order.join(&mut queue.stamps, weight);
        }
        order.wait(lane, &mut queue.stamps, budget);
        let raised = queue.raising.factor();
        if let Some(service) = self.service {
            let served = &self.queues[service.lane as usize];
            let same = served.class.order == class.order;
            self.interrupts |= same && served.raising.factor() < raised;
            self.idling.others_wait(now);
        }
    }

    /// The next queue comes into service.
    fn begin(&mut self, now: Time) -> Option<Service> {
        let order = self.first_order()?;
        let lane = self.orders[order].serve()?;
        let (first, most) = (self.budgets.first(), self.budgets.most());
        let queue = &mut self.queues[lane as usize];
        let budget = queue.budget.unwrap_or(first).min(most);
        self.interrupts = false;
        self.counts.services += 1;
        Some(Service { lane, began: now, budget, used: 0 })
    }

    /// Returns the reason why `service` ends now, if it does. If its queue is empty, begins to wait
    /// for its next request if that pays.
    fn end_reason(&mut self, now: Time, service: &Service) -> Option<EndOfService> {
        let queue = &self.queues[service.lane as usize];
        let before = self.first_order().is_some_and(|first| first < queue.class.order);
        if before || self.interrupts {
            return Some(EndOfService::Preempted);
        }
        let ends = service.began + self.timeout;
        if now >= ends {
            return Some(EndOfService::TimedOut);
        }
        if !self.lanes.is_empty(service.lane) {
            return None;
        }
        if let Some(until) = self.idling.until() {
            return (now >= until).then_some(EndOfService::Emptied);
        }
        let length = self.slice_idle.min(ends.since(now));
        let waits = self.strict || !self.is_shared(service.lane) && queue.class.order < 2;
        if !waits || length == Span::ZERO {
            return Some(EndOfService::Emptied);
        }
        let symmetric = self.orders[queue.class.order].is_symmetric();
        let pays = queue.think.within(length) && !(symmetric && queue.locality.is_scattered());
        if !self.strict && !pays {
            self.idling.decline();
            return Some(EndOfService::Emptied);
        }
        // Waiting begins when its commands in flight have completed.
        if queue.in_flight == 0 {
            self.idling.begin(now, length, self.first_order().is_some());
        }
        None
    }

    /// Ends `service`: charges the queue, sets its next budget, and lets it wait again if it has
    /// requests.
    fn end(&mut self, now: Time, service: Service, end: EndOfService) {
        let Service { lane, began, budget, used } = service;
        let took = self.idling.until().map_or(now, |until| until.min(now)).since(began);
        self.idling.end(now);
        let shared = self.is_shared(lane);
        let queue = &mut self.queues[lane as usize];
        let scattered = queue.locality.is_scattered();
        if !shared && !scattered && end != EndOfService::Emptied {
            self.budgets.served(used, took);
        }
        let by_time = self.budgets.charge_of_time(took);
        let slow = scattered || self.budgets.is_slow(used, took);
        let charge = if slow { used.max(by_time) } else { used };
        let order = &mut self.orders[queue.class.order];
        order.charge(&mut queue.stamps, charge);
        let next = self.budgets.next(end, budget, used);
        queue.budget = Some(next);
        queue.raising.expire(now);
        queue.is_member = !self.lanes.is_empty(lane);
        if queue.is_member {
            let weight = queue.weight();
            order.reweigh(&mut queue.stamps, weight);
            order.wait(lane, &mut queue.stamps, next);
        } else {
            order.leave(&queue.stamps);
            queue.cut_off = (end != EndOfService::Emptied).then_some(now);
        }
        self.counts.charged_bytes = self.counts.charged_bytes.saturating_add(charge);
        self.counts.charged_time += u64::from(slow && by_time > used);
        match end {
            EndOfService::Exhausted => self.counts.exhausted += 1,
            EndOfService::TimedOut => self.counts.timed_out += 1,
            EndOfService::Preempted => self.counts.preempted += 1,
            EndOfService::Emptied => {}
        }
        self.service = None;
    }
}

impl Policy for Bfq {
    fn enqueue(&mut self, now: Time, req: &Request) {
        let (lane, class, idle) = (self.lane(req), self.class(req), self.slice_idle);
        let queue = self.queue(lane);
        queue.think.arrives(now, idle + idle);
        queue.locality.arrives(req.start, req.end());
        let is_member = queue.is_member;
        if !self.lanes.add(now, lane, req) {
            return;
        }
        if is_member {
            self.idling.arrived(now);
        } else {
            self.joins(now, lane, self.classes[class]);
        }
    }

    fn dispatch(&mut self, now: Time, out: &mut Out<'_>) -> Option<Go> {
        if self.strict && self.in_flight > 0 {
            return None;
        }
        loop {
            if let Some(service) = self.service
                && let Some(end) = self.end_reason(now, &service)
            {
                self.end(now, service, end);
            }
            if self.service.is_none() {
                self.service = self.begin(now);
            }
            let service = self.service?;
            let (lane, sync) = (service.lane, !self.is_shared(service.lane));
            let founder = if service.used == 0 {
                self.lanes.first(now, lane, self.expire[usize::from(sync)])?
            } else {
                self.lanes.next(lane)?
            };
            let used = service.used + self.lanes.len(founder);
            // The first command of a service goes even if it is longer than the budget.
            if service.used > 0 && used > service.budget {
                self.end(now, service, EndOfService::Exhausted);
                continue;
            }
            self.service = Some(Service { used, ..service });
            let go = self.lanes.take(lane, founder, out);
            let sent = 1 + out.chain.len() as u32;
            let queue = &mut self.queues[lane as usize];
            queue.raising.sent(used - service.used);
            queue.in_flight += sent;
            self.in_flight += sent;
            return Some(go);
        }
    }

    fn complete(&mut self, now: Time, req: &Request, part: &Part) {
        if part.last {
            let (lane, idle) = (self.lane(req), self.slice_idle);
            self.in_flight -= 1;
            let queue = self.queue(lane);
            queue.in_flight -= 1;
            queue.think.completes(now);
            if queue.think.is_idle() {
                queue.raising.went_idle(now, idle);
            }
        }
    }

    fn wakeup(&self) -> Time {
        match self.first_order() {
            Some(_) => self.idling.until().unwrap_or(Time::NEVER),
            None => Time::NEVER,
        }
    }

    fn counters(&self, report: &mut dyn FnMut(Counter<'_>, u64)) {
        let counts = &self.counts;
        report(Counter::total("services"), counts.services);
        report(Counter::total("services_exhausted"), counts.exhausted);
        report(Counter::total("services_timed_out"), counts.timed_out);
        report(Counter::total("services_preempted"), counts.preempted);
        report(Counter::total("services_charged_time"), counts.charged_time);
        report(Counter::total("charged_bytes"), counts.charged_bytes);
        report(Counter::total("raised_interactive"), counts.interactive);
        report(Counter::total("raised_soft_real_time"), counts.soft_real_time);
        report(Counter::total("weights_capped"), counts.weights_capped);
        report(Counter::level("max_budget_bytes"), self.budgets.most());
        self.idling.counters(report);
        self.lanes.counters(report);
    }
}
