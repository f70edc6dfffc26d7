//! The cost of commands on a model that serves many at once, as a base and a part for each byte,
//! from the rates of random requests that have the device to themselves. A policy that charges by a
//! law uses these costs where a job states none.
//!
//! On such a device the cost is a law of two lengths at one depth, and no more: at a low depth a
//! command costs its latency, at a high one the time of the part that is busiest, which for long
//! commands is the link and for short ones the dies or the controller. So a job's shortest and longest
//! requests are probed, as many at once as a class of it can have at the device.
//!
//! A policy with a cost model of its own gets the rates of the device instead, which depend on nothing
//! but the device: of short and long requests, in order and at random, at a deep queue.

use penstock_core::{
    ClassId, Device, Done, Flags, Io, Limits, Observer, Op, Policy, Prio, Queued, Request, Rng,
    RunError, Seed, Served, Source, Span, StreamId, Time, Virtual, run,
};
use penstock_jobs::devices::{self, DeviceSpec};
use penstock_jobs::{AgentSpec, Job};
use penstock_live::Speed;
use penstock_policy::charge::{self, LawCost};
use penstock_policy::iocost::model::{self, Rates};
use penstock_policy::{Params, fcfs};
use rand::RngExt;

use crate::ask::candidate::Chosen;
use crate::failure::Failure;
use crate::place::Place;

/// Lengths of the random requests in bytes, unless a job has others.
const LENGTHS: [u32; 2] = [4 << 10, 64 << 10];
/// Number of outstanding requests, unless a job says it.
const DEPTH: u32 = 32;
/// Most outstanding requests: no model takes more at once.
const DEPTH_MOST: u32 = 1024;
/// Number of requests of each length. Only the second half counts: write buffers fill before.
const REQUESTS: u32 = 20_000;
const MEGABYTE: u64 = 1_000_000;

/// Lengths of the short and the long requests whose rates a cost model has.
const MODEL_LENGTHS: [u32; 2] = [4 << 10, 1 << 20];
/// Numbers of outstanding short and long requests, with which every model is busy all the time.
const MODEL_DEPTHS: [u32; 2] = [256, 16];
/// Number of long requests.
const LONG_REQUESTS: u32 = 2_000;
const SECOND: u64 = 1_000_000_000;

/// The requests by which a device is probed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Probe {
    /// Two lengths in bytes, the shorter one first.
    lengths: [u32; 2],
    /// Number of outstanding requests.
    depth: u32,
}

impl Probe {
    /// The usual requests.
    const USUAL: Self = Self { lengths: LENGTHS, depth: DEPTH };

    /// Returns the shortest and the longest requests of the agents of `job`, as many at once as a
    /// class of closed loops keeps at the device.
    fn of(job: &Job) -> Self {
        let agents = job.workload.agents();
        let lengths = || agents.iter().flat_map(|agent| agent.sizes.possible());
        let lengths = match lengths().min().zip(lengths().max()) {
            None => LENGTHS,
            Some((short, long)) if short < long => [short, long],
            Some((single, _)) if single < LENGTHS[1] => [single, LENGTHS[1]],
            Some((single, _)) => [LENGTHS[0], single],
        };
        let loops = |class: usize| {
            let agents = agents.iter().filter(|agent| agent.class.index() == class);
            agents.map(AgentSpec::depth).sum::<u64>()
        };
        let loops = (0..job.classes.len()).map(loops).max().filter(|&depth| depth > 0);
        let depth = loops.unwrap_or(DEPTH.into()).min(DEPTH_MOST.into()) as u32;
        Self { lengths, depth: depth.min(job.live.depth.unwrap_or(u32::MAX)) }
    }
}

/// Sets the cost of commands in `job`, for those of `policies` that charge by a law and state no
/// costs, and the rates for those that have a cost model: on the device that the job names for it,
/// or on `place`. On a place whose rates are not known, a cost model keeps its own.
///
/// # Errors
/// If no model is known by whose law a policy could charge, or the model does not go on.
pub(crate) fn state(job: &mut Job, policies: &[Chosen], place: &Place) -> Result<(), Failure> {
    let (seed, probe) = (Seed(job.seed), Probe::of(job));
    for (name, params) in &mut job.policies {
        if !policies.iter().any(|policy| policy.name() == *name) {
            continue;
        }
        *params = with_costs_of_devices(params.clone(), (probe, seed))?;
        if charge::lacks_costs(params) {
            let (spec, speed) = place.model().ok_or_else(|| unknown(name, place))?;
            *params = with_costs_of(params, spec, speed, (probe, seed))?;
        }
        if model::lacks_rates(params)
            && let Some((spec, speed)) = place.model()
        {
            *params = with_rates_of(params, spec, speed, seed)?;
        }
    }
    Ok(())
}

