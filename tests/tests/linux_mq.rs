//! The schedulers of today's kernels: figures for the known properties of mq-deadline, kyber and
//! flash.

use std::collections::BTreeSet;
use std::path::PathBuf;

use penstock_core::{
    ClassId, ClassInfo, Flags, Io, IoClass, Limits, Op, Prio, Queued, Seed, Served, Span, StreamId,
    Time, Virtual, run,
};
use penstock_device::{Cost, Fixed};
use penstock_policy::{Params, Value, find};
use penstock_run::{Options, compare};
use penstock_tests::{Chaotic, Script, journal, noted};
use penstock_workload::{Agent, Agents, Arrivals};
use proptest::prelude::*;

/// A class of each kind, best-effort first: the order of the classes has no meaning.
const IOPRIOS: [&str; 3] = ["be:4", "rt:0", "idle"];

fn classes() -> Vec<ClassInfo> {
    let class =
        |text: &str| ClassInfo { ioprio: text.parse().expect("one"), ..ClassInfo::new(text) };
    IOPRIOS.map(class).into()
}

fn mq_deadline(params: &Params) -> Box<dyn penstock_core::Policy> {
    let served = Served { classes: &classes(), ..Served::ONE_DISK };
    (find("mq-deadline").expect("it is registered").build)(params, &served)
}

fn defaults() -> Params {
    find("mq-deadline").expect("it is registered").defaults()
}

/// Generates requests of the three classes, dense enough to queue; class 3 is not listed by the
/// job.
fn any_io() -> impl Strategy<Value = Io> {
    let op = prop_oneof![Just(Op::Read), Just(Op::Write), Just(Op::Discard)];
    (0_u64..20_000, 0_u64..200, 1_u32..5, 0_u16..4, op).prop_map(
        |(due_us, start, len, class, op)| Io {
            due: Time::ZERO + Span::from_us(due_us),
            start: start * 4096,
            len: len * 4096,
            stream: StreamId(class.into()),
            class: ClassId(class),
            op,
            prio: Prio(0),
            flags: Flags::NONE,
        },
    )
}

proptest! {
    /// Real-time goes before best-effort before idle at every dispatch, except for a request that has
    /// waited too long.
    #[test]
    fn a_higher_class_goes_first_unless_a_request_has_waited_too_long(
        ios in prop::collection::vec(any_io(), 1..150),
        aging_ms in prop_oneof![Just(10_000_u64), 0_u64..40],
        depth in 1_usize..5,
        seed in any::<u64>(),
    ) {
        let aging = Span::from_ms(aging_ms);
        let params = defaults().with("prio_aging_expire", Value::Duration(aging));
        let device = Chaotic::new(depth, false, Seed(seed));
        let journal =
            journal(mq_deadline(&params), device, &mut Virtual::default(), &ios).expect("it runs");
        let classes = classes();
        let order = |number: usize| {
            let class = journal.enqueued[number].1.class.index();
            classes.get(class).map_or(IoClass::BestEffort, |class| class.ioprio.class())
        };
        // Tickets are reused, so requests are identified by their place in the journal: the latest
        // that entered under the ticket and was not sent.
        let mut waiting: BTreeSet<usize> = (0..journal.enqueued.len()).collect();
        for decision in &journal.decisions {
            let members: Vec<usize> = std::iter::once(decision.go.id)
                .chain(decision.chain.iter().copied())
                .map(|id| {
                    let sent = waiting.iter().find(|&&n| journal.enqueued[n].1.id == id);
                    *sent.expect("it waits")
                })
                .collect();
            for n in &members {
                waiting.remove(n);
            }
            let sent = *members.iter().min().expect("one at least");
            // A request that arrives at the very instant may come after the decision.
            let here = |n: &&usize| journal.enqueued[**n].0 < decision.at;
            if let Some(above) = waiting.iter().filter(here).find(|&&n| order(n) < order(sent)) {
                let waited = decision.at.since(journal.enqueued[sent].0);
                prop_assert!(
                    waited >= aging,
                    "{:?} waits, {:?} goes after {waited:?} of {aging:?}",
                    journal.enqueued[*above].1, journal.enqueued[sent].1,
                );
            }
        }
    }
}

