//! `token-bucket`: in no period does a class send more than its limits allow; a class that borrows
//! keeps the disk at work and delays no request within limits.

use penstock_core::{
    ClassId, Clock, Flags, Io, Op, Out, Policy, Prio, ReqId, Request, Seed, Served, Span, StreamId,
    Time, Virtual,
};
use penstock_policy::{Params, Value, find};
use penstock_tests::{Chaotic, Journal, Late, journal};
use proptest::prelude::*;

const CLASSES: usize = 2;

const KIB: u32 = 1024;

fn io(due_us: u64, class: u16, op: Op, len: u32) -> Io {
    Io {
        due: Time::ZERO + Span::from_us(due_us),
        start: 0,
        len,
        stream: StreamId(class.into()),
        class: ClassId(class),
        op,
        prio: Prio(0),
        flags: Flags::NONE,
    }
}

fn any_io() -> impl Strategy<Value = Io> {
    let op = prop_oneof![4 => Just(Op::Read), 4 => Just(Op::Write), 1 => Just(Op::Discard)];
    let len = prop_oneof![6 => 1_u32..20, 1 => Just(300_u32)];
    (0_u64..500_000, 0..CLASSES as u16, op, len)
        .prop_map(|(due_us, class, op, len)| io(due_us, class, op, len * 4 * KIB))
}

/// A limit of a class: rate and burst.
type Limit = (u64, u64);

fn any_limit(
    rate: std::ops::Range<u64>,
    burst: std::ops::Range<u64>,
) -> impl Strategy<Value = [Limit; CLASSES]> {
    [(rate.clone(), burst.clone()), (rate, burst)]
}

/// Returns the parameters for limits in requests and in bytes.
fn params(mode: &'static str, iops: [Limit; CLASSES], bps: [Limit; CLASSES]) -> Params {
    let list =
        |value: fn(u64) -> Value, numbers: [u64; CLASSES]| Value::List(numbers.map(value).into());
    let defaults = find("token-bucket").expect("it is registered").defaults();
    defaults
        .with("mode", Value::Word(mode))
        .with("iops", list(Value::Count, iops.map(|limit| limit.0)))
        .with("iops_burst", list(Value::Count, iops.map(|limit| limit.1)))
        .with("bps", list(Value::Size, bps.map(|limit| limit.0)))
        .with("bps_burst", list(Value::Size, bps.map(|limit| limit.1)))
}

fn policy(params: &Params) -> Box<dyn Policy> {
    let entry = find("token-bucket").expect("it is registered");
    (entry.build)(params, &Served::ONE_DISK)
}

fn run(params: &Params, ios: &[Io], depth: usize, clock: &mut impl Clock) -> Journal {
    journal(policy(params), Chaotic::new(depth, false, Seed(1)), clock, ios).expect("it ends")
}

/// When and how much each class sent: the time, and one request or its bytes.
fn sent(journal: &Journal, class: usize, bytes: bool) -> Vec<(Time, u64)> {
    let request = |id: ReqId| {
        let mut entered = journal.enqueued.iter().map(|(_, req)| req);
        *entered.find(|req| req.id == id).expect("it entered")
    };
    let sent = journal.decisions.iter().map(|decision| (decision.at, request(decision.go.id)));
    let own = sent.filter(|(_, req)| req.class.index() == class);
    let amount = |req: Request| match (bytes, req.op) {
        (false, _) => 1,
        (true, Op::Discard) => 0,
        (true, _) => u64::from(req.len),
    };
    own.map(|(at, req)| (at, amount(req))).collect()
}

/// Checks the limit in every period from one command to another.
fn keeps(sent: &[(Time, u64)], (rate, burst): Limit) -> Result<(), String> {
    let longest = sent.iter().map(|(_, amount)| *amount).max().unwrap_or(0);
    for (n, (from, _)) in sent.iter().enumerate() {
        let mut sum = 0;
        for (to, amount) in &sent[n..] {
            sum += amount;
            let came = u128::from(rate) * u128::from(to.since(*from).ns()) / 1_000_000_000;
            let most = came as u64 + burst.max(longest);
            if sum > most {
                return Err(format!("{sum} from {from:?} to {to:?}, at most {most}"));
            }
        }
    }
    Ok(())
}

