//! Without a policy requests are served as under `fcfs`: at the same instants, in the same order.

use penstock_core::{
    ClassId, Device, Done, Errno, Flags, Io, Limits, Observer, Op, Prio, Queued, Request, Seed,
    Served, Span, StreamId, Time, Unscheduled, Virtual, run,
};
use penstock_tests::{Chaotic, Script, noted};
use proptest::prelude::*;

/// Requests by number, in the order of their ends, with their results.
#[derive(Default)]
struct Ends(Vec<(u32, Time, Span, u32, Option<Errno>)>);

impl Observer for Ends {
    fn finished(&mut self, _: Time, req: &Request, done: &Done) {
        let Done { at, service, len, error, .. } = *done;
        self.0.push((req.stream.0, at, service, len, error));
    }
}

/// Generates requests, each of its own stream, with some flushes.
fn any_ios() -> impl Strategy<Value = Vec<Io>> {
    let op = prop_oneof![
        6 => Just(Op::Read),
        4 => Just(Op::Write),
        1 => Just(Op::Discard),
    ];
    let one = (0_u64..2_000, 0_u64..1_000, 1_u32..9, op);
    prop::collection::vec(one, 1..150).prop_map(|all| {
        let io = |(number, (due_us, place, sectors, op))| Io {
            due: Time::ZERO + Span::from_us(due_us),
            start: place * 8192,
            len: sectors * 512,
            stream: StreamId(number),
            class: ClassId(0),
            op,
            prio: Prio(0),
            flags: Flags::NONE,
        };
        (0..).zip(all).map(io).collect()
    })
}

/// Runs `ios` on the stack that `stack` builds over a device of `depth` that may refuse commands;
/// returns the ends, and the commands of the device.
fn served<D: Device>(
    ios: &[Io],
    depth: usize,
    seed: u64,
    stack: impl FnOnce(Box<dyn Device>) -> D,
) -> (Ends, Vec<(Time, Io)>) {
    let (device, commands) = noted(Chaotic::new(depth, true, Seed(seed)));
    let mut stack = stack(Box::new(device));
    let (mut source, mut ends) = (Script::new(ios.to_vec()), Ends::default());
    run(&mut source, &mut stack, &mut Virtual::default(), &mut ends, Limits::default()).unwrap();
    (ends, commands.take().into_iter().map(|(at, req)| (at, req.io)).collect())
}

proptest! {
    #[test]
    fn it_serves_as_first_come_first_served(
        ios in any_ios(),
        depth in 1_usize..5,
        seed in any::<u64>(),
    ) {
        let entry = penstock_policy::find("fcfs").unwrap();
        let fcfs = (entry.build)(&entry.defaults(), &Served::ONE_DISK);
        let (expected, sent) = served(&ios, depth, seed, |device| Queued::new(fcfs, device));
        let (found, commands) = served(&ios, depth, seed, Unscheduled::new);
        prop_assert_eq!(found.0.len(), ios.len());
        prop_assert_eq!(found.0, expected.0);
        prop_assert_eq!(commands, sent);
    }
}

/// Requests that came while the device was full are sent in their order, flushes too.
#[test]
fn a_flush_keeps_its_place() {
    let io = |number, op, len| Io {
        due: Time::ZERO,
        start: u64::from(number) * 8192,
        len,
        stream: StreamId(number),
        class: ClassId(0),
        op,
        prio: Prio(0),
        flags: Flags::NONE,
    };
    let ios =
        [io(0, Op::Write, 512), io(1, Op::Write, 512), io(2, Op::Flush, 0), io(3, Op::Read, 512)];
    let (device, commands) = noted(Chaotic::new(1, false, Seed(1)));
    let mut stack = Unscheduled::new(device);
    let mut source = Script::new(ios.to_vec());
    run(&mut source, &mut stack, &mut Virtual::default(), &mut (), Limits::default()).unwrap();
    let sent: Vec<u32> = commands.take().iter().map(|(_, req)| req.stream.0).collect();
    assert_eq!(sent, [0, 1, 2, 3]);
}