proptest! {
    /// Only classes make a difference.
    #[test]
    fn where_all_have_one_priority_mq_deadline_is_deadline(
        mut ios in prop::collection::vec(any_io(), 1..150),
        depth in 1_usize..5,
        seed in any::<u64>(),
    ) {
        for io in &mut ios {
            io.class = ClassId(0);
        }
        let decisions = |policy| {
            let device = Chaotic::new(depth, false, Seed(seed));
            journal(policy, device, &mut Virtual::default(), &ios).expect("it runs").decisions
        };
        let deadline = find("deadline").expect("it is registered");
        let deadline = (deadline.build)(&deadline.defaults(), &Served::ONE_DISK);
        prop_assert_eq!(decisions(mq_deadline(&defaults())), decisions(deadline));
    }
}

/// Creates a closed loop over a part of the device.
fn agent(class: u16, depth: u32, from: Span, count: u64) -> Agent {
    let region = u64::from(class) << 30..u64::from(class + 1) << 30;
    let arrivals = Arrivals::closed(depth, Span::ZERO);
    let active = Time::ZERO + from..Time::ZERO + Span::from_secs(20);
    Agent { count, active, ..Agent::new(ClassId(class), Op::Read, 4096, region, arrivals) }
}

/// Returns how long a best-effort request that comes into a flood of real-time reads, so many at a
/// time, waits until it is sent. The device takes four commands at once, of 1 ms each.
fn waits_in_a_flood(depth: u32, params: &Params) -> Span {
    let arrives = Span::from_ms(100);
    let agents = vec![agent(1, depth, Span::ZERO, u64::MAX), agent(0, 1, arrives, 1)];
    let law = penstock_device::Law::of(Cost::Linear { base: Span::from_ms(1), per_mb: Span::ZERO });
    let (device, commands) = noted(Fixed::with(law, law, 4, 1 << 40));
    let mut stack = Queued::new(mq_deadline(params), device);
    let mut source = Agents::new(agents, Seed(1));
    run(&mut source, &mut stack, &mut Virtual::default(), &mut (), Limits::default()).unwrap();
    let commands = commands.borrow();
    let mut ours = commands.iter().filter(|(_, command)| command.class == ClassId(0));
    let (sent, _) = *ours.next().expect("it is sent");
    sent.since(Time::ZERO + arrives)
}

/// A single one in flight is enough, though three commands more would find room.
#[test]
fn a_best_effort_request_goes_after_prio_aging_expire_under_a_flood_of_real_time_reads() {
    for depth in [1, 32] {
        let default = waits_in_a_flood(depth, &defaults());
        // Four commands of 1 ms are in flight then.
        let (least, most) = (Span::from_secs(10), Span::from_secs(10) + Span::from_ms(4));
        assert!(least <= default && default <= most, "it waited {default:?}");
        let second = defaults().with("prio_aging_expire", Value::Duration(Span::from_secs(1)));
        let shorter = waits_in_a_flood(depth, &second);
        assert!(shorter >= Span::from_secs(1) && shorter < Span::from_ms(1_005), "{shorter:?}");
        let never = defaults().with("prio_aging_expire", Value::Duration(Span::MAX));
        let starved = waits_in_a_flood(depth, &never);
        assert!(starved > Span::from_secs(19), "without ageing the flood ends first: {starved:?}");
    }
}

