//! Checks that policies which divide a disk by the weights of classes do so.

use std::num::NonZeroU32;

use penstock_core::{
    ClassId, ClassInfo, Device, Done, Go, Limits, Observer, Op, Out, Part, Policy, Queued, Request,
    Seed, Served, Span, Time, Virtual, run,
};
use penstock_device::{Cost, Fixed};
use penstock_policy::{Params, Value, find};
use penstock_workload::{Agent, Agents, Arrivals};

const CAPACITY: u64 = 1 << 40;

/// A class: closed loops over a part of the disk, from a time on.
#[derive(Clone, Copy)]
struct Class {
    weight: u32,
    size: u32,
    depth: u32,
    from: Span,
}

/// Reads of 16 KiB, 8 in flight.
fn class(weight: u32) -> Class {
    Class { weight, size: 16 << 10, depth: 8, from: Span::ZERO }
}

/// The requests and device time of a class.
#[derive(Clone, Copy, Default, Debug)]
struct Got {
    requests: u64,
    time: u64,
}

/// Sums by class over the completions from a time on.
struct Sums {
    from: Time,
    got: Vec<Got>,
}

impl Observer for Sums {
    fn finished(&mut self, now: Time, req: &Request, done: &Done) {
        if now >= self.from {
            let got = &mut self.got[req.class.index()];
            got.requests += 1;
            got.time += done.service.ns();
        }
    }
}

/// Returns the closed loops of `classes`, each over its part of the device.
fn agents(classes: &[Class], capacity: u64, seconds: u64) -> Agents {
    let part = capacity / classes.len() as u64 / 4096 * 4096;
    let end = Time::ZERO + Span::from_secs(seconds);
    let agent = |(n, class): (usize, &Class)| {
        let region = n as u64 * part..(n as u64 + 1) * part;
        let arrivals = Arrivals::closed(class.depth, Span::ZERO);
        let active = Time::ZERO + class.from..end;
        Agent { active, ..Agent::new(ClassId(n as u16), Op::Read, class.size, region, arrivals) }
    };
    Agents::new(classes.iter().enumerate().map(agent).collect(), Seed(1))
}

/// Runs `policy` over `device`, each class in its part of the device, and returns what each class
/// got after `from` seconds.
fn measured(
    policy: Box<dyn Policy>,
    device: impl Device,
    classes: &[Class],
    [from, seconds]: [u64; 2],
) -> Vec<Got> {
    let mut agents = agents(classes, device.capacity(), seconds);
    let from = Time::ZERO + Span::from_secs(from);
    let mut sums = Sums { from, got: vec![Got::default(); classes.len()] };
    let mut stack = Queued::new(policy, device);
    run(&mut agents, &mut stack, &mut Virtual::default(), &mut sums, Limits::default()).unwrap();
    sums.got
}

fn built(name: &str, params: &[(&str, Value)], classes: &[Class], disks: u32) -> Box<dyn Policy> {
    let entry = find(name).expect("a policy");
    let with = |all: Params, (name, value): &(&str, Value)| all.with(name, value.clone());
    let params = params.iter().fold(entry.defaults(), with);
    let number = |n| NonZeroU32::new(n).expect("above zero");
    let info = |(n, class): (usize, &Class)| ClassInfo {
        weight: number(class.weight),
        ..ClassInfo::new(format!("c{n}"))
    };
    let classes: Vec<_> = classes.iter().enumerate().map(info).collect();
    (entry.build)(&params, &Served { classes: &classes, disks: number(disks) })
}

/// A disk of 0.1 ms and 10 ms a megabyte.
fn fixed() -> Fixed {
    let cost = Cost::Linear { base: Span::from_us(100), per_mb: Span::from_ms(10) };
    Fixed::new(cost, CAPACITY)
}

/// Returns, by class, its part of the device time less the part of its weight, in percent of all.
fn errors(got: &[Got], classes: &[Class]) -> Vec<f64> {
    let time: u64 = got.iter().map(|got| got.time).sum();
    let weights: u32 = classes.iter().map(|class| class.weight).sum();
    let error = |(got, class): (&Got, &Class)| {
        100.0 * (got.time as f64 / time as f64 - f64::from(class.weight) / f64::from(weights))
    };
    got.iter().zip(classes).map(error).collect()
}

