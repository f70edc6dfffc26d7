//! A live run compared with fio's, on the same file and in turn: random reads of 4 KiB, past the
//! page cache.
//!
//! For Penstock the whole of `penstock run` is measured: agents, a policy, the loop and the
//! results; for fio, a job with its defaults and the same engine. CPU time is that of the process
//! for Penstock (including its set-up), and the figure in fio's report for fio. Rounds alternate,
//! and so does the order within them, because a machine's speed drifts. The ratio of each round is
//! printed, and the median of them.
//!
//! Without fio there is nothing to compare with, and the bench prints that.
#![allow(clippy::print_stdout, reason = "a benchmark's output is its purpose")]

use std::path::{Path, PathBuf};
use std::process::Command;

use penstock_run::{Options, TargetOptions, compare_text};
use rustix::time::{ClockId, clock_gettime};

/// Rounds of each comparison: one of each program.
const ROUNDS: usize = 11;

/// Seconds of a round of one program.
const SECONDS: u32 = 2;

/// The file that both read.
const SIZE: u64 = 1 << 30;

/// What one run reached.
#[derive(Clone, Copy)]
struct Reached {
    iops: f64,
    /// CPU seconds of an operation.
    cpu: f64,
}

/// Where both programs run.
enum Place<'a> {
    File(&'a Path),
    Null,
}

fn cpu_seconds() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

fn penstock(place: &Place<'_>, depth: u32) -> Reached {
    let job = format!(
        "duration = \"{SECONDS}s\"\nstop = \"{SECONDS}s\"\nlive = {{ depth = {depth} }}\n\
         [class.all]\n[[agent]]\nclass = \"all\"\nop = \"read\"\nsize = \"4KiB\"\n\
         pattern = \"random\"\nregion = [\"0B\", \"{SIZE}B\"]\n\
         arrivals = {{ kind = \"closed\", depth = {depth} }}\n"
    );
    let on = match place {
        Place::File(path) => path.display().to_string(),
        Place::Null => "null".into(),
    };
    let options = Options {
        policies: vec!["fcfs".into()],
        target: TargetOptions::on(on),
        ..Options::default()
    };
    let begun = cpu_seconds();
    let compared = compare_text("bench.toml", &job, &[], &options, &mut |_| true);
    let spent = cpu_seconds() - begun;
    let run = &compared.unwrap_or_else(|failure| panic!("{failure}")).runs[0];
    Reached { iops: run.classes[0].iops, cpu: spent / run.classes[0].requests as f64 }
}

fn fio(place: &Place<'_>, depth: u32) -> Reached {
    let (engine, file) = match place {
        Place::File(path) => ("io_uring", format!("--filename={}", path.display())),
        Place::Null => ("null", "--filename=nothing".into()),
    };
    let output = Command::new("fio")
        .args(["--name=bench", "--rw=randread", "--bs=4k", "--direct=1", "--time_based"])
        .args(["--output-format=json", &file, &format!("--ioengine={engine}")])
        .args([format!("--iodepth={depth}"), format!("--runtime={SECONDS}")])
        .arg(format!("--size={SIZE}"))
        .output()
        .expect("fio was there a moment ago");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let output_json: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let number = |path: &str| output_json.pointer(path).and_then(serde_json::Value::as_f64);
    let number = |path: &str| number(path).unwrap_or_else(|| panic!("fio reports no {path}"));
    let busy = (number("/jobs/0/usr_cpu") + number("/jobs/0/sys_cpu")) / 100.0;
    let seconds = number("/jobs/0/read/runtime") / 1e3;
    Reached {
        iops: number("/jobs/0/read/iops"),
        cpu: busy * seconds / number("/jobs/0/read/total_ios"),
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Compares at `place`, if the filter of the command line names it.
fn measure(what: &str, place: &Place<'_>, depth: u32) {
    let named = |filter: &String| filter.starts_with("--") || what.contains(filter.as_str());
    if !std::env::args().skip(1).all(|filter| named(&filter)) {
        return;
    }
    let (mut iops, mut cpu) = (Vec::new(), Vec::new());
    println!("{what}, depth {depth}");
    for round in 0..ROUNDS {
        // Who goes first changes, so that a machine that slows down favours neither.
        let first = (round % 2 == 0).then(|| penstock(place, depth));
        let theirs = fio(place, depth);
        let ours = first.unwrap_or_else(|| penstock(place, depth));
        iops.push(ours.iops / theirs.iops);
        cpu.push(ours.cpu / theirs.cpu);
        println!(
            "  {:>9.0} IOPS, fio {:>9.0}: {:.2} x   {:>6.2} us CPU each, fio {:>6.2}: {:.2} x",
            ours.iops,
            theirs.iops,
            ours.iops / theirs.iops,
            ours.cpu * 1e6,
            theirs.cpu * 1e6,
            ours.cpu / theirs.cpu,
        );
    }
    println!("  median: {:.2} x the IOPS, {:.2} x the CPU time each\n", median(iops), median(cpu));
}

/// An owned file of the benchmark's own; it goes with this.
struct Owned(PathBuf);

impl Drop for Owned {
    fn drop(&mut self) {
        // What is left behind is in the folder of what was built.
        let _ = std::fs::remove_file(&self.0);
    }
}

fn main() {
    let version = Command::new("fio").arg("--version").output();
    let Ok(version) = version else {
        println!("no fio here, so nothing to compare with; install it to see this benchmark");
        return;
    };
    println!(
        "Live, against {}: 4 KiB random reads of {SECONDS} s each, in turn, {ROUNDS} rounds\n",
        String::from_utf8_lossy(&version.stdout).trim()
    );
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("penstock-bench.img");
    let owned = Owned(path);
    penstock_live::Target::open(&owned.0, Some(SIZE)).unwrap_or_else(|error| panic!("{error}"));
    for depth in [1, 32, 128] {
        measure("io_uring on a file of 1 GiB", &Place::File(&owned.0), depth);
    }
    for depth in [1, 32] {
        measure("no target at all (null)", &Place::Null, depth);
    }
}
