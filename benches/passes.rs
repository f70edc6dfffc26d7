//! Compares passes over files with fio's `psync`: direct sequential writes and reads of 512 KiB, and random reads of
//! 4 KiB, each over a whole file.
//!
//! Both programs use one file, except for first writes, which each extend a new file of their own; random reads are of
//! every block once. The figure of both is bytes by the time of the calls, without a flush. Rounds alternate, and so does the order within them, because
//! a machine's speed drifts. The ratio of each round is printed, and their median.
//!
//! Without fio the bench only prints that there is nothing to compare with.
#![allow(clippy::print_stdout, reason = "a benchmark's output is its purpose")]

use std::path::{Path, PathBuf};
use std::process::Command;

use penstock_live::CallForm;
use penstock_run::TargetOptions;
use penstock_run::passes::{FileTestOptions, FileTestSession, PassSettings};

const ROUNDS: usize = 5;

/// A test that both programs do.
#[derive(Clone, Copy)]
struct Case {
    test: &'static str,
    /// The value of fio's `rw`.
    rw: &'static str,
    record: u64,
    size: u64,
}

const CASES: [Case; 4] = [
    WRITE,
    Case { test: "rewrite", ..WRITE },
    Case { test: "read", rw: "read", ..WRITE },
    Case { test: "random_read", rw: "randread", record: 4 << 10, size: 64 << 20 },
];

const WRITE: Case = Case { test: "write", rw: "write", record: 512 << 10, size: 512 << 20 };

/// Returns bytes a second of our pass over the file at `path`, which is kept.
fn penstock(path: &Path, case: Case) -> f64 {
    let Case { test, record, size, .. } = case;
    let options = FileTestOptions {
        tests: vec![test.into()],
        threads: 1,
        size,
        records: vec![record],
        files: vec![path.to_owned()],
        target: TargetOptions::default(),
        starts: Vec::new(),
        keep: true,
        read_percent: 50,
        scheduler: None,
        settings: PassSettings {
            form: CallForm::Calls,
            stride: 1,
            direct: true,
            sync: false,
            include_flush: false,
            include_close: false,
            stonewall: true,
            verify: false,
            drop_cache: false,
            seed: 42,
        },
    };
    let measured = FileTestSession::open(options, &mut || true).and_then(|mut session| {
        let result = session.run(test, 1, (record, size), &mut |_| true)?;
        session.finish()?;
        Ok(result.workers[0])
    });
    let worker = measured.unwrap_or_else(|failure| panic!("{failure}"));
    worker.bytes as f64 / worker.ns as f64 * 1e9
}

/// Returns bytes a second of fio over the file at `path`.
fn fio(path: &Path, case: Case) -> f64 {
    let Case { rw, record, size, .. } = case;
    let output = Command::new("fio")
        .args(["--name=bench", "--ioengine=psync", "--direct=1", "--output-format=json"])
        // A new file is extended by its writes, as ours is.
        .args(["--fallocate=none", "--create_on_open=1", "--thread"])
        .args([format!("--filename={}", path.display()), format!("--rw={rw}")])
        .args([format!("--bs={record}"), format!("--size={size}")])
        .output()
        .expect("fio was there a moment ago");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let direction = if rw == "write" { "write" } else { "read" };
    let number = |name| report["jobs"][0][direction][name].as_f64().expect("fio reports it");
    assert!((number("io_bytes") - size as f64).abs() < 0.5, "all of the file");
    number("bw_bytes")
}

/// Removes the file at `path`, if there is one.
fn remove(path: &Path) {
    let _ = std::fs::remove_file(path);
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values[values.len() / 2]
}

fn main() {
    let version = Command::new("fio").arg("--version").output();
    let Ok(version) = version else {
        println!("no fio here, so nothing to compare with; install it to see this benchmark");
        return;
    };
    let version = String::from_utf8_lossy(&version.stdout).trim().to_owned();
    println!("Passes over files, against psync of {version}\n");
    let path = |name| PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let (shared, theirs) = (path("penstock-passes"), path("fio-passes"));
    for case in CASES {
        println!("{} of {} KiB in {} MiB, direct", case.test, case.record >> 10, case.size >> 20);
        let is_first = case.test == "write";
        penstock(&shared, Case { size: case.size, ..WRITE });
        let ours = || {
            if is_first {
                remove(&shared);
            }
            penstock(&shared, case)
        };
        let peer = || {
            remove(&theirs);
            fio(if is_first { &theirs } else { &shared }, case)
        };
        let mut ratios = Vec::new();
        for round in 0..ROUNDS {
            // The order changes, so that a machine that slows down favours neither.
            let first = (round % 2 == 0).then(ours);
            let theirs = peer();
            let rate = first.unwrap_or_else(ours);
            let ratio = rate / theirs;
            ratios.push(ratio);
            println!("  {:>7.1} MB/s, fio {:>7.1}: {ratio:.3} x", rate / 1e6, theirs / 1e6);
        }
        for path in [&shared, &theirs] {
            remove(path);
        }
        println!("  median: {:.3} x\n", median(ratios));
    }
}
