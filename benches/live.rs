//! Compares live runs with fio, on the same file and in turn: every engine, past the page cache and
//! through it, sequential and random reads of 4 and 128 KiB; and 32 threads that read a part of the
//! file from memory.
//!
//! For Penstock the whole of `penstock run` is measured: agents, the loop and the results. The
//! cases with many rounds run with a policy, the others without one, as fio does. fio runs a job
//! with its defaults and the same engine. CPU time is that of the whole process. For Penstock it
//! includes the set-up; for fio it is what it takes beyond a run of one request. (fio's report
//! leaves out the threads that serve `posixaio`: two thirds of the time.) Both drop the file's pages
//! before they begin. Rounds alternate, and so does the order within them, because a machine's speed
//! drifts. The ratio of each round is printed, and their median. Through the page cache the first
//! round is not counted.
//!
//! Buffers of Penstock lie in huge pages, those of fio in pages of 4 KiB unless the machine gives
//! huge pages to every program. On a device that pays for each segment this alone made direct reads
//! of 128 KiB three times slower with fio, so the ratio has to be read with the machine's setting.
//!
//! `cargo bench --bench live -- WORDS` runs the cases with all of these words in their names.
//! Without fio the bench only prints that there is nothing to compare with.
#![allow(clippy::print_stdout, reason = "a benchmark's output is its purpose")]

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;

use penstock_run::{Options, TargetOptions, compare_text};
use rustix::param::clock_ticks_per_second;
use rustix::time::{ClockId, clock_gettime};

/// Seconds of a round of one program.
const SECONDS: u32 = 2;

/// Bytes of the file that both programs read.
const SIZE: u64 = 1 << 30;

/// A case that both programs run.
#[derive(Clone, Copy)]
struct Case {
    /// Name of the engine here and in fio.
    engine: (&'static str, &'static str),
    buffered: bool,
    random: bool,
    kib: u32,
    depth: u32,
    /// A policy, or the kernel, to which fio leaves the order.
    policy: &'static str,
    /// Number of threads that read a sixteenth of the file, which is in the page cache.
    readers: Option<u32>,
    /// Rounds of the comparison, each with a run of both programs.
    rounds: usize,
}

/// Reads of 4 KiB at random places past the page cache, in many rounds.
const MAIN: Case = Case {
    engine: ("io_uring", "io_uring"),
    buffered: false,
    random: true,
    kib: 4,
    depth: 1,
    policy: "fcfs",
    readers: None,
    rounds: 11,
};

/// Synchronous readers that the disk does not delay.
const READERS: Case =
    Case { engine: ("psync", "psync"), buffered: true, policy: AS_IS, readers: Some(32), ..MAIN };

/// No policy of ours decides.
const AS_IS: &str = "kernel:as-is";

/// Every engine, with its usual depth.
const ENGINES: [((&str, &str), u32); 6] = [
    (("psync", "psync"), 1),
    (("vsync", "vsync"), 1),
    (("mmap", "mmap"), 1),
    (("libaio", "libaio"), 32),
    (("posix-aio", "posixaio"), 32),
    (("io_uring", "io_uring"), 32),
];

impl Case {
    /// Bytes of the file that are read.
    fn size(self) -> u64 {
        if self.readers.is_some() { SIZE / 16 } else { SIZE }
    }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cache = if self.buffered { "buffered" } else { "direct" };
        let pattern = if self.random { "random" } else { "sequential" };
        let Self { engine: (engine, _), kib, depth, .. } = self;
        write!(f, "{engine} {cache} {pattern} {kib}KiB ")?;
        match self.readers {
            Some(readers) => write!(f, "{readers} readers, from memory"),
            None => write!(f, "depth {depth}"),
        }
    }
}

/// The result of one run.
#[derive(Clone, Copy)]
struct Reached {
    iops: f64,
    /// CPU seconds per operation.
    cpu: f64,
}

/// The target of both programs.
enum Target<'a> {
    File(&'a Path),
    Null,
}

fn cpu_seconds() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

fn penstock(place: &Target<'_>, case: Case) -> Reached {
    let Case { kib, depth, .. } = case;
    let cache = if case.buffered { "buffered" } else { "direct" };
    let pattern = if case.random { "random" } else { "sequential" };
    let keep = if case.readers.is_some() { ", page_cache = \"keep\"" } else { "" };
    let issues = match case.readers {
        Some(readers) => {
            format!("call = \"sync\"\ncopies = {readers}\nengine = \"{}\"", case.engine.0)
        }
        None => format!("arrivals = {{ kind = \"closed\", depth = {depth} }}"),
    };
    let job = format!(
        "duration = \"{SECONDS}s\"\nstop = \"{SECONDS}s\"\nlive = {{ depth = {depth}{keep} }}\n\
         [class.all]\n[[agent]]\nclass = \"all\"\nop = \"read\"\nsize = \"{kib}KiB\"\n\
         cache = \"{cache}\"\npattern = \"{pattern}\"\nregion = [\"0B\", \"{}B\"]\n{issues}\n",
        case.size()
    );
    let target = match place {
        // Readers with an engine of their own are threads.
        Target::File(path) => TargetOptions {
            engine: case.readers.is_none().then(|| case.engine.0.into()),
            ..TargetOptions::on(path.display().to_string())
        },
        Target::Null => TargetOptions::on("null"),
    };
    let options = Options { policies: vec![case.policy.into()], target, ..Options::default() };
    let begun = cpu_seconds();
    let compared = compare_text("bench.toml", &job, &[], &options, &mut |_| true);
    let spent = cpu_seconds() - begun;
    let run = &compared.unwrap_or_else(|failure| panic!("{failure}")).runs[0];
    Reached { iops: run.classes[0].iops, cpu: spent / run.classes[0].requests as f64 }
}

