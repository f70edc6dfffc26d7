//! Arrays: stripes over disks, each with a queue of its own.

use penstock_core::{Device, Queued};
use penstock_device::hdd::{Options, Tagged};
use penstock_device::{Array, Level};

use crate::disksim::{answer, answered, drive, policy};
use crate::{Bounds, Case, Section};

const MECHANICAL: Bounds = Bounds { count: 0.001, mean: 0.01, percentiles: Some(0.01) };
const WITH_OVERHEADS: Bounds = Bounds { count: 0.001, mean: 0.015, percentiles: Some(0.015) };

pub(crate) fn section() -> Section {
    let disks = (0..4).map(|_| host(drive("ibm18es", Options::MECHANICAL))).collect();
    let name = "raid0x4_16k_200";
    let four = Case {
        name,
        what: "4 disks, 32 KiB units, random 16 KiB reads, Poisson 200/s",
        bounds: MECHANICAL,
        found: answered(name, raid0(64, disks)),
        expected: answer(name),
    };
    let (arm, with_overheads) = (Options::MECHANICAL, Options::default());
    let eight = [
        ("fairio1_su16_mech", "fairio1", 16, arm, "8 disks, 8 KiB units, 64 KiB reads, overloaded"),
        ("fairio1_su16_nocache", "fairio1", 16, with_overheads, "the same with overheads and bus"),
        ("fairio1_su128_nocache", "fairio1", 128, with_overheads, "the same, 64 KiB units"),
        (
            "fairio2_su16_nocache",
            "fairio2",
            16,
            with_overheads,
            "8 KiB units, reads that grow to 503 KiB",
        ),
    ];
    let eight = eight.map(|(name, trace, stripe, options, what)| {
        let queued = |_| host(Tagged::new(policy("sstf"), drive("ibm18es", options), 16));
        let found = answered(trace, raid0(stripe, (0..8).map(queued).collect()));
        let bounds = if options == arm { MECHANICAL } else { WITH_OVERHEADS };
        Case { name, what, bounds, found, expected: answer(name) }
    });
    Section { title: "Arrays", about: ABOUT, cases: [four].into_iter().chain(eight).collect() }
}

const ABOUT: &str = "RAID-0 of ibm18es; in each of the eight disks a queue of 16 under `sstf`, and before each a queue of the \
host's, first come, first\nserved. With overheads and bus a disk's queue decides by what it knows: a command is taken while the \
arm works, so its overhead delays no\ndisk that is busy, and not taken while data has the bus. Without the first the overloaded \
array is 1.8 % too slow; without the second the tail\nof the one with 64 KiB units is too long (p95 by 2.7 %), as `sstf` had more \
to choose from than it should. This was\nconcluded from these same cases, so no case that was not seen confirms it.";

fn raid0(stripe: u32, disks: Vec<impl Device>) -> impl Device {
    let array = Array::new(Level::Raid0 { stripe: stripe * 512 }, u32::MAX, disks);
    Queued::new(policy("fcfs"), array.expect("an array"))
}

/// Puts a queue of the host before a disk.
fn host(disk: impl Device) -> impl Device {
    Queued::new(policy("fcfs"), disk)
}