/// Sets the costs and the rates in `params` if they name a device for them.
///
/// # Errors
/// If no device has this name, or its model does not go on.
pub(crate) fn with_costs(params: Params, seed: Seed) -> Result<Params, Failure> {
    with_costs_of_devices(params, (Probe::USUAL, seed))
}

fn with_costs_of_devices(
    mut params: Params,
    (probe, seed): (Probe, Seed),
) -> Result<Params, Failure> {
    if charge::lacks_costs(&params)
        && let Some(device) = charge::law_device(&params)
    {
        params = with_costs_of(&params, &devices::find(device)?, Speed::ONE, (probe, seed))?;
    }
    if let Some(device) = model::device(&params) {
        params = with_rates_of(&params, &devices::find(device)?, Speed::ONE, seed)?;
    }
    Ok(params)
}

/// Adds to `params` the rates of the model of `spec`, which runs at `speed`.
fn with_rates_of(
    params: &Params,
    spec: &DeviceSpec,
    speed: Speed,
    seed: Seed,
) -> Result<Params, Failure> {
    let rates = |op| {
        let each = |order, len, depth, count| {
            let alike = ProbeLoop { op, order, len, depth, count };
            let ns = each_ns(spec.build(seed), alike, seed).map_err(Failure::run)?;
            Ok::<_, Failure>(speed.span(Span::from_ns(ns)).ns().max(1))
        };
        let [short, long] = MODEL_LENGTHS;
        let [deep, shallow] = MODEL_DEPTHS;
        let iops = |order| Ok::<_, Failure>(SECOND / each(order, short, deep, REQUESTS)?);
        let each_long = each(ProbeOrder::Sequential, long, shallow, LONG_REQUESTS)?;
        Ok::<_, Failure>(Rates {
            bps: u64::from(long) * SECOND / each_long,
            seqiops: iops(ProbeOrder::Sequential)?,
            randiops: iops(ProbeOrder::Random)?,
        })
    };
    Ok(model::with_rates(params, rates(Op::Read)?, rates(Op::Write)?))
}

/// Adds to `params` the cost of commands on the model of `spec`, which runs at `speed`.
fn with_costs_of(
    params: &Params,
    spec: &DeviceSpec,
    speed: Speed,
    (probe, seed): (Probe, Seed),
) -> Result<Params, Failure> {
    let cost = |op| {
        let LawCost { base, per_mb } = cost(spec, op, probe, seed).map_err(Failure::run)?;
        Ok::<_, Failure>(LawCost { base: speed.span(base), per_mb: speed.span(per_mb) })
    };
    Ok(charge::with_costs(params, cost(Op::Read)?, cost(Op::Write)?))
}

/// Returns the error for `place`, which is not a model.
fn unknown(policy: &str, place: &Place) -> Failure {
    let message = format!(
        "policy.{policy}.charge is \"law\", and what commands cost on {} is not known",
        place.name()
    );
    let hint = format!(
        "`penstock advise shares` measures it; it is stated as policy.{policy}.law = {{ read = {{ \
         base = \"15us\", per_mb = \"532us\" }} }}, or taken from a device file of `penstock \
         calibrate`, as in policy.{policy}.law = \"disk.toml\""
    );
    Failure::wrong(message, hint)
}

/// Measures the cost of commands of the kind `op`.
fn cost(spec: &DeviceSpec, op: Op, probe: Probe, seed: Seed) -> Result<LawCost, RunError> {
    let each = |len| {
        let depth = probe.depth;
        let alike = ProbeLoop { op, order: ProbeOrder::Random, len, depth, count: REQUESTS };
        each_ns(spec.build(seed), alike, seed)
    };
    let [short, long] = probe.lengths.map(each);
    let (short, long) = (short?, long?);
    let [from, to] = probe.lengths.map(u64::from);
    // Rounded down: a command costs a few nanoseconds less, each as every other.
    let per_mb = long.saturating_sub(short) * MEGABYTE / (to - from);
    let base = short.saturating_sub(per_mb * from / MEGABYTE);
    Ok(LawCost { base: Span::from_ns(base), per_mb: Span::from_ns(per_mb) })
}