/// Returns the CPU seconds of all child processes that have ended, in hundredths.
fn children_cpu_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/self/stat").expect("Linux");
    let (_, numbers) = text.rsplit_once(')').expect("the program's name in brackets");
    // `cutime` and `cstime` are the 16th and 17th field, and the first here is the third.
    let ticks = numbers.split_whitespace().skip(13).take(2);
    let ticks: f64 = ticks.map(|field| field.parse::<f64>().expect("a number")).sum();
    ticks / clock_ticks_per_second() as f64
}

/// Returns the CPU seconds that fio takes for a run of one request.
fn fio_set_up(path: &Path) -> f64 {
    let begun = children_cpu_seconds();
    let file = format!("--filename={}", path.display());
    let run = ["--name=bench", "--rw=read", "--bs=4k", "--number_ios=1", &file];
    let output = Command::new("fio").args(run).output().expect("fio was there a moment ago");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    children_cpu_seconds() - begun
}

fn fio(place: &Target<'_>, case: Case, set_up: f64) -> Reached {
    let (engine, file) = match place {
        Target::File(path) => (case.engine.1, format!("--filename={}", path.display())),
        Target::Null => ("null", "--filename=nothing".into()),
    };
    let rw = if case.random { "randread" } else { "read" };
    let begun = children_cpu_seconds();
    let output = Command::new("fio")
        .args(["--name=bench", "--time_based", "--output-format=json", &file])
        .args([format!("--rw={rw}"), format!("--bs={}k", case.kib)])
        .args([format!("--direct={}", i32::from(!case.buffered)), format!("--ioengine={engine}")])
        .args([format!("--iodepth={}", case.depth), format!("--runtime={SECONDS}")])
        .args([format!("--size={}", case.size()), "--group_reporting".into()])
        .arg(format!("--numjobs={}", case.readers.unwrap_or(1)))
        .arg(format!("--invalidate={}", i32::from(case.readers.is_none())))
        .output()
        .expect("fio was there a moment ago");
    let spent = children_cpu_seconds() - begun - set_up;
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let output_json: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let number = |path: &str| output_json.pointer(path).and_then(serde_json::Value::as_f64);
    let number = |path: &str| number(path).unwrap_or_else(|| panic!("fio reports no {path}"));
    Reached { iops: number("/jobs/0/read/iops"), cpu: spent / number("/jobs/0/read/total_ios") }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Compares `case` on `target`, if the words of the command line match its `name`.
fn measure(name: &str, target: &Target<'_>, case: Case, set_up: f64) {
    let named = |word: &String| word.starts_with("--") || name.contains(word.as_str());
    if !std::env::args().skip(1).all(|word| named(&word)) {
        return;
    }
    let (mut iops, mut cpu) = (Vec::new(), Vec::new());
    println!("{name}");
    if case.buffered {
        // The first reads after other work meet memory that the machine has used for other things,
        // or has not allocated yet.
        penstock(target, case);
        fio(target, case, set_up);
    }
    for round in 0..case.rounds {
        // The order changes, so that a machine that slows down favours neither.
        let first = (round % 2 == 0).then(|| penstock(target, case));
        let theirs = fio(target, case, set_up);
        let ours = first.unwrap_or_else(|| penstock(target, case));
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

/// Returns the cases of `engine` at `depth`, in few rounds: direct and buffered if it can, of both
/// sizes and patterns.
fn matrix((engine, depth): ((&'static str, &'static str), u32)) -> impl Iterator<Item = Case> {
    let ways = if engine.0 == "mmap" { &[true][..] } else { &[false, true] };
    ways.iter().flat_map(move |&buffered| {
        [(false, 4), (true, 4), (false, 128), (true, 128)].map(|(random, kib)| Case {
            engine,
            buffered,
            random,
            kib,
            depth,
            policy: AS_IS,
            readers: None,
            rounds: 3,
        })
    })
}

/// An owned file of the benchmark, which is removed at the end.
struct Owned(PathBuf);

impl Drop for Owned {
    fn drop(&mut self) {
        // A file that is left behind is in the build folder.
        let _ = std::fs::remove_file(&self.0);
    }
}

fn main() {
    let version = Command::new("fio").arg("--version").output();
    let Ok(version) = version else {
        println!("no fio here, so nothing to compare with; install it to see this benchmark");
        return;
    };
    let version = String::from_utf8_lossy(&version.stdout).trim().to_owned();
    println!("Live, against {version}: reads of {SECONDS} s each, in turn");
    let huge_pages = std::fs::read_to_string("/sys/kernel/mm/transparent_hugepage/enabled");
    println!("huge pages without asking: {}\n", huge_pages.as_deref().unwrap_or("unknown").trim());
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("penstock-bench.img");
    let owned = Owned(path);
    penstock_live::Target::open(&owned.0, Some(SIZE)).unwrap_or_else(|error| panic!("{error}"));
    let file = Target::File(&owned.0);
    let set_up = fio_set_up(&owned.0);
    let measure = |name: &str, target, case| measure(name, target, case, set_up);
    for depth in [1, 32, 128] {
        let case = Case { depth, ..MAIN };
        measure(&format!("{case}, often"), &file, case);
    }
    for depth in [1, 32] {
        measure(&format!("null depth {depth}"), &Target::Null, Case { depth, ..MAIN });
    }
    for case in ENGINES.into_iter().flat_map(matrix) {
        measure(&case.to_string(), &file, case);
    }
    measure(&READERS.to_string(), &file, READERS);
}
