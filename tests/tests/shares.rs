//! Policies that divide a disk by the weights of classes: do they?

use std::num::NonZeroU32;

use penstock_core::{
    ClassId, ClassInfo, Device, Done, Flags, Limits, Observer, Op, Policy, Prio, Queued, Request,
    Seed, Served, Span, Time, Virtual, run,
};
use penstock_device::{Cost, Fixed};
use penstock_policy::{Params, Value, find};
use penstock_workload::{Agent, Agents, Arrivals, Pattern};

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

/// What a class got.
#[derive(Clone, Copy, Default, Debug)]
struct Got {
    requests: u64,
    time: u64,
}

/// Sums by class over what completes from a time on.
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

/// Runs `policy` over `device` for so many seconds, each class in its part of the device, and
/// returns what each class got after `from` seconds.
fn measured(
    policy: Box<dyn Policy>,
    device: impl Device,
    classes: &[Class],
    [from, seconds]: [u64; 2],
) -> Vec<Got> {
    let part = device.capacity() / classes.len() as u64 / 4096 * 4096;
    let end = Time::ZERO + Span::from_secs(seconds);
    let agent = |(n, class): (usize, &Class)| Agent {
        class: ClassId(n as u16),
        prio: Prio(0),
        op: Op::Read,
        flags: Flags::NONE,
        size: class.size,
        pattern: Pattern::Random,
        region: n as u64 * part..(n as u64 + 1) * part,
        arrivals: Arrivals::Closed { depth: class.depth, think: Span::ZERO },
        active: Time::ZERO + class.from..end,
    };
    let mut agents = Agents::new(classes.iter().enumerate().map(agent).collect(), Seed(1));
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

/// By class, its part of the device time less what its weight stands for, in percent of all.
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

/// The weight is the part of each class's own rate, if each command is charged what it costs alone.
#[test]
fn sfq_charges_by_a_law_where_one_is_stated() {
    let entry = find("sfq").unwrap();
    let group = |name: &str| match &entry.params.iter().find(|p| p.name == name).unwrap().kind {
        penstock_policy::Kind::Group(members) => *members,
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
