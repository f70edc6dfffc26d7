//! `long_in_flight = { target = … }`: short requests on a disk that a flood of long ones shares.
//!
//! The disk is a queue of 32 commands in order of arrival in front of one server. A short request
//! waits for the commands in flight before it, as on a disk that does not reorder.

use penstock_core::{
    ClassId, Device, Done, Limits, Observer, Op, Queued, Request, Rng, Seed, Served, Span, Time,
    Virtual, run,
};
use penstock_device::{Cost, Fixed};
use penstock_policy::{Params, Value, find};
use penstock_workload::{Agent, Agents, Arrivals, Pace};
use rand::RngExt;

const SHORT: ClassId = ClassId(0);
const LONG: ClassId = ClassId(1);
const SHORT_LEN: u32 = 4096;
const PIECE: u64 = 128 << 10;
const TARGET: Span = Span::from_us(500);

/// A disk behind its queue.
fn disk(per_mb: Span) -> Queued<Box<dyn penstock_core::Policy>, Fixed> {
    let cost = Cost::Linear { base: Span::from_us(20), per_mb };
    let fcfs = find("fcfs").expect("a registered policy");
    Queued::with_depth(
        (fcfs.build)(&Params::NONE, &Served::ONE_DISK),
        Fixed::new(cost, 1 << 32),
        32,
    )
}

/// Disturbances of completions.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Disturbance {
    None,
    /// Five times a second, at random, nothing completes for 5 to 50 ms.
    Stalls,
    /// Every command takes ten times the target longer, whatever is in flight.
    Base,
    /// Short requests, one in forty at random, take four times the target longer.
    Late,
}

/// A device whose completions come late, and that takes whole blocks only.
struct Disturbed<D> {
    device: D,
    base: Span,
    /// The periods in which nothing completes, one after another.
    stalls: Vec<(Time, Time)>,
    /// Chooses the short requests that are late, if any are.
    chance: Option<Rng>,
    late: Vec<Done>,
}

impl<D> Disturbed<D> {
    fn new(device: D, disturbance: Disturbance, seed: u64) -> Self {
        let base = Span::from_us(if disturbance == Disturbance::Base { 5_000 } else { 100 });
        let (mut rng, mut stalls) = (Seed(seed).stream("stalls", 0), Vec::new());
        let mut at = Time::ZERO;
        while disturbance == Disturbance::Stalls && at < Time::ZERO + Span::from_secs(20) {
            at += Span::from_us(rng.random_range(1..400_000));
            let end = at + Span::from_us(rng.random_range(5_000..50_000));
            stalls.push((at, end));
            at = end;
        }
        let chance = (disturbance == Disturbance::Late).then(|| Seed(seed).stream("late", 0));
        Self { device, base, stalls, chance, late: Vec::new() }
    }
}

impl<D: Device> Device for Disturbed<D> {
    fn capacity(&self) -> u64 {
        self.device.capacity()
    }

    fn block(&self) -> u32 {
        self.device.block()
    }

    fn room(&self) -> u32 {
        self.device.room().saturating_sub(self.late.len() as u32)
    }

    fn start(&mut self, now: Time, req: &Request) {
        assert!(req.len > 0 && req.len.is_multiple_of(SHORT_LEN), "{} bytes", req.len);
        self.device.start(now, req);
    }

    fn wakeup(&self) -> Time {
        self.late.iter().map(|done| done.at).fold(self.device.wakeup(), Time::min)
    }

    fn advance(&mut self, now: Time, done: &mut Vec<Done>) {
        let from = self.late.len();
        self.device.advance(now, &mut self.late);
        for done in &mut self.late[from..] {
            done.at += self.base;
            if let Some(rng) = &mut self.chance
                && done.len == SHORT_LEN
                && rng.random_range(0..40) == 0
            {
                done.at += TARGET.share(4, 1);
            }
            let next = self.stalls.partition_point(|&(_, end)| end <= done.at);
            if let Some(&(begin, end)) = self.stalls.get(next)
                && begin <= done.at
            {
                done.at = end;
            }
        }
        done.extend(self.late.extract_if(.., |done| done.at <= now));
    }
}