fn worst(got: &[Got], classes: &[Class]) -> f64 {
    errors(got, classes).into_iter().map(f64::abs).fold(0.0, f64::max)
}

#[test]
fn sfq_divides_device_time_by_weight_whatever_the_sizes() {
    let classes = [class(1), Class { size: 256 << 10, ..class(3) }];
    let got = measured(built("sfq", &[], &classes, 1), fixed(), &classes, [0, 20]);
    assert!(worst(&got, &classes) < 0.5, "{:?}", errors(&got, &classes));
    let fcfs = measured(built("fcfs", &[], &classes, 1), fixed(), &classes, [0, 20]);
    assert!(worst(&fcfs, &classes) > 10.0, "{:?}", errors(&fcfs, &classes));
}

/// The weight is the share of each class's own rate, if each command is charged its cost alone.
#[test]
fn sfq_charges_by_a_law_where_one_is_stated() {
    let entry = find("sfq").unwrap();
    let group = |name: &str| match &entry.params.iter().find(|p| p.name == name).unwrap().kind {
        penstock_policy::Kind::Group(members) | penstock_policy::Kind::GroupOrDevice(members) => {
            *members
        }
        other => panic!("{name} is {other:?}"),
    };
    let penstock_policy::Kind::Group(cost) = group("law")[0].kind else { panic!("a group") };
    // Bytes only: the classes then move bytes in proportion to their weights.
    let cost = Params::defaults(cost).with("per_mb", Value::Duration(Span::from_ms(1)));
    let law = Params::defaults(group("law")).with("read", Value::Group(cost));
    let params = [("charge", Value::Word("law")), ("law", Value::Group(law))];
    let classes = [class(1), Class { size: 64 << 10, ..class(2) }];
    let got = measured(built("sfq", &params, &classes, 1), fixed(), &classes, [0, 20]);
    let moved = |n: usize| (got[n].requests * u64::from(classes[n].size)) as f64;
    assert!((moved(1) / moved(0) - 2.0).abs() < 0.05, "{}", moved(1) / moved(0));
}

#[test]
fn fairio_divides_device_time_by_weight_whatever_the_sizes() {
    let classes = [class(1), Class { size: 256 << 10, ..class(3) }];
    for mode in ["plus", "paper"] {
        let params = [("mode", Value::Word(mode))];
        let policy = built("fairio", &params, &classes, 1);
        let got = measured(policy, fixed(), &classes, [0, 20]);
        assert!(worst(&got, &classes) < 0.5, "{mode}: {:?}", errors(&got, &classes));
    }
}

/// All times are ten times as long: nothing else changes.
#[test]
fn fairio_knows_no_length_of_time_but_its_cycle() {
    let classes = [class(1), Class { size: 64 << 10, ..class(2) }, class(4)];
    let got = [1, 10].map(|factor| {
        let cost =
            Cost::Linear { base: Span::from_us(100 * factor), per_mb: Span::from_ms(10 * factor) };
        let cycle = [("cycle", Value::Duration(Span::from_ms(100 * factor)))];
        let policy = built("fairio", &cycle, &classes, 1);
        measured(policy, Fixed::new(cost, CAPACITY), &classes, [0, 10 * factor])
    });
    for (short, long) in got[0].iter().zip(&got[1]) {
        let ratio = short.requests as f64 / long.requests as f64;
        assert!((0.999..=1.001).contains(&ratio), "{got:?}");
    }
}

#[test]
fn more_weight_is_more_service() {
    let mut before = 0;
    for weight in [1, 2, 5, 20, 100] {
        let classes = [class(weight), class(10), class(7)];
        let got = measured(built("fairio", &[], &classes, 1), fixed(), &classes, [0, 10]);
        assert!(got[0].time > before, "weight {weight}: {got:?}");
        before = got[0].time;
    }
}

