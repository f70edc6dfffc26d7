//! Anticipation of the next read: its gain, its cost, and that it starves no stream.

use std::path::Path;

use penstock_core::{
    ClassId, Done, Limits, Observer, Op, Policy, Queued, Request, Seed, Span, Time, Virtual, run,
};
use penstock_device::hdd::{Hdd, Options as Parts};
use penstock_policy::anticipatory::{self, Anticipatory};
use penstock_policy::{Value, find};
use penstock_run::result::{ClassResult, RunResult};
use penstock_run::{Options, compare};
use penstock_workload::{Agent, Agents, Arrivals, Pattern};

/// Runs an example under each of `policies`.
fn runs(example: &str, policies: &[&str], sets: &[&str]) -> Vec<RunResult> {
    let jobs = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../examples/linux"));
    let policies = policies.iter().map(|&name| name.into()).collect();
    let options = Options { policies, ..Options::default() };
    let sets: Vec<String> = sets.iter().map(|&set| set.into()).collect();
    compare(&jobs.join(example), &sets, &options, &mut |_| true).expect("an example").runs
}

fn throughputs(run: &RunResult) -> Vec<f64> {
    run.classes.iter().map(|class| class.bw_bytes).collect()
}

/// Returns Jain's index: 1 if all are equal.
fn jain(values: &[f64]) -> f64 {
    let sum: f64 = values.iter().sum();
    sum * sum / (values.len() as f64 * values.iter().map(|value| value * value).sum::<f64>())
}

const BOTH: [&str; 2] = ["deadline", "anticipatory"];

/// Returns the throughput under `anticipatory` as a multiple of that under `deadline`, and Jain's
/// index between the two readers of the example.
fn gain(sets: &[&str]) -> (f64, f64) {
    let found = runs("deceptive-idleness.toml", &BOTH, sets);
    let [deadline, waiting] = [&found[0], &found[1]].map(throughputs);
    (waiting.iter().sum::<f64>() / deadline.iter().sum::<f64>(), jain(&waiting))
}

#[test]
fn two_sequential_readers_get_many_times_the_throughput_in_equal_parts() {
    let (gain, jain) = gain(&[]);
    assert!(gain >= 5.0 && jain >= 0.95, "{gain:.2} times, Jain's index {jain:.3}");
}

/// Without the drive's cache, a read that follows another misses its sector and waits for a turn.
#[test]
fn without_a_cache_that_reads_ahead_the_gain_is_small() {
    let (gain, jain) = gain(&["device.cache=none"]);
    assert!(gain > 1.2 && gain < 3.0 && jain >= 0.95, "{gain:.2} times, index {jain:.3}");
}

/// The readers think longer than the arm waits: nothing is gained, and next to nothing lost.
#[test]
fn readers_that_think_for_longer_than_the_wait_lose_nothing() {
    let think = ["agent.0.arrivals.think=8ms", "agent.1.arrivals.think=8ms"];
    let (gain, jain) = gain(&[think[0], think[1], "warmup=1s"]);
    assert!((gain - 1.0).abs() <= 0.05 && jain >= 0.95, "{gain:.3} times, index {jain:.3}");
}

/// An agent that reads one block at a time.
fn reader(size: u32, pattern: Pattern, [from, to]: [u64; 2], think: Span) -> Agent {
    let arrivals = Arrivals::closed(1, think);
    let active = Time::ZERO..Time::ZERO + Span::from_secs(20);
    Agent { pattern, active, ..Agent::new(ClassId(0), Op::Read, size, from..to, arrivals) }
}

/// Bytes by stream.
struct Bytes(Vec<u64>);

impl Observer for Bytes {
    fn finished(&mut self, _: Time, req: &Request, _: &Done) {
        self.0[req.stream.0 as usize] += u64::from(req.len);
    }
}

/// Returns the bytes that each agent gets in 20 s under `policy` on the disk with its cache, and
/// the policy's counters.
fn bytes(policy: impl Policy, agents: Vec<Agent>) -> (Vec<f64>, Vec<(String, u64)>) {
    let drive = penstock_jobs::drives::drive("hdd-7200").expect("a named drive");
    let parts = Parts { cache: Some(drive.cache), ..Parts::MECHANICAL };
    let disk = Hdd::new(&drive, parts).expect("a sound drive");
    let mut got = Bytes(vec![0; agents.len()]);
    let (mut source, mut stack) = (Agents::new(agents, Seed(1)), Queued::new(policy, disk));
    run(&mut source, &mut stack, &mut Virtual::default(), &mut got, Limits::default()).unwrap();
    let mut counters = Vec::new();
    stack.policy().counters(&mut |counter, value| counters.push((counter.to_string(), value)));
    (got.0.iter().map(|&bytes| bytes as f64).collect(), counters)
}

