//! One disk, first come, first served: arm, platter, overheads, bus.

use penstock_core::Queued;
use penstock_device::hdd::Options;

use crate::disksim::{answer, answered, drive, policy};
use crate::{Bounds, Case, Section};

const MECHANICAL: Bounds = Bounds { count: 0.001, mean: 0.01, percentiles: Some(0.01) };
const WITH_OVERHEADS: Bounds = Bounds { count: 0.001, mean: 0.015, percentiles: Some(0.015) };

pub(crate) fn section() -> Section {
    let mechanical = [
        ("r4k_10_fcfs", "r4k_10", "ibm18es", "random 4 KiB reads, Poisson 10/s"),
        ("r4k_50_fcfs", "r4k_50", "ibm18es", "the same, 50/s"),
        ("r4k_75_fcfs", "r4k_75", "ibm18es", "the same, 75/s"),
        ("seq64k_nocache", "seq64k_12", "ibm18es", "sequential 64 KiB reads every 12 ms"),
        ("mix8k_50_mech", "mix8k_50", "ibm18es", "random 8 KiB, 67 % reads, 50/s"),
        ("cheetah9LP_r4k_80", "cheetah9LP_r4k_80", "cheetah9LP", "random 4 KiB reads, 80/s"),
    ];
    let mut cases: Vec<Case> = mechanical
        .map(|(name, trace, drive, what)| {
            case(name, trace, drive, what, Options::MECHANICAL, MECHANICAL)
        })
        .into();
    let what = "random 4 KiB reads, 50/s, with overheads and bus";
    let whole = Options::default();
    cases.push(case("r4k_50_nocache", "r4k_50", "ibm18es", what, whole, WITH_OVERHEADS));
    Section {
        title: "One disk, first come, first served",
        about: "No cache. Without overheads and bus, but in the last case.",
        cases,
    }
}

fn case(
    name: &'static str,
    trace: &str,
    drive_name: &str,
    what: &'static str,
    options: Options,
    bounds: Bounds,
) -> Case {
    let disk = Queued::new(policy("fcfs"), drive(drive_name, options));
    Case { name, what, bounds, found: answered(trace, disk), expected: answer(name) }
}