/// Returns when each command is sent, in milliseconds, and its class, if requests arrive at these
/// milliseconds. The device takes four at once, each of `each_ms`.
fn sent(params: &Params, each_ms: u64, arrivals: &[(u64, u16)]) -> Vec<(u64, u16)> {
    let io = |&(at, class): &(u64, u16)| Io {
        due: Time::ZERO + Span::from_ms(at),
        start: u64::from(class) << 30 | at << 20,
        len: 4096,
        stream: StreamId(class.into()),
        class: ClassId(class),
        op: Op::Read,
        prio: Prio(0),
        flags: Flags::NONE,
    };
    let cost = Cost::Linear { base: Span::from_ms(each_ms), per_mb: Span::ZERO };
    let law = penstock_device::Law::of(cost);
    let (device, commands) = noted(Fixed::with(law, law, 4, 1 << 40));
    let mut stack = Queued::new(mq_deadline(params), device);
    let mut source = Script::new(arrivals.iter().map(io).collect());
    run(&mut source, &mut stack, &mut Virtual::default(), &mut (), Limits::default()).unwrap();
    let commands = commands.borrow();
    let ms = |at: Time| at.since(Time::ZERO).ns() / 1_000_000;
    commands.iter().map(|&(at, command)| (ms(at), command.class.0)).collect()
}

fn milliseconds(ms: u64) -> Value {
    Value::Duration(Span::from_ms(ms))
}

#[test]
fn a_class_that_is_held_back_goes_on_with_an_arrival_or_after_prio_recheck() {
    // Real-time (1) at 0, best-effort (0) from 0.
    let sent = |recheck: u64, arrivals: &[(u64, u16)]| {
        sent(&defaults().with("prio_recheck", milliseconds(recheck)), 1, arrivals)
    };
    // The completion at 1 ms is no reason to look.
    assert_eq!(sent(6, &[(0, 1), (0, 0)]), [(0, 1), (6, 0)]);
    assert_eq!(sent(6, &[(0, 1), (0, 0), (3, 0)]), [(0, 1), (3, 0), (3, 0)]);
    assert_eq!(sent(6, &[(0, 1), (0, 0), (5, 1)]), [(0, 1), (5, 1), (11, 0)]);
    assert_eq!(sent(0, &[(0, 1), (0, 0)]), [(0, 1), (1, 0)]);
}

/// Age counts at a look: a request that was held back goes with the next arrival, or `prio_recheck`
/// after the last try. Nothing waits at the time of the look after that.
#[test]
fn nothing_is_looked_at_again_once_it_went_by_its_age() {
    let params = defaults()
        .with("prio_recheck", milliseconds(20))
        .with("prio_aging_expire", milliseconds(5));
    let arrivals = [(0, 1), (2, 1), (3, 0), (9, 1), (40, 1)];
    assert_eq!(sent(&params, 10, &arrivals), [(0, 1), (2, 1), (9, 0), (9, 1), (40, 1)]);
    let arrivals = [(0, 1), (2, 1), (3, 0), (30, 1)];
    assert_eq!(sent(&params, 10, &arrivals), [(0, 1), (2, 1), (23, 0), (30, 1)]);
}

/// Runs an example of the folder; returns the results of each class under each policy: p99 in ns,
/// bytes a second.
fn example(name: &str, policies: &[&str], sets: &[&str]) -> Vec<Vec<(u64, f64)>> {
    let file = format!("{}/../examples/linux/{name}.toml", env!("CARGO_MANIFEST_DIR"));
    let options = Options {
        policies: policies.iter().map(|&name| name.into()).collect(),
        ..Options::default()
    };
    let sets: Vec<String> = sets.iter().map(|&set| set.into()).collect();
    let result = compare(&PathBuf::from(file), &sets, &options, &mut |_| true).expect("it runs");
    let class = |class: &penstock_run::result::ClassResult| {
        (class.lat_ns.percentile["99.000000"], class.bw_bytes)
    };
    result.runs.iter().map(|run| run.classes.iter().map(class).collect()).collect()
}