fn counter(counters: &[(String, u64)], name: &str) -> u64 {
    counters.iter().find(|(known, _)| known == name).unwrap_or_else(|| panic!("{name}")).1
}

fn anticipatory() -> Anticipatory {
    Anticipatory::new(&anticipatory::ENTRY.defaults())
}

fn deadline() -> Box<dyn Policy> {
    let entry = find("deadline").expect("a registered policy");
    (entry.build)(&entry.defaults(), &penstock_core::Served::ONE_DISK)
}

const DISK: u64 = 4_000_000_000_000 / 4096 * 4096;

#[test]
fn eight_readers_share_what_the_wait_gains() {
    let part = DISK / 8 / 4096 * 4096;
    let regions = (0..8).map(|n| [n * part, (n + 1) * part - part / 8 / 4096 * 4096]);
    let agents: Vec<Agent> = regions
        .map(|region| reader(64 << 10, Pattern::Sequential, region, Span::from_ms(1)))
        .collect();
    let (waiting, counters) = bytes(anticipatory(), agents.clone());
    let (without, _) = bytes(deadline(), agents);
    let gain = waiting.iter().sum::<f64>() / without.iter().sum::<f64>();
    assert!(gain >= 5.0 && jain(&waiting) >= 0.95, "{gain:.2} times, {waiting:?} {counters:?}");
    let [begun, right] =
        ["anticipations", "anticipations_right"].map(|name| counter(&counters, name));
    assert!(right * 10 > begun * 9, "{right} of {begun} waits were right");
}

/// The past of a stream decides whether the arm waits for it: here waiting never pays.
#[test]
fn random_readers_that_think_long_are_not_waited_for() {
    let agents = || vec![reader(4096, Pattern::Random, [0, DISK], Span::from_ms(20)); 4];
    let sum = |(bytes, counters): (Vec<f64>, _)| (bytes.iter().sum::<f64>(), counters);
    let (without, _) = sum(bytes(deadline(), agents()));
    let (waiting, counters) = sum(bytes(anticipatory(), agents()));
    let (blind, _) = sum(bytes(anticipatory().without_statistics(), agents()));
    let [kept, blind] = [waiting, blind].map(|bytes| 100.0 * bytes / without);
    assert!(kept >= 95.0, "{kept:.1} % of what deadline gets: {counters:?}");
    assert!(blind < 85.0, "without its statistics {blind:.1} %: they make no difference");
}

/// Without expired reads the arm would wait for the first stream's next read for ever.
#[test]
fn a_stream_that_is_always_worth_a_wait_does_not_starve_another() {
    let near = reader(4096, Pattern::Sequential, [0, DISK / 3 / 4096 * 4096], Span::from_us(100));
    let far = reader(4096, Pattern::Random, [DISK / 2, DISK], Span::ZERO);
    let (got, counters) = bytes(anticipatory(), vec![near.clone(), far.clone()]);
    // At least one read in each 125 ms.
    assert!(got[1] >= 4096.0 * 20.0 / 0.140, "bytes of each: {got:?}, {counters:?}");
    let patient = anticipatory::ENTRY.defaults().with("read_expire", Value::Duration(Span::MAX));
    let (got, _) = bytes(Anticipatory::new(&patient), vec![near, far]);
    assert!(got[1] < 4096.0 * 20.0, "without expiry it starves: {} bytes", got[1]);
}

fn class<'a>(run: &'a RunResult, name: &str) -> &'a ClassResult {
    run.classes.iter().find(|class| class.name == name).expect("a class of the example")
}

/// Reads keep coming just ahead of the arm. Every policy except the elevator lets a write go soon.
#[test]
fn a_writer_next_to_a_stream_waits_for_a_bounded_time() {
    let names = ["noop", "elevator", "deadline", "anticipatory"];
    let found = runs("starved-writer.toml", &names, &[]);
    let ms = |run: &RunResult| class(run, "writer").lat_ns.max as f64 / 1e6;
    let worst: Vec<f64> = found.iter().map(ms).collect();
    let [noop, elevator, deadline, anticipatory] = worst[..] else { panic!("four runs") };
    assert!(elevator > 10_000.0, "{worst:?} ms under {names:?}");
    assert!(noop < 500.0 && deadline < 5_000.0, "{worst:?} ms under {names:?}");
    // The rest of a batch of reads, the next one if writes went between, and the writes.
    assert!(anticipatory < 500.0 + 125.0 + 60.0, "{worst:?} ms under {names:?}");
}
