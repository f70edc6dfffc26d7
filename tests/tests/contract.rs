//! The contract of every registered policy, for any parameters, device and clock.
//!
//! Sequences of operations are drawn and shrunk; a failing one is printed and kept.

#[allow(unreachable_pub)] // it is a crate's file where it is meant to go
#[path = "../../examples/policies/lifo.rs"]
mod lifo;

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use penstock_core::{
    ClassId, ClassInfo, Clock, Flags, Io, IoPrio, Op, Prio, ReqId, Request, Seed, Served, Span,
    StreamId, Time, Virtual,
};
use penstock_policy::{Bound, Entry, POLICIES, Value};
use penstock_tests::{Chaotic, Journal, Late, any_params, journal};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::FileFailurePersistence;

/// Returns the registered policies, and the example that shows how to write one.
fn entries() -> Vec<&'static Entry> {
    POLICIES.iter().chain([&lifo::ENTRY]).collect()
}

/// Generates a request: most are small and near one another, so that neighbours meet; some are
/// long.
fn any_io() -> impl Strategy<Value = Io> {
    let op = prop_oneof![
        5 => Just(Op::Read),
        5 => Just(Op::Write),
        1 => Just(Op::Flush),
        1 => Just(Op::Discard),
    ];
    let flags = prop_oneof![4 => 0_u8..2, 1 => 2_u8..4];
    let len = prop_oneof![6 => 1_u32..4, 1 => 30_u32..80, 1 => Just(300_u32)];
    // Two neighbourhoods, the second across the border of a megabyte.
    let start = prop_oneof![0_u64..30, 118_u64..140];
    (0_u64..15_000, start, len, 0_u32..4, op, flags).prop_map(
        |(due_us, start, len, stream, op, flags)| {
            let flushes = op == Op::Flush;
            Io {
                due: Time::ZERO + Span::from_us(due_us),
                start: if flushes { 0 } else { start * 8192 },
                len: if flushes { 0 } else { len * 8192 },
                stream: StreamId(stream),
                class: ClassId(stream as u16 % 2),
                op,
                prio: Prio(stream as u8 % 2),
                flags: Flags::from_bits(flags),
            }
        },
    )
}

#[derive(Debug, Clone)]
struct Case {
    policy: usize,
    params: u64,
    depth: usize,
    refuses: bool,
    seed: u64,
    /// Weights and I/O priorities of the classes, and the disks below, if they are known.
    served: Option<([(u32, IoPrio); 2], u32)>,
    ios: Vec<Io>,
}

fn any_case() -> impl Strategy<Value = Case> {
    let (params, depth) = (0_u64..50, prop_oneof![Just(1_usize), 1_usize..9]);
    let ios = prop::collection::vec(any_io(), 1..120);
    let ioprio = || prop::sample::select(&["rt:4", "be:0", "be:4", "idle"][..]);
    let class = || (1_u32..=10_000, ioprio().prop_map(|text| text.parse().expect("one")));
    let served = prop::option::of(([class(), class()], 1_u32..5));
    (0..entries().len(), params, depth, any::<bool>(), any::<u64>(), served, ios).prop_map(
        |(policy, params, depth, refuses, seed, served, ios)| Case {
            policy,
            params,
            depth,
            refuses,
            seed,
            served,
            ios,
        },
    )
}

impl Case {
    fn run_with(&self, clock: &mut impl Clock) -> Journal {
        let entry = entries()[self.policy];
        let params = any_params(entry, self.params);
        let policy = match self.served {
            None => (entry.build)(&params, &Served::ONE_DISK),
            Some((classes, disks)) => {
                let number = |n| NonZeroU32::new(n).expect("drawn from 1 on");
                let class = |(weight, ioprio)| ClassInfo {
                    weight: number(weight),
                    ioprio,
                    ..ClassInfo::new("one")
                };
                (entry.build)(
                    &params,
                    &Served { classes: &classes.map(class), disks: number(disks) },
                )
            }
        };
        let device = Chaotic::new(self.depth, self.refuses, Seed(self.seed));
        let journal = journal(policy, device, clock, &self.ios);
        journal.unwrap_or_else(|error| panic!("{}: {error}", entry.name))
    }