/// Reads, writes and discards all wait; the test shows their order.
#[test]
fn kyber_serves_its_domains_in_turn_each_a_batch_in_order_of_arrival() {
    let io = |n: u64, op| Io {
        due: Time::ZERO,
        start: (1000 - n) * 8192,
        len: 4096,
        stream: StreamId(0),
        class: ClassId(0),
        op,
        prio: Prio(0),
        flags: Flags::NONE,
    };
    let of = |op, count: u64| (0..count).map(move |n| io(n, op));
    let ios: Vec<Io> =
        of(Op::Write, 20).chain(of(Op::Read, 40)).chain(of(Op::Discard, 3)).collect();
    let kyber = find("kyber").expect("it is registered");
    let cost = Cost::Linear { base: Span::from_ms(1), per_mb: Span::ZERO };
    let (device, commands) = noted(Fixed::new(cost, 1 << 40));
    let mut stack = Queued::new((kyber.build)(&kyber.defaults(), &Served::ONE_DISK), device);
    let mut source = Script::new(ios);
    run(&mut source, &mut stack, &mut Virtual::default(), &mut (), Limits::default()).unwrap();
    let commands = commands.borrow();
    let mut turns: Vec<(Op, u32)> = Vec::new();
    for (_, command) in commands.iter() {
        match turns.last_mut() {
            Some((op, count)) if *op == command.op => *count += 1,
            _ => turns.push((command.op, 1)),
        }
    }
    let (r, w, d) = (Op::Read, Op::Write, Op::Discard);
    assert_eq!(turns, [(w, 8), (d, 1), (r, 16), (w, 8), (d, 1), (r, 16), (w, 4), (d, 1), (r, 8)]);
    let reads: Vec<u64> =
        commands.iter().filter(|(_, c)| c.op == r).map(|(_, command)| command.start).collect();
    assert!(reads.is_sorted_by(|a, b| a > b), "in order of arrival, whatever the positions");
}

#[test]
fn kyber_keeps_reads_near_their_target_under_a_flood_of_writes() {
    let [noop, kyber] = &example("write-flood", &["noop", "kyber"], &[])[..] else { panic!("two") };
    let target = 1_000_000;
    let ([reads, flood], [kept, kept_flood]) = (&noop[..], &kyber[..]) else { panic!("two each") };
    assert!(reads.0 >= 4 * target, "noop: reads have a p99 of {} ns", reads.0);
    assert!(kept.0 <= 2 * target, "kyber: reads have a p99 of {} ns", kept.0);
    let left = kept_flood.1 / flood.1;
    assert!(left >= 0.6, "the flood keeps {left}");
}

#[test]
fn half_the_target_halves_what_reads_wait_for() {
    let p99 = |target: &str| {
        let set = format!("kyber.read_lat_nsec={target}");
        example("write-flood", &["kyber"], &[&set])[0][0].0 as f64
    };
    let waits = ["2ms", "1ms", "0.5ms"].map(p99);
    for pair in waits.windows(2) {
        let ratio = pair[0] / pair[1];
        assert!((2.0 / 1.5..=2.0 * 1.5).contains(&ratio), "{waits:?} ns");
    }
}

/// A limit of the rule, as its author states it: a domain is scaled by its own latency.
#[test]
fn kyber_takes_nothing_from_writes_that_miss_their_own_target() {
    // The flood takes 6.2 ms a write.
    let missed = example("write-flood", &["kyber"], &["kyber.write_lat_nsec=4ms"]);
    assert!(missed[0][0].0 > 5_000_000, "reads have a p99 of {} ns", missed[0][0].0);
}

/// Sorting saves seeks, and flash has none. Schedulers that idle lose the idle time.
#[test]
fn on_flash_every_scheduler_that_does_not_idle_has_the_same_throughput() {
    let names = ["noop", "elevator", "deadline", "mq-deadline", "kyber", "sstf", "c-look", "look"];
    let known: Vec<&str> = names.into_iter().filter(|name| find(name).is_some()).collect();
    let rates: Vec<f64> = example("flash-needs-no-sorting", &known, &[])
        .iter()
        .map(|classes| classes.iter().map(|(_, rate)| rate).sum())
        .collect();
    let (least, most) = rates
        .iter()
        .fold((f64::MAX, 0.0_f64), |(least, most), &rate| (least.min(rate), most.max(rate)));
    assert!(most / least <= 1.02, "{known:?}: {rates:?} bytes a second");
}
