//! The queue of the elevator: its three rules as tables, the gain of sorting, and how often a
//! request is overtaken.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use penstock_core::{
    ClassId, Flags, Io, Limits, Op, Prio, Queued, ReqId, Request, Seed, Served, Span, StreamId,
    Time, Virtual, run,
};
use penstock_device::{Cost, Fixed};
use penstock_policy::{Entry, Params, Value, find};
use penstock_run::{Options, compare, compare_text};
use penstock_tests::{Chaotic, Script, journal, noted};
use proptest::prelude::*;

const KIB: u32 = 1024;

fn elevator(set: &[(&str, u64)]) -> (&'static Entry, Params) {
    let entry = find("elevator").expect("a registered policy");
    let with = |params: Params, (name, n): &(&str, u64)| params.with(name, Value::Count(*n));
    (entry, set.iter().fold(entry.defaults(), with))
}

/// Shows the queue after each of these reads has arrived, in the order in which they would go. The
/// disk stands behind KiB 500.
fn queue(set: &[(&str, u64)], starts: &[u64]) -> String {
    let (entry, params) = elevator(set);
    let mut table = String::from("arrives  queue\n");
    for upto in 1..=starts.len() {
        let io = |(n, &start): (usize, &u64)| Io {
            due: Time::from_ns(n as u64),
            start: start * u64::from(KIB),
            len: 4 * KIB,
            stream: StreamId(0),
            class: ClassId(0),
            op: Op::Read,
            prio: Prio(0),
            flags: Flags::NONE,
        };
        let ios = [496].iter().chain(&starts[..upto]).enumerate().map(io).collect();
        let cost = Cost::Linear { base: Span::from_ms(1), per_mb: Span::ZERO };
        let (device, commands) = noted(Fixed::new(cost, 1 << 40));
        let mut stack = Queued::new((entry.build)(&params, &Served::ONE_DISK), device);
        let clock = &mut Virtual::default();
        run(&mut Script::new(ios), &mut stack, clock, &mut (), Limits::default()).unwrap();
        write!(table, "{:7}  ", starts[upto - 1]).unwrap();
        for (_, Request { io, .. }) in &commands.borrow()[1..] {
            let (first, last) = (io.start / u64::from(KIB), io.end() / u64::from(KIB));
            write!(table, "{first}-{last} ").unwrap();
        }
        table.truncate(table.trim_end().len());
        table.push('\n');
    }
    table
}

