//! Properties of every array, for any level, disks and policy.

use std::collections::BTreeMap;
use std::rc::Rc;

use penstock_core::{
    ClassId, Clock, Device, Done, Errno, Flags, Io, Limits, Observer, Op, Prio, Queued, Request,
    Seed, Served, Span, StreamId, Time, Virtual, run,
};
use penstock_device::hdd::{Hdd, Options};
use penstock_device::{Array, Cost, Faults, Fixed, Level, Rates};
use penstock_policy::{POLICIES, fcfs};
use penstock_tests::{Chaotic, Commands, Late, Script, noted};
use proptest::prelude::*;

const LEVELS: [Level; 4] =
    [Level::Raid0 { stripe: 8192 }, Level::Raid1, Level::Raid5 { stripe: 8192 }, Level::Jbod];

fn any_io() -> impl Strategy<Value = Io> {
    let op = prop_oneof![
        5 => Just(Op::Read),
        5 => Just(Op::Write),
        1 => Just(Op::Flush),
        1 => Just(Op::Discard),
    ];
    // A tenth lies beyond the end of every array here.
    let start = prop_oneof![9 => 0_u64..60, 1 => Just(1_u64 << 50)];
    (0_u64..15_000, start, 1_u32..40, op).prop_map(|(due_us, start, len, op)| {
        let flushes = op == Op::Flush;
        Io {
            due: Time::ZERO + Span::from_us(due_us),
            start: if flushes { 0 } else { start * 3000 },
            len: if flushes { 0 } else { len * 3000 },
            stream: StreamId(0),
            class: ClassId(0),
            op,
            prio: Prio(0),
            flags: Flags::NONE,
        }
    })
}

#[derive(Default)]
struct Finished(Vec<(Request, Done)>);

impl Observer for Finished {
    fn finished(&mut self, _: Time, req: &Request, done: &Done) {
        self.0.push((*req, *done));
    }
}

#[derive(Debug, Clone)]
struct Case {
    level: usize,
    disks: usize,
    depth: usize,
    policy: usize,
    max_extent: u32,
    seed: u64,
    ios: Vec<Io>,
}

fn any_case() -> impl Strategy<Value = Case> {
    let ios = prop::collection::vec(any_io(), 1..100);
    let max_extent = prop_oneof![Just(u32::MAX), Just(16_384_u32)];
    (0..LEVELS.len(), 3_usize..7, 1_usize..5, 0..POLICIES.len(), max_extent, any::<u64>(), ios)
        .prop_map(|(level, disks, depth, policy, max_extent, seed, ios)| Case {
            level,
            disks,
            depth,
            policy,
            max_extent,
            seed,
            ios,
        })
}

impl Case {
    /// Returns the completions above, and the commands to each disk.
    fn run(&self, clock: &mut impl Clock) -> (Vec<(Request, Done)>, Vec<Commands>) {
        let disk = |n| noted(Chaotic::new(self.depth, false, Seed(self.seed ^ n as u64)));
        let (disks, commands): (Vec<_>, Vec<_>) = (0..self.disks).map(disk).unzip();
        let array = Array::new(LEVELS[self.level], self.max_extent, disks).expect("an array");
        let entry = &POLICIES[self.policy];
        let mut stack = Queued::new((entry.build)(&entry.defaults(), &Served::ONE_DISK), array);
        let (mut source, mut finished) = (Script::new(self.ios.clone()), Finished::default());
        run(&mut source, &mut stack, clock, &mut finished, Limits::default())
            .unwrap_or_else(|error| panic!("{}: {error}", entry.name));
        (finished.0, commands)
    }
}

