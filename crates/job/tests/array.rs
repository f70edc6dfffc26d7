//! Arrays of the modelled disk against an independent simulator, DiskSim 4.0.
//!
//! What one must know to compare is in `tests/data/disksim/NOTICE.md`: above all, DiskSim's host has
//! a queue for each disk, first come, first served, and a disk's queue of 16 is what waits beside
//! the request in service.
#![expect(clippy::print_stdout, reason = "deviations are worth seeing with --nocapture")]

mod disksim;

use disksim::{Bounds, check, disk, policy, responses};
use penstock_core::{Device, Queued};
use penstock_device::hdd::{Options, Tagged};
use penstock_device::{Array, Level};

fn raid0(stripe: u32, disks: Vec<impl Device>) -> impl Device {
    let array = Array::new(Level::Raid0 { stripe: stripe * 512 }, u32::MAX, disks);
    Queued::new(policy("fcfs"), array.expect("an array"))
}

/// A disk behind a queue of the host's.
fn host(disk: impl Device) -> impl Device {
    Queued::new(policy("fcfs"), disk)
}

#[test]
fn a_stripe_of_four_disks_is_disksims() {
    let disks = (0..4).map(|_| host(disk(Options::MECHANICAL))).collect();
    let bounds = Bounds { count: 1, mean: 0.01, percentiles: 0.01 };
    check("raid0x4_16k_200", &responses("raid0x4_16k_200", &mut raid0(64, disks)), bounds);
}

fn check_eight(case: &str, trace: &str, stripe: u32, options: Options, bounds: Bounds) {
    let queued = |_| host(Tagged::new(policy("sstf"), disk(options), 16));
    let disks = (0..8).map(queued).collect();
    check(case, &responses(trace, &mut raid0(stripe, disks)), bounds);
}

#[test]
fn eight_disks_with_queues_of_their_own_are_disksims() {
    let bounds = Bounds { count: 14, mean: 0.01, percentiles: 0.01 };
    check_eight("fairio1_su16_mech", "fairio1", 16, Options::MECHANICAL, bounds);
}

#[test]
fn overheads_and_bus_add_what_they_add_in_disksims_arrays() {
    for (case, trace, stripe) in [
        ("fairio1_su16_nocache", "fairio1", 16),
        ("fairio1_su128_nocache", "fairio1", 128),
        ("fairio2_su16_nocache", "fairio2", 16),
    ] {
        let bounds = Bounds { count: usize::MAX, mean: 0.015, percentiles: 0.015 };
        check_eight(case, trace, stripe, Options::default(), bounds);
    }
}