    fn run(&self) -> Journal {
        self.run_with(&mut Virtual::default())
    }
}

/// Returns how often each byte of each operation is touched, as a sum of steps: equal for requests
/// and for commands if every byte went exactly once.
fn coverage<'a>(ranges: impl Iterator<Item = &'a Io>) -> BTreeMap<(Op, u64), i64> {
    let mut steps = BTreeMap::new();
    for io in ranges.filter(|io| io.op != Op::Flush) {
        *steps.entry((io.op, io.start)).or_insert(0) += 1;
        *steps.entry((io.op, io.end())).or_insert(0) -= 1;
    }
    steps.retain(|_, step| *step != 0);
    steps
}

fn completes_exactly_once(case: &Case, journal: &Journal) {
    assert_eq!(journal.finished.len(), case.ios.len(), "requests finished");
    let flushes = case.ios.iter().filter(|io| io.op == Op::Flush).count();
    assert_eq!(journal.enqueued.len(), case.ios.len() - flushes);
    let asked = coverage(case.ios.iter());
    let sent = coverage(journal.commands.iter().map(|(_, command)| &command.io));
    assert_eq!(asked, sent, "bytes asked and bytes sent");
    let lasts = journal.completed.iter().filter(|(.., last)| *last).count();
    assert_eq!(lasts, journal.enqueued.len(), "each request's last part is reported once");
    let completed: u64 = journal.completed.iter().map(|(_, len, _)| u64::from(*len)).sum();
    let bytes: u64 = case.ios.iter().map(|io| u64::from(io.len)).sum();
    assert_eq!(completed, bytes, "every byte is reported once");
    let charged: u64 = journal.finished.iter().map(|(_, done)| done.service.ns()).sum();
    let cost: u64 = journal.commands.iter().map(|(_, c)| u64::from(c.len) + 1).sum();
    assert_eq!(charged, cost, "device time is charged to the nanosecond");
    for (req, done) in &journal.finished {
        assert!(done.len == req.len && req.due <= done.begun && done.begun <= done.at);
    }
}

/// Checks `bound` against a journal; see [`Bound`].
fn keeps(bound: Bound, journal: &Journal) -> Result<(), String> {
    let arrival: BTreeMap<ReqId, usize> =
        journal.enqueued.iter().enumerate().map(|(n, (_, req))| (req.id, n)).collect();
    // A command is as old as the oldest request in it.
    let commands: Vec<(Time, Vec<usize>)> = journal
        .decisions
        .iter()
        .map(|d| (d.at, std::iter::once(&d.go.id).chain(&d.chain).map(|id| arrival[id]).collect()))
        .collect();
    for (number, (enqueued, req)) in journal.enqueued.iter().enumerate() {
        let patience = *enqueued + bound.after;
        let (mut older, mut younger) = (0_u64, 0_u64);
        for (at, members) in &commands {
            if members.contains(&number) {
                break;
            }
            if *at >= patience {
                if members.iter().any(|&m| m < number) { older += 1 } else { younger += 1 }
            }
        }
        let most = (older + 1) * u64::from(bound.overtakes);
        if younger > most {
            return Err(format!("{younger} younger commands before {req:?}, {most} allowed"));
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: Some(Box::new(FileFailurePersistence::WithSource("regressions"))),
        ..ProptestConfig::default()
    })]

    #[test]
    fn every_request_completes_exactly_once(case in any_case()) {
        completes_exactly_once(&case, &case.run());
    }

    #[test]
    fn late_wake_ups_break_nothing(case in any_case(), most_us in 1_u64..5_000) {
        let mut clock = Late::new(Span::from_us(most_us), Seed(case.seed));
        completes_exactly_once(&case, &case.run_with(&mut clock));
    }

    #[test]
    fn two_instances_decide_alike(case in any_case()) {
        prop_assert_eq!(case.run().decisions, case.run().decisions);
    }

    #[test]
    fn the_stated_starvation_bound_holds(mut case in any_case(), burst in 1_u64..40) {
        // Arrivals so dense that the queue is long and requests wait for longer than `after`.
        case.ios.iter_mut().for_each(|io| io.due = Time::from_ns(io.due.ns() / burst));
        let entry = entries()[case.policy];
        let streams = 4;
        if let Some(bound) = (entry.bound)(&any_params(entry, case.params), streams) {
            let kept = keeps(bound, &case.run());
            prop_assert!(kept.is_ok(), "{}: {}", entry.name, kept.unwrap_err());
        }
    }
}

