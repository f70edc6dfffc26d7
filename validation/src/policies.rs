//! Policies that sort, before the disk and in it.
//!
//! Random 4 KiB reads, 100 a second, keep the disk busy for 96 % of the time: every percentile
//! shows the order of the requests.

use penstock_core::{Device, Queued};
use penstock_device::hdd::Options;

use crate::disksim::{answer, answered, drive, policy};
use crate::{Bounds, Case, Section};

const BOUNDS: Bounds = Bounds { count: 0.001, mean: 0.01, percentiles: Some(0.01) };

pub(crate) fn section() -> Section {
    let before = [
        ("r4k_100_sstf", "sstf", "`sstf` before the disk"),
        ("r4k_100_clook", "c-look", "`c-look` before the disk"),
        ("r4k_100_sptf", "sptf", "`sptf` before the disk"),
    ];
    let mut cases: Vec<Case> =
        before.map(|(name, host, what)| case(name, host, what, disk())).into();
    // DiskSim's queue of 16 holds the waiting requests, without the one in service.
    let queued = Queued::with_depth(policy("sstf"), disk(), 17);
    let what = "`fcfs` before a disk with `sstf` inside, 16 waiting";
    cases.push(case("r4k_100_disksstf16", "fcfs", what, queued));
    Section {
        title: "With a policy",
        about: "ibm18es, arm and platter alone, random 4 KiB reads, Poisson 100/s.",
        cases,
    }
}

fn disk() -> impl Device {
    drive("ibm18es", Options::MECHANICAL)
}

fn case(name: &'static str, host: &str, what: &'static str, disk: impl Device) -> Case {
    let found = answered("r4k_100", Queued::new(policy(host), disk));
    Case { name, what, bounds: BOUNDS, found, expected: answer(name) }
}
