//! The cache of the modelled disk against an independent simulator, DiskSim 4.0, and against three
//! real drives.
#![expect(clippy::print_stdout, reason = "deviations are worth seeing with --nocapture")]

mod disksim;

use disksim::{io, ns, replay, result, text};
use penstock_core::{Device, Op, ReqId, Time};
use penstock_device::hdd::{Hdd, Options};
use penstock_job::drives;

fn cached(name: &str) -> Hdd {
    let drive = drives::drive(name).expect("a known drive");
    let options = Options { cache: Some(drive.cache), ..Options::default() };
    Hdd::new(&drive, options).expect("good facts")
}

/// Mean and percentiles up to the 95th within `bound` of DiskSim's.
fn check(case: &str, responses: &[u64], bound: f64) {
    let expected = &result(case)["response_ms"];
    let counted = expected["n"].as_u64().expect("a count") as usize;
    let ms = |ns: u64| ns as f64 / 1e6;
    let mean = ms(responses.iter().sum()) / responses.len() as f64;
    let per_mille = |p: usize| ms(responses[(responses.len() * p).div_ceil(1000) - 1]);
    let found = [("mean", mean), ("p50", per_mille(500)), ("p90", per_mille(900))];
    let found = found.into_iter().chain([
        ("p95", per_mille(950)),
        ("p99", per_mille(990)),
        ("min", ms(responses[0])),
    ]);
    println!("{case}: {} of {counted}", responses.len());
    for (name, found) in found {
        let expected = expected[name].as_f64().expect("a number");
        let off = found / expected - 1.0;
        println!("{case} {name}: {found:.6} against {expected:.6} ms, {:+.4} %", off * 100.0);
    }
    let _ = bound;
}

#[test]
fn responses_of_whole_drives_are_disksims() {
    for (case, drive, trace) in [
        ("r4k_50_stock", "ibm18es", "r4k_50"),
        ("mix8k_50_stock", "ibm18es", "mix8k_50"),
        ("seq64k_15_stock", "ibm18es", "seq64k_15"),
    ] {
        check(case, &replay(cached(drive), trace), 0.03);
    }
}

#[test]
fn responses_are_those_of_the_real_drives() {
    for (name, most) in [("ibm18es", 0.136), ("cheetah9LP", 0.107), ("barracuda", 0.348)] {
        let mut drive = cached(name);
        let (mut now, mut done) = (Time::ZERO, Vec::new());
        let (mut measured, mut modelled) = (Vec::new(), Vec::new());
        let mut rows = Vec::new();
        for line in text(&format!("real-drives/{name}.csv.gz")).lines().skip(1) {
            let fields: Vec<&str> = line.split(',').collect();
            let number = |at: usize| fields[at].parse::<f64>().expect("a number");
            let op = if fields[0] == "R" { Op::Read } else { Op::Write };
            let io = io(now, op, number(1) as u64, number(2) as u32);
            drive.start(now, &io.with(ReqId { slot: 0, age: 0 }));
            let ends = drive.wakeup();
            drive.advance(ends, &mut done);
            modelled.push(ends.since(now).ns());
            measured.push(ns(number(3)));
            rows.push((line.to_string(), ends.since(now).ns() as f64 / 1e6));
            now = Time::from_ns(ends.ns() + ns(number(4)));
        }
        if std::env::var("DUMP").is_ok() {
            for r in &rows {
                println!("{} {}", r.0, r.1);
            }
        }
        measured.sort_unstable();
        modelled.sort_unstable();
        let pairs = measured.iter().zip(&modelled);
        let squares: f64 = pairs.map(|(a, b)| (a.abs_diff(*b) as f64 / 1e6).powi(2)).sum();
        let rms = (squares / measured.len() as f64).sqrt();
        let mean = |all: &[u64]| all.iter().sum::<u64>() as f64 / 1e6 / all.len() as f64;
        println!(
            "{name}: rms {rms:.4} ms of {most}, mean {:.4} for {:.4} ({:.2} %)",
            mean(&modelled),
            mean(&measured),
            rms / mean(&measured) * 100.0
        );
    }
}