/// The engines' buffers are as long as the longest request, or as the longest command that a policy
/// declares to merge.
#[test]
fn a_merged_command_is_as_long_as_declared_at_most() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let mut merged = 0;
    for _ in 0..800 {
        let case = any_case().new_tree(&mut runner).expect("a case").current();
        let entry = entries()[case.policy];
        let most = (entry.facts.merges)(&any_params(entry, case.params));
        let journal = case.run();
        let len = |id: &ReqId| {
            let (_, found) = journal.enqueued.iter().find(|(_, req)| req.id == *id).unwrap();
            found.len
        };
        for decision in journal.decisions.iter().filter(|decision| !decision.chain.is_empty()) {
            let most = most.unwrap_or_else(|| panic!("{} merges and does not say so", entry.name));
            let found: u32 = std::iter::once(&decision.go.id).chain(&decision.chain).map(len).sum();
            assert!(found <= most, "{}: {found} bytes in one command of {most}", entry.name);
            merged += 1;
        }
    }
    assert!(merged > 100, "{merged} merged commands");
}

/// The properties above cover splitting and merging only if the cases do both.
#[test]
fn the_cases_split_and_merge() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let (mut split, mut merged) = (0, 0);
    for _ in 0..800 {
        let case = any_case().new_tree(&mut runner).expect("a case").current();
        for decision in case.run().decisions {
            split += u32::from(decision.go.len > 0);
            merged += u32::from(!decision.chain.is_empty());
        }
    }
    assert!(split > 200 && merged > 200, "{split} pieces, {merged} chains in 800 cases");
}

/// The check of the bound can fail: the paper's rule without the guard starves long requests.
#[test]
fn the_starvation_check_catches_a_policy_that_starves() {
    let io = |at_us: u64, len: u32| Io {
        due: Time::ZERO + Span::from_us(at_us),
        start: 0,
        len,
        stream: StreamId(0),
        class: ClassId(0),
        op: Op::Read,
        prio: Prio(0),
        flags: Flags::NONE,
    };
    // One long request behind the first of a flood of short ones.
    let ios: Vec<Io> = (0..200).map(|n| io(n, 4096)).chain([io(1, 256 << 10)]).collect();
    let entry = penstock_policy::find("size-priority").unwrap();
    let claimed = (entry.bound)(&entry.defaults(), 1).expect("it promises something");
    for (guard, kept) in [(Some(()), true), (None, false)] {
        let mut params = entry.defaults();
        if guard.is_none() {
            params.set("guard", Value::Word("off"));
        }
        let device = Chaotic::new(1, false, Seed(1));
        let clock = &mut Virtual::default();
        let journal =
            journal((entry.build)(&params, &Served::ONE_DISK), device, clock, &ios).unwrap();
        assert_eq!(keeps(claimed, &journal).is_ok(), kept, "guard: {guard:?}");
    }
}

/// A request that is queued with nothing in flight and no wake-up named would wait for ever.
#[test]
fn a_policy_that_says_nothing_is_caught() {
    struct Mute;
    impl penstock_core::Policy for Mute {
        fn enqueue(&mut self, _: Time, _: &Request) {}
        fn dispatch(
            &mut self,
            _: Time,
            _: &mut penstock_core::Out<'_>,
        ) -> Option<penstock_core::Go> {
            None
        }
        fn complete(&mut self, _: Time, _: &Request, _: &penstock_core::Part) {}
    }
    let case = any_io();
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let io = case.prop_filter("a request", |io| io.op == Op::Read).new_tree(&mut runner).unwrap();
    let ios = [io.current()];
    let device = Chaotic::new(1, false, Seed(1));
    let stalled = journal(Box::new(Mute), device, &mut Virtual::default(), &ios).unwrap_err();
    assert!(matches!(stalled, penstock_core::RunError::Stalled { outstanding: 1, .. }));
}
