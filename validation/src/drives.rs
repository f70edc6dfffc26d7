//! Real drives: response times as they were measured, and of the modelled drive of the same name.

use penstock_core::{ClassId, Device, Flags, Io, Op, Prio, ReqId, StreamId, Time};

use crate::cache::whole_drive;
use crate::disksim::unpacked;

/// A real drive beside its model, one request at a time.
#[derive(Debug)]
pub struct RealDrive {
    /// Its name among the named drives.
    pub name: &'static str,
    /// Measured response times, in nanoseconds, rising.
    pub measured: Vec<u64>,
    /// The model's for the same requests, in nanoseconds, rising.
    pub modelled: Vec<u64>,
    /// What is known of `DiskSim`'s: how far it is from the measured, as [`RealDrive::apart_ms`], and
    /// its mean, in milliseconds.
    pub disksim: (f64, f64),
}

/// With what `DiskSim` 4.0 gave for the same requests.
const DRIVES: [(&str, (f64, f64)); 3] = [
    ("ibm18es", (0.136_072, 5.2356)),
    ("cheetah9LP", (0.107_098, 4.2307)),
    ("barracuda", (0.347_863, 6.4257)),
];

/// Every real drive that was measured.
pub fn real_drives() -> Vec<RealDrive> {
    DRIVES.map(|(name, disksim)| replayed(name, disksim)).into()
}

fn replayed(name: &'static str, disksim: (f64, f64)) -> RealDrive {
    let ns = |ms: &str| (ms.parse::<f64>().expect("milliseconds") * 1e6).round() as u64;
    let mut drive = whole_drive(name);
    let (mut now, mut done) = (Time::ZERO, Vec::new());
    let (mut measured, mut modelled) = (Vec::new(), Vec::new());
    for line in unpacked(&format!("real-drives/{name}.csv.gz")).lines().skip(1) {
        let fields: Vec<&str> = line.split(',').collect();
        let number = |at: usize| fields[at].parse::<u64>().expect("a whole number");
        let asked = Io {
            due: now,
            start: number(1) * 512,
            len: number(2) as u32 * 512,
            stream: StreamId(0),
            class: ClassId(0),
            op: if fields[0] == "R" { Op::Read } else { Op::Write },
            prio: Prio(0),
            flags: Flags::NONE,
        };
        drive.start(now, &asked.with(ReqId { slot: 0, age: 0 }));
        let ends = drive.wakeup();
        drive.advance(ends, &mut done);
        modelled.push(ends.since(now).ns());
        measured.push(ns(fields[3]));
        now = Time::from_ns(ends.ns() + ns(fields[4]));
    }
    measured.sort_unstable();
    modelled.sort_unstable();
    RealDrive { name, measured, modelled, disksim }
}

impl RealDrive {
    /// The root mean square distance of the two distribution functions, rank by rank, in
    /// milliseconds.
    pub fn apart_ms(&self) -> f64 {
        let apart = |(a, b): (&u64, &u64)| (a.abs_diff(*b) as f64 / 1e6).powi(2);
        let squares: f64 = self.measured.iter().zip(&self.modelled).map(apart).sum();
        (squares / self.measured.len() as f64).sqrt()
    }

    /// The mean that was measured, and the model's, in milliseconds.
    pub fn means_ms(&self) -> (f64, f64) {
        let mean = |all: &[u64]| all.iter().sum::<u64>() as f64 / 1e6 / all.len() as f64;
        (mean(&self.measured), mean(&self.modelled))
    }
}
