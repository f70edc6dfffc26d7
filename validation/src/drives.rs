//! Real drives: measured response times, and those of the modelled drive of the same name.

use penstock_core::{Device, Op, ReqId, Span, Time};
use penstock_device::hdd::Hdd;

use crate::cache::{observed_drive, published_drive};
use crate::disksim::{io, unpacked};

/// A real drive and its model, one request at a time.
#[derive(Debug)]
pub struct RealDrive {
    /// Its name among the named drives.
    pub name: &'static str,
    /// Measured response times in nanoseconds, ascending.
    pub measured: Vec<u64>,
    /// Response times of the model to the same requests, with the facts observed on the drive, in
    /// nanoseconds, ascending.
    pub modelled: Vec<u64>,
    /// Response times of the model with the published facts alone.
    pub published: Vec<u64>,
    /// `DiskSim`'s error: its distance from the measured times, as [`RealDrive::apart_ms`], and its
    /// mean, in milliseconds.
    pub disksim: (f64, f64),
}

/// Real drives, with the results of `DiskSim` 4.0 for the same requests.
const DRIVES: [(&str, (f64, f64)); 3] = [
    ("ibm18es", (0.136_072, 5.2356)),
    ("cheetah9LP", (0.107_098, 4.2307)),
    ("barracuda", (0.347_863, 6.4257)),
];

/// Returns every real drive that was measured.
pub fn real_drives() -> Vec<RealDrive> {
    DRIVES.map(|(name, disksim)| replayed(name, disksim)).into()
}

fn replayed(name: &'static str, disksim: (f64, f64)) -> RealDrive {
    let text = unpacked(&format!("real-drives/{name}.csv.gz"));
    let requests: Vec<Measured> = text.lines().skip(1).map(Measured::read).collect();
    let sorted = |mut times: Vec<u64>| {
        times.sort_unstable();
        times
    };
    RealDrive {
        name,
        measured: sorted(requests.iter().map(|request| request.took_ns).collect()),
        modelled: sorted(answers(observed_drive(name), &requests)),
        published: sorted(answers(published_drive(name), &requests)),
        disksim,
    }
}

/// A measured request.
struct Measured {
    op: Op,
    start: u64,
    len: u32,
    took_ns: u64,
    /// Time from the completion of the one before until it was sent.
    thought_ns: u64,
}

impl Measured {
    fn read(line: &str) -> Self {
        let fields: Vec<&str> = line.split(',').collect();
        let number = |at: usize| fields[at].parse::<u64>().expect("a whole number");
        let ns = |at: usize| {
            let ms: f64 = fields[at].parse().expect("milliseconds");
            (ms * 1e6).round() as u64
        };
        Self {
            op: if fields[0] == "R" { Op::Read } else { Op::Write },
            start: number(1) * 512,
            len: number(2) as u32 * 512,
            took_ns: ns(3),
            thought_ns: ns(4),
        }
    }
}

/// Returns the response times of `drive` in nanoseconds, one request at a time.
fn answers(mut drive: Hdd, requests: &[Measured]) -> Vec<u64> {
    let (mut completed, mut done) = (None, Vec::new());
    let answer = |request: &Measured| {
        let &Measured { op, start, len, thought_ns, .. } = request;
        let now = completed.map_or(Time::ZERO, |last: Time| last + Span::from_ns(thought_ns));
        drive.start(now, &io(now, op, start, len).with(ReqId::new(0, 0)));
        let ends = drive.wakeup();
        drive.advance(ends, &mut done);
        completed = Some(ends);
        ends.since(now).ns()
    };
    requests.iter().map(answer).collect()
}

impl RealDrive {
    /// Returns the root mean square distance of the two distribution functions, rank by rank, in
    /// milliseconds.
    pub fn apart_ms(&self) -> f64 {
        self.apart_from(&self.modelled)
    }

    /// Returns the same distance for the model with the published facts alone.
    pub fn published_apart_ms(&self) -> f64 {
        self.apart_from(&self.published)
    }

    fn apart_from(&self, modelled: &[u64]) -> f64 {
        let apart = |(a, b): (&u64, &u64)| (a.abs_diff(*b) as f64 / 1e6).powi(2);
        let squares: f64 = self.measured.iter().zip(modelled).map(apart).sum();
        (squares / self.measured.len() as f64).sqrt()
    }

    /// Returns the measured mean and the model's mean, in milliseconds.
    pub fn means_ms(&self) -> (f64, f64) {
        let mean = |all: &[u64]| all.iter().sum::<u64>() as f64 / 1e6 / all.len() as f64;
        (mean(&self.measured), mean(&self.modelled))
    }
}
