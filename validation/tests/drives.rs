//! Drives with everything that was published and observed of them beside the real ones.
#![expect(clippy::print_stdout, reason = "distances are worth seeing with --nocapture")]

use penstock_core::{ClassId, Device, Flags, Io, Op, Prio, ReqId, StreamId, Time};
use penstock_validation::cache::observed_drive;
use penstock_validation::disksim::unpacked;

/// Response times of a drive as they were measured, one request at a time, and as they are
/// modelled: the root mean square distance of the two sorted, and the measured mean, in
/// milliseconds.
fn distance(name: &str) -> (f64, f64) {
    let ns = |ms: &str| (ms.parse::<f64>().expect("milliseconds") * 1e6).round() as u64;
    let mut drive = observed_drive(name);
    let (mut completed, mut done) = (None, Vec::new());
    let (mut measured, mut modelled) = (Vec::new(), Vec::new());
    for line in unpacked(&format!("real-drives/{name}.csv.gz")).lines().skip(1) {
        let fields: Vec<&str> = line.split(',').collect();
        let number = |at: usize| fields[at].parse::<u64>().expect("a whole number");
        // Each was sent so long after the one before had completed.
        let sent = completed.map_or(0, |last: Time| last.ns() + ns(fields[4]));
        let now = Time::from_ns(sent);
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
        completed = Some(ends);
    }
    assert_eq!(measured.len(), 10_000);
    let mean = |all: &[u64]| all.iter().sum::<u64>() as f64 / 1e6 / all.len() as f64;
    measured.sort_unstable();
    modelled.sort_unstable();
    let apart = |(a, b): (&u64, &u64)| (a.abs_diff(*b) as f64 / 1e6).powi(2);
    let squares: f64 = measured.iter().zip(&modelled).map(apart).sum();
    let rms = (squares / measured.len() as f64).sqrt();
    let (found, real) = (mean(&modelled), mean(&measured));
    println!("{name}: {rms:.4} ms apart, mean {found:.4} for {real:.4} ms");
    (rms, real)
}

#[test]
fn drives_are_no_further_from_the_real_ones_than_disksim() {
    for (name, disksim) in
        [("ibm18es", 0.136_072), ("cheetah9LP", 0.107_098), ("barracuda", 0.347_863)]
    {
        let (rms, mean) = distance(name);
        let share = rms / mean * 100.0;
        assert!(rms <= disksim, "{name}: {rms} ms apart, {share} % of the mean");
    }
}