#[test]
fn rule_one_it_merges_with_a_neighbour() {
    insta::assert_snapshot!(queue(&[], &[800, 804, 796, 900]), @r"
    arrives  queue
        800  800-804
        804  800-808
        796  796-808
        900  796-808 900-904
    ");
}

#[test]
fn rule_two_it_stands_where_the_arm_comes_past() {
    insta::assert_snapshot!(queue(&[], &[800, 600, 100, 900, 300, 700]), @r"
    arrives  queue
        800  800-804
        600  600-604 800-804
        100  600-604 800-804 100-104
        900  600-604 800-804 900-904 100-104
        300  600-604 800-804 900-904 100-104 300-304
        700  600-604 700-704 800-804 900-904 100-104 300-304
    ");
}

#[test]
fn rule_three_it_goes_to_the_end_if_it_would_overtake_one_that_was_overtaken_enough() {
    insta::assert_snapshot!(queue(&[("read_latency", 2)], &[800, 700, 600, 550, 650, 900]), @r"
    arrives  queue
        800  800-804
        700  700-704 800-804
        600  600-604 700-704 800-804
        550  600-604 700-704 800-804 550-554
        650  600-604 700-704 800-804 550-554 650-654
        900  600-604 700-704 800-804 900-904 550-554 650-654
    ");
}

/// A thousand random reads at once: the arm crosses the disk a few times, not a thousand.
#[test]
fn a_burst_is_sought_in_a_quarter_of_the_time_of_noop() {
    let job = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../examples/linux/burst.toml"));
    let names = ["noop", "look", "elevator", "deadline", "anticipatory"];
    let policies = names.map(Into::into).to_vec();
    let options = Options { policies, ..Options::default() };
    let found = compare(job, &[], &options, &mut |_| true).expect("an example").runs;
    let seeks: Vec<f64> = found
        .iter()
        .map(|run| {
            assert_eq!(run.classes[0].requests, 1_000);
            let disk = &run.device_stats.as_ref().expect("a model").all;
            let seek = disk.seek_ms.as_ref().expect("an arm");
            seek.mean * seek.n as f64
        })
        .collect();
    let parts: Vec<f64> = seeks.iter().map(|seek| 100.0 * seek / seeks[0]).collect();
    assert!(parts[2] <= 25.0, "{parts:.1?} % of noop's for {names:?}");
}

/// Sorting saves seeks over a whole disk; a file that spans little of a disk has none to save.
/// `sptf`, which knows the angle of the platter, saves turns.
#[test]
fn sorting_pays_over_the_whole_disk_and_not_within_a_gibibyte() {
    let rates = |region: &str| -> Vec<f64> {
        let job = format!(
            "duration = \"20s\"\ndevice = \"hdd-7200\"\n[class.readers]\n[[agent]]\nclass = \"readers\"\n\
             op = \"read\"\nsize = \"5KiB\"\npattern = \"random\"\n{region}\n\
             arrivals = {{ kind = \"closed\", depth = 32 }}\n"
        );
        let policies = ["noop", "deadline", "sptf"].map(Into::into).to_vec();
        let options = Options { policies, ..Options::default() };
        let found = compare_text("job.toml", &job, &[], &options, &mut |_| true).expect("a job");
        found.runs.iter().map(|run| run.classes[0].iops / found.runs[0].classes[0].iops).collect()
    };
    let (whole, part) = (rates(""), rates("region = [\"0B\", \"1GiB\"]"));
    assert!(whole[1] >= 1.6, "{whole:.2?}");
    assert!(part[1] <= 1.1 && part[2] >= 3.0, "{part:.2?}");
}

fn any_io() -> impl Strategy<Value = Io> {
    (0_u64..4_000, 0_u64..60, any::<bool>()).prop_map(|(due_us, place, read)| Io {
        due: Time::ZERO + Span::from_us(due_us),
        start: place * 8192,
        len: 8192,
        stream: StreamId(0),
        class: ClassId(0),
        op: if read { Op::Read } else { Op::Write },
        prio: Prio(0),
        flags: Flags::NONE,
    })
}

proptest! {
    /// Counted in requests, including merged ones.
    #[test]
    fn a_request_is_overtaken_no_more_often_than_its_latency_says(
        ios in prop::collection::vec(any_io(), 1..160),
        latency in [1_u64..9, 1..9],
        seed in any::<u64>(),
    ) {
        let [read, write] = latency;
        let (entry, params) = elevator(&[("read_latency", read), ("write_latency", write)]);
        let policy = (entry.build)(&params, &Served::ONE_DISK);
        let device = Chaotic::new(1, false, Seed(seed));
        let journal = journal(policy, device, &mut Virtual::default(), &ios).unwrap();
        let arrival: BTreeMap<ReqId, usize> =
            journal.enqueued.iter().enumerate().map(|(n, (_, req))| (req.id, n)).collect();
        let mut sent = Vec::new();
        for decision in &journal.decisions {
            let command: Vec<usize> =
                std::iter::once(&decision.go.id).chain(&decision.chain).map(|id| arrival[id]).collect();
            for &number in &command {
                let later = sent.iter().filter(|&&earlier| earlier > number).count() as u64;
                let most = if journal.enqueued[number].1.op == Op::Read { read } else { write };
                prop_assert!(later <= most, "{later} later ones before {number}, {most} allowed");
            }
            sent.extend(command);
        }
    }
}