/// Agents stay as they are; only the order in which their classes are listed changes.
#[test]
fn classes_listed_in_another_order_get_the_same() {
    let classes = [class(3), Class { size: 64 << 10, ..class(1) }, Class { depth: 3, ..class(7) }];
    for name in ["fairio", "sfq"] {
        let listed = |order: [usize; 3]| {
            let mut info = classes;
            (0..3).for_each(|agent| info[order[agent]] = classes[agent]);
            let policy = built(name, &[], &info, 1);
            let policy = Renamed { policy, order };
            measured(Box::new(policy), fixed(), &classes, [0, 10])
        };
        let found = listed([0, 1, 2]);
        for order in [[2, 0, 1], [1, 0, 2], [2, 1, 0]] {
            let again = listed(order);
            for (one, other) in found.iter().zip(&again) {
                let both = [one, other].map(|got| (got.requests, got.time));
                assert_eq!(both[0], both[1], "{name} {order:?}: {found:?}, {again:?}");
            }
        }
    }
}

/// Gives each class another number before it reaches the policy.
struct Renamed {
    policy: Box<dyn Policy>,
    order: [usize; 3],
}

impl Renamed {
    fn renamed(&self, req: &Request) -> Request {
        let mut req = *req;
        req.io.class = ClassId(self.order[req.class.index()] as u16);
        req
    }
}

impl Policy for Renamed {
    fn enqueue(&mut self, now: Time, req: &Request) {
        let req = self.renamed(req);
        self.policy.enqueue(now, &req);
    }
    fn dispatch(&mut self, now: Time, out: &mut Out<'_>) -> Option<Go> {
        self.policy.dispatch(now, out)
    }
    fn complete(&mut self, now: Time, req: &Request, part: &Part) {
        let req = self.renamed(req);
        self.policy.complete(now, &req, part);
    }
    fn wakeup(&self) -> Time {
        self.policy.wakeup()
    }
}

/// The longest time that a class went without a completion: each class always has requests.
struct Gaps {
    last: Vec<Time>,
    longest: Span,
}

impl Observer for Gaps {
    fn finished(&mut self, now: Time, req: &Request, _: &Done) {
        let last = &mut self.last[req.class.index()];
        self.longest = self.longest.max(now.since(*last));
        *last = now;
    }
}

/// Runs closed loops over a disk of 10 ms a request, and returns the longest gap.
fn longest_gap(policy: Box<dyn Policy>, classes: &[Class], seconds: u64) -> Span {
    let cost = Cost::Linear { base: Span::from_ms(10), per_mb: Span::ZERO };
    let mut agents = agents(classes, CAPACITY, seconds);
    let mut gaps = Gaps { last: vec![Time::ZERO; classes.len()], longest: Span::ZERO };
    let mut stack = Queued::new(policy, Fixed::new(cost, CAPACITY));
    run(&mut agents, &mut stack, &mut Virtual::default(), &mut gaps, Limits::default()).unwrap();
    let end = Time::ZERO + Span::from_secs(seconds);
    gaps.last.iter().fold(gaps.longest, |longest, &last| longest.max(end.since(last)))
}

#[test]
fn no_class_waits_for_much_longer_than_a_cycle() {
    let classes = [class(1), class(2), class(6), class(11)];
    for mode in ["plus", "paper"] {
        for ms in [200, 1_000, 3_000] {
            let most = Span::from_ms(ms * 3 / 2 + 1_000);
            let cycle = Value::Duration(Span::from_ms(ms));
            let params = [("mode", Value::Word(mode)), ("cycle", cycle)];
            let gap = longest_gap(built("fairio", &params, &classes, 1), &classes, 60);
            assert!(gap <= most, "{mode}, {ms} ms: {gap:?}");
        }
    }
    // The check can fail: the nearest request goes first, and three classes are far away.
    let gap = longest_gap(built("sstf", &[], &classes, 1), &classes, 60);
    assert!(gap > Span::from_secs(6), "{gap:?}");
}