/// Measures the nanoseconds per request on `device`, over the second half of the requests of a loop.
fn each_ns(device: Box<dyn Device>, of: ProbeLoop, seed: Seed) -> Result<u64, RunError> {
    let ProbeLoop { len, depth: idle, count: left, .. } = of;
    let half = left / 2;
    let places = (device.capacity() / u64::from(len)).max(1);
    let rng = seed.stream("law", 0);
    let mut source = ClosedProbe { of, places, next: 0, rng, idle, left, free: Time::ZERO };
    let policy: Box<dyn Policy> = (fcfs::ENTRY.build)(&Params::NONE, &Served::ONE_DISK);
    let mut stack = Queued::new(policy, device);
    let mut counted = SecondHalf { half, finished: 0, begun: Time::ZERO, ended: Time::ZERO };
    run(&mut source, &mut stack, &mut Virtual::default(), &mut counted, Limits::default())?;
    Ok(counted.ended.since(counted.begun).ns() / u64::from(half))
}

/// The places of the requests of a loop.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ProbeOrder {
    Random,
    Sequential,
}

/// A closed loop of requests that are all alike, always with as many outstanding.
#[derive(Clone, Copy)]
struct ProbeLoop {
    op: Op,
    order: ProbeOrder,
    len: u32,
    depth: u32,
    count: u32,
}

/// The requests of a loop.
struct ClosedProbe {
    of: ProbeLoop,
    places: u64,
    /// The next place in order.
    next: u64,
    rng: Rng,
    idle: u32,
    left: u32,
    /// When the last one completed.
    free: Time,
}

impl Source for ClosedProbe {
    fn next_due(&self) -> Time {
        if self.idle.min(self.left) > 0 { self.free } else { Time::NEVER }
    }

    fn take(&mut self, now: Time) -> Option<Io> {
        if self.next_due() > now {
            return None;
        }
        self.idle -= 1;
        self.left -= 1;
        let ProbeLoop { op, order, len, .. } = self.of;
        let place = match order {
            ProbeOrder::Random => self.rng.random_range(0..self.places),
            ProbeOrder::Sequential => self.next % self.places,
        };
        self.next += 1;
        Some(Io {
            due: self.free,
            start: place * u64::from(len),
            len,
            stream: StreamId(0),
            class: ClassId(0),
            op,
            prio: Prio(0),
            flags: Flags::NONE,
        })
    }

    fn finished(&mut self, now: Time, _: &Request, _: &Done) {
        self.idle += 1;
        self.free = now;
    }
}

/// Measures when the second half of the requests began and ended.
struct SecondHalf {
    half: u32,
    finished: u32,
    begun: Time,
    ended: Time,
}

impl Observer for SecondHalf {
    fn finished(&mut self, now: Time, _: &Request, _: &Done) {
        self.finished += 1;
        if self.finished == self.half {
            self.begun = now;
        }
        self.ended = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_law_of_length_is_found_again() {
        // 80 us and 500 MB/s, one command at a time.
        let spec = devices::find("flash").expect("a named device");
        let found = cost(&spec, Op::Read, Probe::USUAL, Seed(1)).expect("it goes on");
        let near = |found: Span, expected: Span| found.ns().abs_diff(expected.ns()) < 100;
        assert!(near(found.base, Span::from_us(80)), "{found:?}");
        assert!(near(found.per_mb, Span::from_ms(2)), "{found:?}");
    }

    #[test]
    fn a_device_is_probed_as_the_job_asks() {
        let probe = |agents: &[(&str, &str)], live: &str| {
            let agent = |(number, (size, arrivals)): (usize, &(&str, &str))| {
                format!(
                    "[[agent]]\nclass = \"c{}\"\nop = \"read\"\nsize = \"{size}\"\n\
                     pattern = \"random\"\narrivals = {arrivals}\n",
                    number % 2
                )
            };
            let agents: String = agents.iter().enumerate().map(agent).collect();
            let text = format!("duration = \"1s\"\n{live}\n[class.c0]\n[class.c1]\n{agents}");
            Probe::of(&Job::parse("job.toml", &text, &[]).expect("a job"))
        };
        let closed = |depth: u32| format!(r#"{{ kind = "closed", depth = {depth} }}"#);
        let (eight, twenty) = (closed(8), closed(20));
        let two = [("8KiB", eight.as_str()), ("128KiB", eight.as_str())];
        assert_eq!(probe(&two, ""), Probe { lengths: [8 << 10, 128 << 10], depth: 8 });
        let three = [two[0], two[1], ("16KiB", &twenty)];
        assert_eq!(probe(&three, "").depth, 28, "the agents of a class have them together");
        assert_eq!(probe(&three, "live.depth = 12").depth, 12);
        let open = r#"{ kind = "poisson", rate = "10/s" }"#;
        assert_eq!(probe(&[("4KiB", open), ("4KiB", open)], ""), Probe::USUAL);
        let long = [("1MiB", open), ("1MiB", open)];
        assert_eq!(probe(&long, "").lengths, [4 << 10, 1 << 20]);
    }
}
