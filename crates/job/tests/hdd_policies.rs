//! Policies that sort, in front of the modelled disk, against an independent simulator, DiskSim
//! 4.0.
//!
//! A trace of random 4 KiB reads, 100 a second, keeps the disk busy for 96 % of the time: who is
//! sent instead of whom shows in every percentile. What one must know to compare is in
//! `tests/data/disksim/NOTICE.md`.
#![expect(clippy::print_stdout, reason = "deviations are worth seeing with --nocapture")]

mod disksim;

use disksim::{Bounds, Trace, disk, policy, text};
use penstock_core::{Device, Done, Limits, Queued, Request, Time, Virtual, run};
use penstock_device::hdd::Options;

/// Mean, median, 90th and 95th percentile of the trace under `host` within 1 % of DiskSim's.
fn check(case: &str, host: &str, device: impl Device) {
    let mut stack = Queued::new(policy(host), device);
    let bounds = Bounds { count: 1, mean: 0.01, percentiles: 0.01 };
    disksim::check(case, &disksim::responses(TRACE, &mut stack), bounds);
}

const TRACE: &str = "r4k_100";

#[test]
fn shortest_seek_first_is_disksims() {
    check("r4k_100_sstf", "sstf", disk(Options::MECHANICAL));
}

#[test]
fn sweeps_are_disksims() {
    check("r4k_100_clook", "c-look", disk(Options::MECHANICAL));
}

#[test]
fn shortest_positioning_time_first_is_disksims() {
    check("r4k_100_sptf", "sptf", disk(Options::MECHANICAL));
}

/// DiskSim's queue of 16 is what waits beside the one in service.
#[test]
fn shortest_seek_first_in_the_disk_is_disksims() {
    let disk = Queued::with_depth(policy("sstf"), disk(Options::MECHANICAL), 17);
    check("r4k_100_disksstf16", "fcfs", disk);
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
    run(&mut Trace::new(TRACE), &mut stack, &mut Virtual::default(), &mut (), limits)
        .expect("a trace runs to its end");
    assert_eq!((stack.device().rows.len(), stack.device().differ), (0, 0));
}