proptest! {
    #[test]
    fn no_period_has_more_than_rate_and_burst(
        ios in prop::collection::vec(any_io(), 1..150),
        iops in any_limit(1..2_000, 1..40),
        bps in any_limit(4_096..200_000_000, 1..2_000_000),
        depth in 1_usize..9,
        late_us in prop_oneof![Just(0_u64), 1_u64..5_000],
    ) {
        let clock = &mut Late::new(Span::from_us(late_us), Seed(2));
        let journal = run(&params("hard", iops, bps), &ios, depth, clock);
        prop_assert_eq!(journal.finished.len(), ios.len());
        for class in 0..CLASSES {
            prop_assert_eq!(keeps(&sent(&journal, class, false), iops[class]), Ok(()));
            prop_assert_eq!(keeps(&sent(&journal, class, true), bps[class]), Ok(()));
        }
    }

    /// Asked for a command, it has one whenever a request waits.
    #[test]
    fn a_class_that_may_borrow_leaves_no_disk_idle(
        steps in prop::collection::vec((any_io(), 0_u32..3), 1..100),
        iops in any_limit(1..100, 1..4),
    ) {
        let mut policy = policy(&params("borrow", iops, [(4_096, 4_096); CLASSES]));
        let below = Chaotic::new(1, false, Seed(1));
        let (mut now, mut waiting) = (Time::ZERO, 0);
        for (number, (io, commands)) in steps.into_iter().enumerate() {
            now += io.due.since(Time::ZERO);
            policy.enqueue(now, &Request { io, id: ReqId::new(number as u32, 0) });
            waiting += 1;
            for _ in 0..commands {
                let chain = &mut Vec::new();
                let go = policy.dispatch(now, &mut Out { chain, below: &below });
                prop_assert_eq!(go.is_some(), waiting > 0);
                waiting -= u32::from(go.is_some());
            }
        }
    }
}

/// The check of the limits can fail: borrowed requests exceed them.
#[test]
fn the_check_catches_a_class_that_exceeds_its_limit() {
    let ios: Vec<_> = (0..50).map(|n| io(n, 0, Op::Read, 4 * KIB)).collect();
    let (iops, bps) = ([(10, 2); CLASSES], [(1 << 30, 1 << 30); CLASSES]);
    for (mode, kept) in [("hard", true), ("borrow", false)] {
        let journal = run(&params(mode, iops, bps), &ios, 4, &mut Virtual::default());
        assert_eq!(keeps(&sent(&journal, 0, false), iops[0]).is_ok(), kept, "{mode}");
    }
}

/// A request that never fits the bucket goes when the bucket is full, and the class keeps its rate.
#[test]
fn a_request_longer_than_the_burst_goes_and_leaves_a_debt() {
    let ios: Vec<_> = (0..4).map(|_| io(0, 0, Op::Write, 1024 * KIB)).collect();
    let bps = [(512 << 10, 64 << 10); CLASSES];
    let params = params("hard", [(1_000, 1_000); CLASSES], bps);
    let journal = run(&params, &ios, 4, &mut Virtual::default());
    let times: Vec<_> = journal.decisions.iter().map(|decision| decision.at.ns()).collect();
    assert_eq!(times, [0, 2, 4, 6].map(|seconds| seconds * 1_000_000_000));
}

/// A flood that borrows the whole disk delays a class within its limits by the command in service.
#[test]
fn a_request_within_its_limits_goes_before_any_that_borrows() {
    let flood = (0..500).map(|_| io(0, 0, Op::Write, 64 * KIB));
    let steady = (1..40).map(|n| io(n * 10_000, 1, Op::Read, 4 * KIB));
    let ios: Vec<_> = flood.chain(steady).collect();
    let params = params("borrow", [(10, 1), (200, 2)], [(1 << 30, 1 << 30); CLASSES]);
    let journal = run(&params, &ios, 1, &mut Virtual::default());
    let sent = sent(&journal, 1, false);
    assert_eq!(sent.len(), 39);
    for (n, (at, _)) in sent.iter().enumerate() {
        let waited = at.since(Time::ZERO + Span::from_ms((n as u64 + 1) * 10));
        // The longest service of this device.
        assert!(waited < Span::from_ms(3), "request {n} waited for {waited:?}");
    }
}