fn agent(class: ClassId, size: u32, arrivals: Arrivals, active: [u64; 2]) -> Agent {
    let [begin, end] = active.map(|s| Time::ZERO + Span::from_secs(s));
    Agent { active: begin..end, ..Agent::new(class, Op::Write, size, 0..1 << 30, arrivals) }
}

fn tellers(active: [u64; 2]) -> Agent {
    let arrivals = Arrivals::open(200.0, Pace::Poisson);
    agent(SHORT, SHORT_LEN, arrivals, active)
}

fn batch() -> Agent {
    agent(LONG, 1 << 20, Arrivals::closed(8, Span::ZERO), [0, 20])
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
    /// Returns the 99th percentile of requests that were due from second `from` on.
    fn p99(&self, from: u64) -> Span {
        let from = Time::ZERO + Span::from_secs(from);
        let late = self.short.iter().filter(|(due, _)| *due >= from);
        let mut found: Vec<Span> = late.map(|(_, latency)| *latency).collect();
        found.sort_unstable();
        found[found.len() * 99 / 100]
    }
}

/// Runs `agents` under size-priority on the disk. Long requests in flight are regulated to this
/// target, or unlimited.
fn shared(target: Option<Span>, agents: Vec<Agent>, per_mb: Span) -> Latencies {
    let limit = target.map_or(Value::Word("unlimited"), regulated);
    on(disk(per_mb), limit, agents, 1)
}

/// Returns the parameter that regulates long requests in flight to this target.
fn regulated(target: Span) -> Value {
    let entry = find("size-priority").expect("a registered policy");
    let real = entry.real(entry.defaults());
    let table = real.group("long_in_flight").expect("a table on a real device").clone();
    Value::Group(table.with("target", Value::Duration(target)))
}

/// Runs `agents` under size-priority on `device`, with this limit on long requests in flight.
fn on(device: impl Device, limit: Value, agents: Vec<Agent>, seed: u64) -> Latencies {
    split(device, Value::Size(PIECE), limit, agents, seed)
}

