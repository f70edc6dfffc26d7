//! Policies that sort, in front of the modelled disk, against an independent simulator, DiskSim
//! 4.0.
//!
//! A trace of random 4 KiB reads, 100 a second, keeps the disk busy for 96 % of the time: who is
//! sent instead of whom shows in every percentile. What one must know to compare is in
//! `tests/data/disksim/NOTICE.md`.
#![expect(clippy::print_stdout, reason = "deviations are worth seeing with --nocapture")]

use std::collections::VecDeque;
use std::io::Read;
use std::path::PathBuf;

use flate2::read::GzDecoder;
use penstock_core::{
    ClassId, Device, Done, Flags, Io, Limits, Observer, Op, Policy, Prio, Queued, Request, Source,
    StreamId, Time, Virtual, run,
};
use penstock_device::hdd::{Hdd, Options};
use penstock_job::drives;
use penstock_policy::find;

const TRACE: &str = "traces/r4k_100.trace.gz";

fn file(name: &str) -> Vec<u8> {
    let path =
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/disksim").join(name);
    std::fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// A text of the comparison data, unpacked.
fn text(name: &str) -> String {
    let mut text = String::new();
    GzDecoder::new(&file(name)[..]).read_to_string(&mut text).expect("gzipped text");
    text
}

/// Requests at set times, whatever becomes of the ones before.
struct Trace(VecDeque<Io>);

impl Trace {
    fn new() -> Self {
        let io = |line: &str| {
            let fields: Vec<&str> = line.split_whitespace().collect();
            let number = |at: usize| fields[at].parse::<u64>().expect("a whole number");
            let ms: f64 = fields[0].parse().expect("a time");
            Io {
                due: Time::from_ns((ms * 1e6).round() as u64),
                start: number(2) * 512,
                len: number(3) as u32 * 512,
                stream: StreamId(0),
                class: ClassId(0),
                op: if number(4) & 1 == 1 { Op::Read } else { Op::Write },
                prio: Prio(0),
                flags: Flags::NONE,
            }
        };
        Self(text(TRACE).lines().map(io).collect())
    }
}

impl Source for Trace {
    fn next_due(&self) -> Time {
        self.0.front().map_or(Time::NEVER, |io| io.due)
    }
    fn take(&mut self, _: Time) -> Option<Io> {
        self.0.pop_front()
    }
    fn finished(&mut self, _: Time, _: &Request, _: &Done) {}
}

/// Response times, in nanoseconds.
#[derive(Default)]
struct Responses(Vec<u64>);

impl Observer for Responses {
    fn finished(&mut self, now: Time, req: &Request, _: &Done) {
        self.0.push(now.since(req.due).ns());
    }
}

fn policy(name: &str) -> Box<dyn Policy> {
    let entry = find(name).expect("a registered policy");
    (entry.build)(&entry.defaults())
}

fn disk() -> Hdd {
    let drive = drives::drive("ibm18es").expect("a known drive");
    Hdd::new(&drive, Options::MECHANICAL).expect("good facts")
}

/// The response times of the trace under `host`, sorted, until its last arrival, where DiskSim
/// stops too.
fn responses(host: &str, device: impl Device) -> Vec<u64> {
    let mut source = Trace::new();
    let until = source.0.back().expect("a trace of something").due;
    let mut device = Queued::new(policy(host), device);
    let mut responses = Responses::default();
    let limits = Limits { until, ..Limits::default() };
    run(&mut source, &mut device, &mut Virtual::default(), &mut responses, limits)
        .expect("a trace runs to its end");
    responses.0.sort_unstable();
    responses.0
}

/// Mean, median, 90th and 95th percentile within 1 % of DiskSim's.
fn check(case: &str, responses: &[u64]) {
    let results: serde_json::Value = serde_json::from_slice(&file("results.json")).expect("JSON");
    let expected = &results[case]["response_ms"];
    let counted = expected["n"].as_u64().expect("a count") as usize;
    assert!(responses.len().abs_diff(counted) <= 1, "{case}: {} of {counted}", responses.len());
    let ms = |ns: u64| ns as f64 / 1e6;
    let mean = ms(responses.iter().sum()) / responses.len() as f64;
    let per_mille = |p: usize| ms(responses[(responses.len() * p).div_ceil(1000) - 1]);
    for (name, found, held) in [
        ("mean", mean, true),
        ("p50", per_mille(500), true),
        ("p90", per_mille(900), true),
        ("p95", per_mille(950), true),
        ("p99", per_mille(990), false),
        ("p999", per_mille(999), false),
    ] {
        let expected = expected[name].as_f64().expect("a number");
        let off = found / expected - 1.0;
        println!("{case} {name}: {found:.6} against {expected:.6} ms, {:+.4} %", off * 100.0);
        assert!(!held || off.abs() <= 0.01, "{case} {name}: {found} against {expected} ms");
    }
}

#[test]
fn shortest_seek_first_is_disksims() {
    check("r4k_100_sstf", &responses("sstf", disk()));
}

#[test]
fn sweeps_are_disksims() {
    check("r4k_100_clook", &responses("c-look", disk()));
}

#[test]
fn shortest_positioning_time_first_is_disksims() {
    check("r4k_100_sptf", &responses("sptf", disk()));
}

/// DiskSim's queue of 16 is what waits beside the one in service.
#[test]
fn shortest_seek_first_in_the_disk_is_disksims() {
    let disk = Queued::with_depth(policy("sstf"), disk(), 17);
    check("r4k_100_disksstf16", &responses("fcfs", disk));
}

/// A disk that takes as long as `DiskSim`'s took, and checks that it is sent for what `DiskSim`'s
/// was.
struct Played {
    /// When each access ended, in nanoseconds, and its first block; the last is next.
    rows: Vec<(u64, u64)>,
    differ: u64,
    serving: Option<Request>,
    now: Time,
}

impl Played {
    fn ends(&self) -> Time {
        self.rows.last().map_or(Time::NEVER, |&(ends, _)| Time::from_ns(ends))
    }
}

impl Device for Played {
    fn capacity(&self) -> u64 {
        1 << 40
    }
    fn block(&self) -> u32 {
        512
    }
    fn room(&self) -> u32 {
        u32::from(self.serving.is_none())
    }
    fn start(&mut self, now: Time, req: &Request) {
        self.serving = Some(*req);
        self.now = now;
        self.differ +=
            u64::from(self.rows.last().is_some_and(|&(_, block)| block * 512 != req.start));
    }
    fn wakeup(&self) -> Time {
        self.serving.map_or(Time::NEVER, |_| self.ends())
    }
    fn advance(&mut self, now: Time, done: &mut Vec<Done>) {
        if self.ends() <= now
            && let Some(Request { id, io }) = self.serving.take()
        {
            self.rows.pop();
            let service = now.since(self.now);
            done.push(Done { id, at: now, begun: self.now, service, len: io.len, error: None });
        }
    }
}

/// `DiskSim`'s platter falls behind by some microseconds over the trace, so that now and then a
/// request arrives between its decision and ours. At its own times every decision is the same.
#[test]
fn every_decision_of_shortest_seek_first_is_disksims() {
    let row = |line: &str| {
        let fields: Vec<&str> = line.split(',').collect();
        let ms: f64 = fields[0].parse().expect("a time");
        ((ms * 1e6).round() as u64, fields[2].parse().expect("a block"))
    };
    let mut rows: Vec<(u64, u64)> =
        text("accesses/r4k_100_sstf.csv.gz").lines().skip(1).map(row).collect();
    assert_eq!(rows.len(), 9996);
    rows.reverse();
    let until = Time::from_ns(rows[0].0);
    let played = Played { rows, differ: 0, serving: None, now: Time::ZERO };
    let mut stack = Queued::new(policy("sstf"), played);
    let limits = Limits { until, ..Limits::default() };
    run(&mut Trace::new(), &mut stack, &mut Virtual::default(), &mut (), limits)
        .expect("a trace runs to its end");
    assert_eq!((stack.device().rows.len(), stack.device().differ), (0, 0));
}
