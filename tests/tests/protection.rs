//! `long_in_flight = { target = … }`: short requests on a disk that a flood of long ones shares.
//!
//! The disk is a queue of 32 commands in order of arrival in front of one server. A short request
//! waits for the commands in flight before it, as on a disk that reorders nothing.

use penstock_core::{
    ClassId, Done, Flags, Limits, Observer, Op, Prio, Queued, Request, Seed, Served, Span, Time,
    Virtual, run,
};
use penstock_device::{Cost, Fixed};
use penstock_policy::{Params, Value, find};
use penstock_workload::{Agent, Agents, Arrivals, Pace, Pattern};

const SHORT: ClassId = ClassId(0);
const LONG: ClassId = ClassId(1);
const PIECE: u64 = 128 << 10;

/// A disk of a gigabyte a second, behind its queue.
fn disk(per_mb: Span) -> Queued<Box<dyn penstock_core::Policy>, Fixed> {
    let cost = Cost::Linear { base: Span::from_us(20), per_mb };
    let fcfs = find("fcfs").expect("a registered policy");
    Queued::with_depth(
        (fcfs.build)(&Params::NONE, &Served::ONE_DISK),
        Fixed::new(cost, 1 << 32),
        32,
    )
}

fn agent(class: ClassId, size: u32, arrivals: Arrivals, active: [u64; 2]) -> Agent {
    let [begin, end] = active.map(|s| Time::ZERO + Span::from_secs(s));
    Agent {
        class,
        prio: Prio(0),
        op: Op::Write,
        flags: Flags::NONE,
        size,
        pattern: Pattern::Random,
        region: 0..1 << 30,
        arrivals,
        active: begin..end,
    }
}

fn tellers(active: [u64; 2]) -> Agent {
    let arrivals = Arrivals::Open { rate: 200.0, pace: Pace::Poisson, curve: Vec::new() };
    agent(SHORT, 4096, arrivals, active)
}

fn batch() -> Agent {
    agent(LONG, 1 << 20, Arrivals::Closed { depth: 8, think: Span::ZERO }, [0, 20])
}

/// Latencies of the short requests from the second second on, and bytes of the long ones.
#[derive(Default)]
struct Latencies {
    short: Vec<(Time, Span)>,
    long: u64,
}

impl Observer for Latencies {
    fn finished(&mut self, _: Time, req: &Request, done: &Done) {
        if req.class == SHORT {
            self.short.push((req.due, done.at.since(req.due)));
        } else {
            self.long += u64::from(req.len);
        }
    }
}

impl Latencies {
    /// The 99th percentile of requests that were due from second `from` on.
    fn p99(&self, from: u64) -> Span {
        let from = Time::ZERO + Span::from_secs(from);
        let late = self.short.iter().filter(|(due, _)| *due >= from);
        let mut found: Vec<Span> = late.map(|(_, latency)| *latency).collect();
        found.sort_unstable();
        found[found.len() * 99 / 100]
    }
}

/// A run of `agents` under size-priority. Long requests in flight are regulated to this target, or
/// unlimited.
fn shared(target: Option<Span>, agents: Vec<Agent>, per_mb: Span) -> Latencies {
    let entry = find("size-priority").expect("a registered policy");
    let params = entry.defaults().with("split", Value::Size(PIECE));
    let params = match target {
        None => params,
        Some(target) => {
            let real = entry.real(params);
            let table = real.group("long_in_flight").expect("a table on a real device").clone();
            let table = table.with("target", Value::Duration(target));
            real.with("long_in_flight", Value::Group(table))
        }
    };
    let mut stack = Queued::new((entry.build)(&params, &Served::ONE_DISK), disk(per_mb));
    let (mut source, mut latencies) = (Agents::new(agents, Seed(1)), Latencies::default());
    run(&mut source, &mut stack, &mut Virtual::default(), &mut latencies, Limits::default())
        .unwrap();
    latencies
}

/// A gigabyte a second.
const FAST: Span = Span::from_ms(1);

#[test]
fn the_target_is_nearly_the_99th_percentile_of_short_requests_and_the_flood_goes_on() {
    let target = Span::from_us(500);
    let alone = shared(None, vec![tellers([0, 20])], FAST);
    let free = shared(None, vec![tellers([0, 20]), batch()], FAST);
    let held = shared(Some(target), vec![tellers([0, 20]), batch()], FAST);
    assert!(alone.p99(2) < Span::from_us(60), "{:?}", alone.p99(2));
    assert!(free.p99(2) > Span::from_ms(4), "{:?}", free.p99(2));
    let p99 = held.p99(2);
    assert!(p99 > target.share(3, 4) && p99 < target.share(5, 4), "{p99:?}");
    assert!(held.long * 100 > free.long * 97, "{} bytes of {}", held.long, free.long);
}

#[test]
fn a_slower_disk_has_less_in_flight_for_the_same_target() {
    let slow = Span::from_ms(2);
    let target = Span::from_us(700);
    let held = shared(Some(target), vec![tellers([0, 20]), batch()], slow);
    let p99 = held.p99(2);
    assert!(p99 > target.share(3, 4) && p99 < target.share(5, 4), "{p99:?}");
}

#[test]
fn a_target_out_of_reach_leaves_the_flood_one_piece() {
    let held = shared(Some(Span::from_us(1)), vec![tellers([0, 20]), batch()], FAST);
    // One piece after another, each with its 20 us: the most that the disk serves with one in
    // flight.
    let most = 20_000_000_000 / (20_000 + PIECE) * PIECE;
    assert!(held.long * 10 > most * 9, "{} bytes of {most}", held.long);
    assert!(held.p99(2) < Span::from_us(250), "{:?}", held.p99(2));
}

#[test]
fn without_short_requests_there_is_no_bound() {
    let free = shared(None, vec![batch()], FAST);
    let held = shared(Some(Span::from_us(500)), vec![batch()], FAST);
    assert_eq!(held.long, free.long);
}

#[test]
fn short_requests_that_come_back_are_protected_from_the_second_on() {
    let held = shared(Some(Span::from_us(500)), vec![tellers([10, 20]), batch()], FAST);
    let (first, rest) = held.short.split_first().expect("short requests");
    assert!(first.1 > Span::from_ms(2), "it meets a full queue: {:?}", first.1);
    let slow = rest.iter().filter(|(_, latency)| *latency > Span::from_us(700)).count();
    assert!(slow * 100 < rest.len(), "{slow} of {}", rest.len());
}