/// Runs `agents` under size-priority on `device`, with pieces of this length and this limit on long requests in flight.
fn split(
    device: impl Device,
    piece: Value,
    limit: Value,
    agents: Vec<Agent>,
    seed: u64,
) -> Latencies {
    let entry = find("size-priority").expect("a registered policy");
    let params = entry.defaults().with("split", piece).with("long_in_flight", limit);
    let mut stack = Queued::new((entry.build)(&params, &Served::ONE_DISK), device);
    let (mut source, mut latencies) = (Agents::new(agents, Seed(seed)), Latencies::default());
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
fn a_target_out_of_reach_is_near_what_one_piece_reaches() {
    let least = on(disk(FAST), Value::Size(PIECE), vec![tellers([0, 20]), batch()], 1);
    let held = shared(Some(Span::from_us(1)), vec![tellers([0, 20]), batch()], FAST);
    assert!(held.p99(2) < least.p99(2).share(3, 2), "{:?}, {:?}", held.p99(2), least.p99(2));
    assert!(held.long * 10 > least.long * 9, "{} bytes of {}", held.long, least.long);
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

/// Checks the bound where a machine disturbs the disk, seed by seed: the batch keeps three fifths
/// of its unbounded throughput, and the tellers' p99 is near the target, or at most one and a half
/// times that of one piece in flight.
fn holds_and_gives_back(disturbance: Disturbance) {
    for seed in 1..=5 {
        let run = |limit: Value| {
            let device = Disturbed::new(disk(FAST), disturbance, seed);
            on(device, limit, vec![tellers([0, 20]), batch()], seed)
        };
        let free = run(Value::Word("unlimited"));
        let least = run(Value::Size(PIECE));
        let held = run(regulated(TARGET));
        let kept = held.long * 100 / free.long;
        assert!(kept >= 60, "{disturbance:?}, seed {seed}: {kept} %");
        let (p99, best) = (held.p99(2), least.p99(2).share(3, 2).max(TARGET.share(101, 100)));
        assert!(p99 <= best, "{disturbance:?}, seed {seed}: {p99:?}, {best:?}");
    }
}

#[test]
fn on_a_calm_disk_the_bound_holds() {
    holds_and_gives_back(Disturbance::None);
}

#[test]
fn stalls_of_the_machine_do_not_shut_the_batch_out() {
    holds_and_gives_back(Disturbance::Stalls);
}

#[test]
fn a_target_far_below_what_the_disk_reaches_does_not_shut_the_batch_out() {
    holds_and_gives_back(Disturbance::Base);
}

/// A disk that is `way` away, there and back, has a base for each command and a time for each megabyte, in
/// microseconds.
fn distant([way, base, per_mb]: [u64; 3], disturbance: Disturbance) -> impl Device {
    let cost = Cost::Linear { base: Span::from_us(base), per_mb: Span::from_us(per_mb) };
    let fcfs = find("fcfs").expect("a registered policy");
    let order = (fcfs.build)(&Params::NONE, &Served::ONE_DISK);
    let device = Queued::with_depth(order, Fixed::new(cost, 1 << 32), 32);
    let near = Disturbed::new(device, disturbance, 1);
    Disturbed { base: Span::from_us(way), ..near }
}

/// Runs tellers and a batch on this disk with three seeds: the medians of the percent of its bytes that the batch
/// keeps, and of the tellers' p99.
fn at_a_distance(disk: [u64; 3], disturbance: Disturbance) -> (u64, Span) {
    let run = |piece: &'static str, limit: Value, seed: u64| {
        let agents = vec![tellers([0, 20]), batch()];
        split(distant(disk, disturbance), Value::Word(piece), limit, agents, seed)
    };
    let free = run("off", Value::Word("unlimited"), 1);
    let held = [1, 2, 3].map(|seed| run("auto", regulated(TARGET), seed));
    let middle = |mut values: [u64; 3]| {
        values.sort_unstable();
        values[1]
    };
    let kept = held.each_ref().map(|held| held.long * 100 / free.long);
    let p99 = held.each_ref().map(|held| held.p99(2).ns());
    (middle(kept), Span::from_ns(middle(p99)))
}

const DISTANT: [[u64; 3]; 7] = [
    [100, 5, 1_000],
    [100, 20, 1_000],
    [200, 3, 3_333],
    [345, 3, 3_333],
    [345, 30, 3_333],
    [400, 15, 400],
    [645, 3, 3_333],
];

#[test]
fn the_way_to_a_disk_makes_pieces_no_longer_and_the_batch_no_slower() {
    for disk @ [way, base, _] in DISTANT {
        let (kept, p99) = at_a_distance(disk, Disturbance::None);
        assert!(kept >= 86, "{disk:?}: {kept} %");
        let alone = Span::from_us(way + base);
        // With a base of 30 us a piece takes as long as its way, and p99 differs from seed to seed
        // by a quarter.
        let (times, of) = if base == 30 { (9, 5) } else { (3, 2) };
        let most = TARGET.max(alone.share(2, 1)).share(times, of);
        assert!(p99 <= most, "{disk:?}: {p99:?}, {most:?}");
    }
}

#[test]
fn a_bound_of_one_piece_has_several_shorter_ones_that_hide_their_way() {
    for disk in DISTANT {
        // So many misses keep the bound near one piece.
        let (kept, _) = at_a_distance(disk, Disturbance::Late);
        assert!(kept >= 79, "{disk:?}: {kept} %");
    }
}

#[test]
fn pieces_of_learned_length_are_whole_blocks_within_any_bound() {
    let alone = shared(None, vec![batch()], FAST).long;
    for bound in [1, 5_000, 40_000, 100_001, 123 << 10, 1_000_000, (64 << 20) + 1] {
        let agents = vec![tellers([0, 20]), batch()];
        let disk = distant([0, 20, 1_000], Disturbance::None);
        let held = split(disk, Value::Word("auto"), Value::Size(bound), agents, 1);
        assert!(held.long * 100 > alone * 30, "{bound}: {} bytes of {alone}", held.long);
    }
}