fn answers_once(case: &Case, clock: &mut impl Clock) {
    let (finished, commands) = case.run(clock);
    // Tickets are good once: the loop would have panicked at a second answer.
    assert_eq!(finished.len(), case.ios.len());
    let pieces: Vec<Request> = commands
        .iter()
        .flat_map(|c| c.borrow().iter().map(|(_, req)| *req).collect::<Vec<_>>())
        .collect();
    let cost: u64 = pieces.iter().map(|piece| u64::from(piece.len) + 1).sum();
    let charged: u64 = finished.iter().map(|(_, done)| done.service.ns()).sum();
    assert_eq!(charged, cost, "device time is the sum over the disks");
    let mut bytes: BTreeMap<Op, u64> = BTreeMap::new();
    for piece in &pieces {
        *bytes.entry(piece.op).or_default() += u64::from(piece.len);
    }
    let mut asked: BTreeMap<Op, u64> = BTreeMap::new();
    for (req, done) in &finished {
        let beyond = req.start >= 1 << 50;
        assert_eq!(done.error, beyond.then_some(Errno::EIO), "{req:?}");
        assert!(done.len == req.len && req.due <= done.begun && done.begun <= done.at);
        if !beyond {
            *asked.entry(req.op).or_default() += u64::from(req.len);
        }
    }
    let of = |sum: &BTreeMap<Op, u64>, op| sum.get(&op).copied().unwrap_or(0);
    let copies = if LEVELS[case.level] == Level::Raid1 { case.disks as u64 } else { 1 };
    assert_eq!(of(&bytes, Op::Discard), copies * of(&asked, Op::Discard));
    if !matches!(LEVELS[case.level], Level::Raid5 { .. }) {
        assert_eq!(of(&bytes, Op::Write), copies * of(&asked, Op::Write));
        assert_eq!(of(&bytes, Op::Read), of(&asked, Op::Read));
    }
    let flushes = finished.iter().filter(|(req, _)| req.op == Op::Flush).count();
    let broadcast = pieces.iter().filter(|piece| piece.op == Op::Flush).count();
    assert_eq!(broadcast, flushes * case.disks, "a flush goes to every disk");
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_request_is_answered_once_and_whole(case in any_case()) {
        answers_once(&case, &mut Virtual::default());
    }

    #[test]
    fn late_wake_ups_lose_nothing(case in any_case(), most_us in 1_u64..5_000) {
        answers_once(&case, &mut Late::new(Span::from_us(most_us), Seed(case.seed)));
    }

    #[test]
    fn an_array_of_one_disk_is_that_disk(
        level in prop_oneof![Just(LEVELS[0]), Just(Level::Raid1), Just(Level::Jbod)],
        mut ios in prop::collection::vec(any_io(), 1..40),
    ) {
        // A disk ignores a discard beyond its end; an array has no disk to ask.
        ios.retain(|io| io.op != Op::Discard);
        let times = |device: &mut dyn FnMut(Finished) -> Finished| device(Finished::default()).0;
        let drive = || Hdd::new(&drive(), Options::MECHANICAL).expect("a good drive");
        let fcfs = || fcfs::Fcfs::new(&penstock_policy::Params::NONE);
        let run = |mut stack: Box<dyn Device>, mut seen: Finished| {
            let mut source = Script::new(ios.clone());
            run(&mut source, &mut stack, &mut Virtual::default(), &mut seen, Limits::default())
                .expect("it runs");
            seen
        };
        let alone = times(&mut |seen| run(Box::new(Queued::new(fcfs(), drive())), seen));
        let one = || Array::new(level, u32::MAX, vec![drive()]).expect("an array");
        let array = times(&mut |seen| run(Box::new(Queued::new(fcfs(), one())), seen));
        let whole = |(req, done): &(Request, Done)| (req.io, done.at, done.error.is_some());
        // Beyond the end the disk takes only its overhead, which is zero, to report the error.
        prop_assert!(alone.iter().map(whole).eq(array.iter().map(whole)));
    }
}

fn drive() -> penstock_device::hdd::Drive {
    penstock_jobs::drives::drive("ibm18es").expect("a known drive")
}

#[test]
fn an_error_of_a_disk_is_the_requests() {
    let cost = Cost::Linear { base: Span::from_ms(1), per_mb: Span::ZERO };
    let rates = |n| Rates { errors: f64::from(n == 1), stalls: 0.0, stall: Span::ZERO };
    for level in LEVELS {
        let disk =
            |n| Faults::new(Fixed::new(cost, 1 << 20), rates(n), Seed(1).stream("faults", n));
        let array = Array::new(level, u32::MAX, (0..3).map(disk).collect()).expect("an array");
        let mut stack =
            Queued::new((fcfs::ENTRY.build)(&fcfs::ENTRY.defaults(), &Served::ONE_DISK), array);
        let io = Io {
            due: Time::ZERO,
            start: 0,
            len: if level == Level::Jbod { 2 << 20 } else { 24_576 },
            stream: StreamId(0),
            class: ClassId(0),
            op: Op::Write,
            prio: Prio(0),
            flags: Flags::NONE,
        };
        let mut seen = Finished::default();
        let mut source = Script::new(vec![io]);
        run(&mut source, &mut stack, &mut Virtual::default(), &mut seen, Limits::default())
            .unwrap();
        assert_eq!(seen.0[0].1.error, Some(Errno::EIO), "{level:?}");
    }
}

/// Each mirror takes one of two simultaneous reads; of idle mirrors the nearer takes the read.
#[test]
fn mirrors_share_reads() {
    let disks = (0..2).map(|_| Hdd::new(&drive(), Options::MECHANICAL).expect("good facts"));
    let (disks, commands): (Vec<_>, Vec<_>) = disks.map(noted).unzip();
    let mut array = Array::new(Level::Raid1, u32::MAX, disks).expect("an array");
    let read = |slot, start| {
        let io = Io {
            due: Time::ZERO,
            start,
            len: 4096,
            stream: StreamId(0),
            class: ClassId(0),
            op: Op::Read,
            prio: Prio(0),
            flags: Flags::NONE,
        };
        io.with(penstock_core::ReqId::new(slot, 0))
    };
    let mut now = Time::ZERO;
    let mut done = Vec::new();
    array.start(now, &read(0, 0));
    array.start(now, &read(1, 8 << 30));
    while array.wakeup() != Time::NEVER {
        now = array.wakeup();
        array.advance(now, &mut done);
    }
    array.start(now, &read(2, (8 << 30) + (1 << 20)));
    let given = |n: usize| Rc::clone(&commands[n]).borrow().len();
    assert_eq!((given(0), given(1)), (1, 2), "the second stands near");
}
