//! Arrays of disks whose service time depends on the length: their times can be computed by hand.
//!
//! A disk takes `c(n)` = 1 ms + 10 ns a byte for `n` bytes, `s` = `c(4 KiB)` and `u` = `c(64 KiB)`, a
//! stripe unit. Times are compared to the nanosecond.

use penstock_core::{
    Device, Done, Limits, Observer, Op, Queued, Request, Span, Time, Virtual, run,
};
use penstock_device::{Array, Cost, Fixed, Level};

use crate::disksim::{Trace, io, policy};

const SMALL: u32 = 4 << 10;
const UNIT: u32 = 64 << 10;
/// Stripe units of a disk.
const UNITS: u64 = 1_000;

/// Requests to an array, and their times.
#[derive(Debug)]
pub struct Sum {
    /// Description of the array and its requests.
    pub what: &'static str,
    /// Formulas of the mean response and of the device time of a request.
    pub law: [&'static str; 2],
    /// Result of the formulas for all requests together: response and device time, in nanoseconds.
    pub expected: [u64; 2],
    /// Result of the model.
    pub found: [u64; 2],
    /// Number of requests.
    pub requests: u64,
}

impl Sum {
    /// Whether the model agrees with the formulas.
    pub fn holds(&self) -> bool {
        self.found == self.expected
    }
}

/// Returns the time of a disk for `bytes`, in nanoseconds.
fn cost(bytes: u32) -> u64 {
    1_000_000 + 10 * u64::from(bytes)
}

/// The pace of requests.
#[derive(Clone, Copy)]
enum Pace {
    OneByOne,
    AtOnce,
}

/// Returns every sum.
pub fn sums() -> Vec<Sum> {
    let raid5 = Level::Raid5 { stripe: UNIT };
    let (s, u) = (cost(SMALL), cost(UNIT));
    let unit = u64::from(UNIT);
    vec![
        sum("RAID-0 of 4, reads of a row", ["u", "4u"], [u, 4 * u], {
            modelled(Level::Raid0 { stripe: UNIT }, 4, Op::Read, 4 * UNIT, 4 * unit, Pace::OneByOne)
        }),
        sum("RAID-1 of 3, reads of 4 KiB", ["s", "s"], [s, s], {
            modelled(Level::Raid1, 3, Op::Read, SMALL, unit, Pace::OneByOne)
        }),
        // The n-th of each mirror is answered after n·s.
        sum("the same, 300 at once", ["50.5s", "s"], [101 * s / 2, s], {
            modelled(Level::Raid1, 3, Op::Read, SMALL, unit, Pace::AtOnce)
        }),
        sum("RAID-1 of 3, writes of 4 KiB", ["s", "3s"], [s, 3 * s], {
            modelled(Level::Raid1, 3, Op::Write, SMALL, unit, Pace::OneByOne)
        }),
        sum("RAID-5 of 5, reads of 4 KiB", ["s", "s"], [s, s], {
            modelled(raid5, 5, Op::Read, SMALL, unit, Pace::OneByOne)
        }),
        // Each disk has a fifth of the units.
        sum("the same, 300 at once", ["30.5s", "s"], [61 * s / 2, s], {
            modelled(raid5, 5, Op::Read, SMALL, unit, Pace::AtOnce)
        }),
        // Data and parity are read, then written.
        sum("RAID-5 of 5, writes of 4 KiB", ["2s", "4s"], [2 * s, 4 * s], {
            modelled(raid5, 5, Op::Write, SMALL, unit, Pace::OneByOne)
        }),
        // The remaining unit is read; three and the parity are written.
        sum("RAID-5 of 5, writes of three units of a row", ["2u", "5u"], [2 * u, 5 * u], {
            modelled(raid5, 5, Op::Write, 3 * UNIT, 4 * unit, Pace::OneByOne)
        }),
        sum("RAID-5 of 5, writes of a row", ["u", "5u"], [u, 5 * u], {
            modelled(raid5, 5, Op::Write, 4 * UNIT, 4 * unit, Pace::OneByOne)
        }),
        // Neighbours lie on one disk, and the others are idle.
        sum("JBOD of 3, reads of 4 KiB, 300 at once", ["150.5s", "s"], [301 * s / 2, s], {
            modelled(Level::Jbod, 3, Op::Read, SMALL, unit, Pace::AtOnce)
        }),
    ]
}

const REQUESTS: u64 = 300;

fn sum(what: &'static str, law: [&'static str; 2], each: [u64; 2], found: [u64; 2]) -> Sum {
    Sum { what, law, expected: each.map(|ns| ns * REQUESTS), found, requests: REQUESTS }
}

/// Returns the response and device time of `REQUESTS` requests of `len` bytes to an array, each
/// `step` bytes behind the one before.
fn modelled(level: Level, disks: usize, op: Op, len: u32, step: u64, pace: Pace) -> [u64; 2] {
    let law = Cost::Linear { base: Span::from_ms(1), per_mb: Span::from_ms(10) };
    let disk = |_| Queued::new(policy("fcfs"), Fixed::new(law, UNITS * u64::from(UNIT)));
    let array = Array::new(level, u32::MAX, (0..disks).map(disk).collect()).expect("an array");
    let ios = (0..REQUESTS).map(|number| {
        let due = match pace {
            Pace::OneByOne => Time::ZERO + Span::from_secs(number),
            Pace::AtOnce => Time::ZERO,
        };
        io(due, op, number * step, len)
    });
    let mut taken = Taken::default();
    let mut array = Queued::new(policy("fcfs"), array);
    assert!(array.capacity() >= REQUESTS * step, "they lie in the array");
    let limits = Limits::default();
    run(&mut ios.collect::<Trace>(), &mut array, &mut Virtual::default(), &mut taken, limits)
        .expect("what is asked for ends");
    taken.0
}

/// Response and device time of all requests, in nanoseconds.
#[derive(Default)]
struct Taken([u64; 2]);

impl Observer for Taken {
    fn finished(&mut self, now: Time, req: &Request, done: &Done) {
        self.0[0] += now.since(req.due).ns();
        self.0[1] += done.service.ns();
    }
}
