//! A read under `max-queued` waits for at most a fixed number of writes of each class.

use std::collections::BTreeMap;

use penstock_core::{
    ClassId, Flags, Io, Op, Prio, ReqId, Request, Seed, Served, Span, StreamId, Time, Virtual,
};
use penstock_policy::Value;
use penstock_tests::{Chaotic, Journal, journal};
use proptest::prelude::*;

const CLASSES: u16 = 3;

fn any_io() -> impl Strategy<Value = Io> {
    let op = prop_oneof![3 => Just(Op::Write), 1 => Just(Op::Read)];
    (0_u64..2_000, 0_u64..1_000, 0..CLASSES, op).prop_map(|(due_us, place, class, op)| Io {
        due: Time::ZERO + Span::from_us(due_us),
        start: place * 8192,
        len: 8192,
        stream: StreamId(class.into()),
        class: ClassId(class),
        op,
        prio: Prio(0),
        flags: Flags::NONE,
    })
}

/// Runs `ios` with at most `writes` writes of a class at a device of `depth`.
fn run(ios: &[Io], writes: u64, depth: usize, seed: u64) -> Journal {
    let entry = penstock_policy::find("max-queued").unwrap();
    let params = entry.defaults().with("writes", Value::Count(writes));
    let policy = (entry.build)(&params, &Served::ONE_DISK);
    let device = Chaotic::new(depth, false, Seed(seed));
    journal(policy, device, &mut Virtual::default(), ios).unwrap()
}

proptest! {
    #[test]
    fn a_read_waits_for_few_writes(
        ios in prop::collection::vec(any_io(), 1..150),
        writes in 1_u64..5,
        depth in 1_usize..4,
        seed in any::<u64>(),
    ) {
        let journal = run(&ios, writes, depth, seed);
        let requests: BTreeMap<ReqId, (Time, Request)> =
            journal.enqueued.iter().map(|&(at, req)| (req.id, (at, req))).collect();
        for (at, read) in journal.enqueued.iter().filter(|(_, req)| req.op == Op::Read) {
            let mut passed = [0; CLASSES as usize];
            let before = journal.decisions.iter().take_while(|decided| decided.go.id != read.id);
            for decided in before.filter(|decided| decided.at > *at) {
                let (_, sent) = requests[&decided.go.id];
                passed[sent.class.index()] += u64::from(sent.op == Op::Write);
            }
            prop_assert!(passed.iter().all(|passed| *passed <= writes), "{passed:?} of {writes}");
        }
    }
}

/// A class writes much and another reads: first come, first served would serve the reads last.
#[test]
fn the_reader_does_not_wait_for_the_backlog() {
    let io = |number: u64, class, op| Io {
        due: Time::ZERO,
        start: number * 8192,
        len: 8192,
        stream: StreamId(0),
        class: ClassId(class),
        op,
        prio: Prio(0),
        flags: Flags::NONE,
    };
    let writes = (0..100).map(|number| io(number, 0, Op::Write));
    let ios: Vec<_> = writes.chain([io(100, 1, Op::Read)]).collect();
    let order = |most| {
        let journal = run(&ios, most, 1, 1);
        let read = journal.enqueued.last().unwrap().1.id;
        journal.decisions.iter().position(|decided| decided.go.id == read).unwrap()
    };
    assert_eq!([1, 4, 50, 1000].map(order), [1, 4, 50, 100]);
}
