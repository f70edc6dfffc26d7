//! `fcfs` in front of one disk with a service time by length, simulated a second time and
//! independently: requests in order of arrival, into a device that holds a few and serves them
//! batch by batch.
//!
//! It shares no code with the simulator except the reading of the job. It covers deterministic
//! arrivals: traces, fixed rates whose period is a whole number of nanoseconds, closed loops.

use std::collections::{BTreeSet, VecDeque};

use penstock_core::Op;
use penstock_device::{Cost, Law};
use penstock_jobs::devices::{FixedSpec, Model};
use penstock_jobs::{AgentSpec, Edge, Job, Stop};
use penstock_run::result::{ClassResult, Distribution};
use penstock_workload::trace::{Timing, Trace};
use penstock_workload::{Arrivals, Ops, Pace, Think};

use super::figures::close;

/// A request.
#[derive(Clone, Copy)]
struct Issued {
    due: u64,
    class: usize,
    op: Op,
    len: u32,
    /// The agent that issues it.
    agent: usize,
    /// Time at which it was sent to the device.
    sent: u64,
}

/// The figures of a class: response, wait and service of each request in nanoseconds, and the sum
/// of bytes.
#[derive(Default)]
pub(super) struct Got {
    latency: Vec<u64>,
    wait: Vec<u64>,
    service: Vec<u64>,
    bytes: u64,
}

/// Returns the figures of each of the `classes` classes of `job`, with the `trace` that it plays,
/// if the reference covers the job. `class` returns the class of a record.
pub(super) fn fcfs(job: &Job, trace: Option<&Trace>, classes: usize) -> Option<Vec<Got>> {
    let device = job.device.as_ref()?;
    let Model::Fixed(spec) = &device.model else { return None };
    let whole = device.faults.is_none() && device.array.is_none() && job.stop == Stop::Drained;
    let costs = [spec.reads, spec.writes].iter().all(|law| cost(law, 1) > 0);
    let single = job.workload.agents().iter().all(|agent| agent.agents() == 1);
    let one_device = single && job.workload.files().is_empty();
    let known = whole && costs && one_device && job.workload.programs().is_none();
    let arrivals = if known { Plan::of(job, trace)? } else { return None };
    let mut got: Vec<Got> = (0..classes).map(|_| Got::default()).collect();
    simulate(spec, arrivals, |request, service, now| {
        if request.due >= job.warmup.ns() {
            let class = &mut got[request.class];
            class.latency.push(now - request.due);
            class.wait.push(request.sent - request.due);
            class.service.push(service);
            class.bytes += if request.op == Op::Discard { 0 } else { u64::from(request.len) };
        }
    });
    Some(got)
}

/// Serves all requests of `plan`, and calls `done` for each when it is finished.
fn simulate(spec: &FixedSpec, mut plan: Plan, mut done: impl FnMut(&Issued, u64, u64)) {
    let law = |request: &Issued| if request.op == Op::Read { &spec.reads } else { &spec.writes };
    let (mut queue, mut inside) = (VecDeque::new(), VecDeque::<Issued>::new());
    // In service: the end of each, and its time on the server.
    let mut batch = VecDeque::<(u64, u64, Issued)>::new();
    while let Some(now) = [plan.next(), batch.front().map(|one| one.0)].into_iter().flatten().min()
    {
        while let Some((_, service, request)) = batch.pop_front_if(|one| one.0 <= now) {
            done(&request, service, now);
            plan.finished(request.agent, now);
        }
        while let Some(request) = plan.take(now) {
            queue.push_back(request);
        }
        while inside.len() + batch.len() < spec.depth as usize
            && let Some(request) = queue.pop_front()
        {
            inside.push_back(Issued { sent: now, ..request });
        }
        if batch.is_empty() {
            // One latency for all requests of a batch, the longest.
            let latency = inside.iter().map(|request| law(request).latency.ns()).max().unwrap_or(0);
            let (mut ends, mut first) = (now + latency, latency);
            for request in inside.drain(..) {
                let service = cost(law(&request), request.len);
                ends += service;
                batch.push_back((ends, first + service, request));
                first = 0;
            }
        }
    }
}

/// Returns the nanoseconds of the server for `len` bytes.
fn cost(law: &Law, len: u32) -> u64 {
    match law.cost {
        Cost::Linear { base, per_mb } => {
            base.ns() + (u128::from(per_mb.ns()) * u128::from(len) / 1_000_000) as u64
        }
        Cost::Units { unit, unit_bytes } => unit.ns() * u64::from(len.div_ceil(unit_bytes)),
    }
}

/// The agents, and the times of their next requests.
struct Plan {
    agents: Vec<Agent>,
    /// The next requests: time, agent, and the number that keeps ties in order.
    next: BTreeSet<(u64, usize, u64)>,
    issued: u64,
    trace: VecDeque<Issued>,
}

/// An agent: its requests, its end, and the time of its next one.
struct Agent {
    request: Issued,
    end: u64,
    again: Again,
}

#[derive(Clone, Copy)]
enum Again {
    /// Nanoseconds from one request to the next.
    Every(u64),
    /// Nanoseconds from a completion to the next request.
    After(u64),
}

