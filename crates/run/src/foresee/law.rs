//! The cost of commands on a model that serves many at once, as a base and a part for each byte,
//! from the rates of random requests that have the device to themselves. A policy that charges by a
//! law uses these costs where a job states none.
//!
//! On such a device the cost is a law of two lengths at one depth, and no more: at a low depth a
//! command costs its latency, at a high one the time of the part that is busiest, which for long
//! commands is the link and for short ones the dies or the controller. So a job's shortest and longest
//! requests are probed, as many at once as a class of it can have at the device.

use penstock_core::{
    ClassId, Device, Done, Flags, Io, Limits, Observer, Op, Policy, Prio, Queued, Request, Rng,
    RunError, Seed, Served, Source, Span, StreamId, Time, Virtual, run,
};
use penstock_jobs::devices::{self, DeviceSpec};
use penstock_jobs::{AgentSpec, Job};
use penstock_live::Speed;
use penstock_policy::charge::{self, LawCost};
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
/// costs: on the device that the job names for it, or on `place`.
///
/// # Errors
/// If no model is known, or the model does not go on.
pub(crate) fn state(job: &mut Job, policies: &[Chosen], place: &Place) -> Result<(), Failure> {
    let (seed, probe) = (Seed(job.seed), Probe::of(job));
    for (name, params) in &mut job.policies {
        let runs = policies.iter().any(|policy| policy.name() == *name);
        if runs && charge::lacks_costs(params) {
            let (spec, speed) = match charge::law_device(params) {
                Some(device) => (&devices::find(device)?, Speed::ONE),
                None => place.model().ok_or_else(|| unknown(name, place))?,
            };
            *params = with_costs_of(params, spec, speed, (probe, seed))?;
        }
    }
    Ok(())
}

/// Sets the cost of commands in `params` if they name a device for it.
///
/// # Errors
/// If no device has this name, or its model does not go on.
pub(crate) fn with_costs(params: Params, seed: Seed) -> Result<Params, Failure> {
    match charge::law_device(&params) {
        Some(device) => {
            with_costs_of(&params, &devices::find(device)?, Speed::ONE, (Probe::USUAL, seed))
        }
        None => Ok(params),
    }
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
    let each = |len| each_ns(spec.build(seed), op, (len, probe.depth), seed);
    let [short, long] = probe.lengths.map(each);
    let (short, long) = (short?, long?);
    let [from, to] = probe.lengths.map(u64::from);
    // Rounded down: a command costs a few nanoseconds less, each as every other.
    let per_mb = long.saturating_sub(short) * MEGABYTE / (to - from);
    let base = short.saturating_sub(per_mb * from / MEGABYTE);
    Ok(LawCost { base: Span::from_ns(base), per_mb: Span::from_ns(per_mb) })
}

/// Measures the nanoseconds per request, over many random requests of `len` bytes, `depth` at once,
/// on `device`.
fn each_ns(
    device: Box<dyn Device>,
    op: Op,
    (len, depth): (u32, u32),
    seed: Seed,
) -> Result<u64, RunError> {
    let places = (device.capacity() / u64::from(len)).max(1);
    let rng = seed.stream("law", 0);
    let mut source =
        ClosedProbe { op, len, places, rng, idle: depth, left: REQUESTS, free: Time::ZERO };
    let policy: Box<dyn Policy> = (fcfs::ENTRY.build)(&Params::NONE, &Served::ONE_DISK);
    let mut stack = Queued::new(policy, device);
    let mut counted = SecondHalf { finished: 0, begun: Time::ZERO, ended: Time::ZERO };
    run(&mut source, &mut stack, &mut Virtual::default(), &mut counted, Limits::default())?;
    Ok(counted.ended.since(counted.begun).ns() / u64::from(REQUESTS / 2))
}

/// A closed loop of random requests, always with as many outstanding.
struct ClosedProbe {
    op: Op,
    len: u32,
    places: u64,
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
        Some(Io {
            due: self.free,
            start: self.rng.random_range(0..self.places) * u64::from(self.len),
            len: self.len,
            stream: StreamId(0),
            class: ClassId(0),
            op: self.op,
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
    finished: u32,
    begun: Time,
    ended: Time,
}

impl Observer for SecondHalf {
    fn finished(&mut self, now: Time, _: &Request, _: &Done) {
        self.finished += 1;
        if self.finished == REQUESTS / 2 {
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
