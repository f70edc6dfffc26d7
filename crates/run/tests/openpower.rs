//! The machine of the `IOAgent` study: what its disks and its memory give.
//! docs/devices/openpower-710.md has the figures.

use penstock_run::result::RunResult;
use penstock_run::{Candidate, Options, TargetOptions, compare_text};

/// The policy that the machine had.
const CFQ: &str = "cfq";

/// Runs agents described by `agent` on each of `files` files of 4 GiB, each on a disk of the
/// machine.
fn run(files: u32, agent: &str, [duration, stop]: [&str; 2]) -> RunResult {
    let text = format!(
        "duration = \"{duration}\"\nstop = \"{stop}\"\n[class.agents]\n[[file]]\nname = \"data\"\n\
         count = {files}\nsize = \"4GiB\"\n[[agent]]\nclass = \"agents\"\ncall = \"async\"\n{agent}"
    );
    let target = TargetOptions::on("openpower-710");
    let options = Options { policies: vec![Candidate::from(CFQ)], target, ..Options::default() };
    let result = compare_text("job.toml", &text, &[], &options, &mut |_| true).unwrap();
    assert_eq!(result.device, "openpower-710.disk");
    result.runs.into_iter().next().expect("one policy")
}

/// Throughput of all files in millions of bytes a second.
fn rate(run: &RunResult) -> f64 {
    run.files.iter().map(|file| file.bw_bytes).sum::<f64>() / 1e6
}

/// Throughput of sequential reads of one file in millions of bytes a second.
fn sequential(cache: &str, size: &str, buffers: u32) -> f64 {
    let agent = format!(
        "op = \"read\"\npattern = \"sequential\"\ncache = \"{cache}\"\nsize = \"{size}\"\n\
         buffers = {buffers}\ntotal = \"1GiB\"\n"
    );
    rate(&run(1, &agent, ["10min", "drained"]))
}

/// The rate of the medium at the beginning of a disk, where its file lies.
fn medium() -> f64 {
    let rate = sequential("direct", "1MiB", 4);
    assert!((rate / 66.7 - 1.0).abs() < 0.01, "published are 66.7 MB/s, not {rate}");
    rate
}

#[test]
fn random_reads_gain_from_agents_and_buffers_towards_an_asymptote() {
    let random = |agents: u32, buffers: u32| {
        let agent = format!(
            "op = \"read\"\npattern = \"random\"\nsize = \"8KiB\"\ncopies = {agents}\n\
             buffers = {buffers}\n"
        );
        rate(&run(1, &agent, ["30s", "last-arrival"]))
    };
    let [one, four, drive, many, most] = [(1, 1), (1, 4), (1, 16), (16, 16), (32, 32)]
        .map(|(agents, buffers)| random(agents, buffers));
    let times = most / one;
    assert!((2.8..=3.8).contains(&times), "{one} to {most} MB/s: {times} times");
    assert!(one * 1.5 < four && four * 1.3 < drive, "{one}, {four}, {drive} MB/s");
    // Behind the drive's queue of 16 a host's queue adds little.
    assert!(most / drive < 1.1 && most / many < 1.05, "{drive}, {many}, {most} MB/s");
}

#[test]
fn sequential_reads_are_at_the_rate_of_the_medium_if_they_are_buffered() {
    let medium = medium();
    let [buffered, direct, deep] = [("buffered", 1), ("direct", 1), ("direct", 32)]
        .map(|(cache, buffers)| sequential(cache, "8KiB", buffers) / medium);
    assert!((0.95..=1.0).contains(&buffered), "buffered: {buffered} of the medium's rate");
    assert!(direct < 0.6, "direct, one buffer: {direct} of the medium's rate");
    assert!(deep > 0.95, "direct, 32 buffers: {deep} of the medium's rate");
}

#[test]
fn durable_writes_are_never_faster_than_the_disks_together() {
    let medium = medium();
    for (files, pattern, least) in [
        (1, "sequential", 0.9),
        (2, "sequential", 0.9),
        (4, "sequential", 0.9),
        (1, "random", 0.05),
    ] {
        let agent = format!(
            "op = \"write\"\npattern = \"{pattern}\"\ncache = \"buffered\"\nsize = \"8KiB\"\n\
             buffers = 8\ntotal = \"1GiB\"\n"
        );
        let run = run(files, &agent, ["10min", "durable"]);
        let bytes: u64 = run.files.iter().map(|file| file.bytes).sum();
        assert_eq!(bytes, u64::from(files) << 30);
        let part = rate(&run) / (f64::from(files) * medium);
        assert!((least..=1.0).contains(&part), "{files} {pattern}: {part} of the disks' rate");
    }
}