/// Returns operation, size and pace of the requests of `spec`, if the reference covers such an
/// agent.
fn covered(spec: &AgentSpec) -> Option<(Op, u32, Again)> {
    let (Ops::Only(op), Some(size)) = (spec.ops, spec.sizes.single()) else { return None };
    let lies = spec.buffered || matches!(spec.places.region.from, Edge::At(u64::MAX));
    if lies || spec.flush.is_some() || spec.quota.is_some() {
        return None;
    }
    let (start, end) = (spec.start.ns(), spec.stop.ns());
    let again = match &spec.arrivals {
        Arrivals::Open { rate, pace: Pace::Fixed, curve, buffers: None } if curve.is_empty() => {
            let period = 1e9 / rate;
            // The last request may fall on the end by rounding.
            let whole = period.fract() == 0.0 && !(end - start).is_multiple_of(period as u64);
            if !whole {
                return None;
            }
            Again::Every(period as u64)
        }
        Arrivals::Closed { think: Think::Fixed(think), .. } => Again::After(think.ns()),
        _ => return None,
    };
    Some((op, size, again))
}

impl Plan {
    fn of(job: &Job, trace: Option<&Trace>) -> Option<Self> {
        let mut plan =
            Self { agents: Vec::new(), next: BTreeSet::new(), issued: 0, trace: VecDeque::new() };
        if let Some(trace) = trace {
            let spec = job.workload.trace()?;
            let simple = spec.timing == Timing::Original && spec.fit.is_none() && !trace.one_by_one;
            let flushes = trace.records.iter().any(|record| record.op == Op::Flush);
            // The class of a request does not matter to this simulation: one is enough.
            if !simple || flushes || !spec.rules.is_empty() {
                return None;
            }
            plan.trace = trace
                .records
                .iter()
                .map(|record| Issued {
                    due: record.at.ns(),
                    class: job.classes.len(),
                    op: record.op,
                    len: record.len,
                    agent: usize::MAX,
                    sent: 0,
                })
                .collect();
            return Some(plan);
        }
        for (number, spec) in job.workload.agents().iter().enumerate() {
            let (start, end) = (spec.start.ns(), spec.stop.ns());
            let (op, size, again) = covered(spec)?;
            let request = Issued {
                due: start,
                class: spec.class.index(),
                op,
                len: size,
                agent: number,
                sent: 0,
            };
            plan.agents.push(Agent { request, end, again });
            let depth = match spec.arrivals {
                Arrivals::Closed { depth, .. } => depth,
                _ => 1,
            };
            (0..depth).for_each(|_| plan.ask(number, start));
        }
        Some(plan)
    }

    fn ask(&mut self, agent: usize, at: u64) {
        if at < self.agents[agent].end {
            self.next.insert((at, agent, self.issued));
            self.issued += 1;
        }
    }

    /// Returns when the next request is due.
    fn next(&self) -> Option<u64> {
        let traced = self.trace.front().map(|request| request.due);
        traced.or_else(|| self.next.first().map(|&(at, ..)| at))
    }

    /// Takes the request that is due at `now`.
    fn take(&mut self, now: u64) -> Option<Issued> {
        if let Some(request) = self.trace.pop_front_if(|request| request.due <= now) {
            return Some(request);
        }
        let &(due, agent, _) = self.next.first().filter(|&&(at, ..)| at <= now)?;
        self.next.pop_first();
        if let Again::Every(period) = self.agents[agent].again {
            self.ask(agent, due + period);
        }
        Some(Issued { due, ..self.agents[agent].request })
    }

    /// Continues after a request of `agent` has finished.
    fn finished(&mut self, agent: usize, now: u64) {
        if let Some(Agent { again: Again::After(think), .. }) = self.agents.get(agent) {
            self.ask(agent, now + think);
        }
    }
}

impl Got {
    /// Checks that `found` agrees: counts and extremes to the nanosecond, means to a millionth.
    pub(super) fn same(&self, found: &ClassResult) {
        let name = &found.name;
        let counts = (self.latency.len() as u64, self.bytes, 0, 0);
        let figures = (found.requests, found.bytes, found.errors, found.unfinished);
        assert_eq!(figures, counts, "{name}: requests, bytes, errors, unfinished");
        let of = |figure: &str, own: &[u64], found: &Distribution| {
            let extremes = (own.iter().min().copied(), own.iter().max().copied());
            let extremes = (extremes.0.unwrap_or(0), extremes.1.unwrap_or(0));
            assert_eq!((found.min, found.max), extremes, "{figure} of {name}");
            let sum: u128 = own.iter().map(|&ns| u128::from(ns)).sum();
            let mean = if own.is_empty() { 0.0 } else { sum as f64 / own.len() as f64 };
            assert!(close(found.mean, mean, 1e-6), "{figure} of {name}: {} for {mean}", found.mean);
        };
        of("latency", &self.latency, &found.lat_ns);
        of("wait", &self.wait, &found.wait_ns);
        of("service", &self.service, &found.service_ns);
    }
}
