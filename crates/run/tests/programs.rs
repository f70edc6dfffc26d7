//! Programs on processors: read, written out, run, recorded, refused.

use std::path::PathBuf;

use penstock_core::Span;
use penstock_jobs::{Job, Stop};
use penstock_run::record::replay;
use penstock_run::result::{Comparison, RunResult};
use penstock_run::{Options, TargetOptions, compare_text};
use penstock_workload::program::{Cpus, Order, Pick, Starts};

const PAPER: &str = include_str!("../../../papers/online-batch/job.toml");

/// A transaction that asks for its write at the very instant at which a piece of a long one ends.
const MEETING: &str = r#"
duration = "1s"

[device]
name = "a unit a millisecond"
model = "fixed"
unit = "1ms"
unit_bytes = "10kB"

[class.online]
[class.batch]

[[program]]
class = "batch"
phases = [{ write = "50kB" }]
arrivals = { kind = "once" }

[[program]]
class = "online"
phases = [{ cpu = "2ms" }, { write = "1000B" }]
arrivals = { kind = "once" }

[policy.size-priority]
split = "10kB"
"#;

fn parse(text: &str, sets: &[&str]) -> Job {
    let sets: Vec<String> = sets.iter().map(ToString::to_string).collect();
    Job::parse("job.toml", text, &sets).unwrap_or_else(|error| panic!("{error}"))
}

fn refused(text: &str, sets: &[&str]) -> String {
    let sets: Vec<String> = sets.iter().map(ToString::to_string).collect();
    Job::parse("job.toml", text, &sets).expect_err("a mistake").to_string()
}

fn options(policy: &str) -> Options {
    Options { policies: vec![policy.into()], ..Options::default() }
}

fn compared(text: &str, sets: &[&str], options: &Options) -> Comparison {
    let sets: Vec<String> = sets.iter().map(ToString::to_string).collect();
    compare_text("job.toml", text, &sets, options, &mut |_| true).unwrap()
}

fn ran(text: &str, sets: &[&str]) -> RunResult {
    compared(text, sets, &options("size-priority")).runs.remove(0)
}

#[test]
fn the_papers_job_is_what_it_is_said_to_be_and_reads_back_as_the_same() {
    let job = parse(PAPER, &[]);
    let spec = job.workload.programs().unwrap();
    let cpus = Cpus {
        count: 4,
        slice: Span::from_ms(10),
        order: Order::Priority,
        preempt: false,
        pick: Pick::RoundRobin,
    };
    assert_eq!(spec.cpus, cpus);
    assert_eq!(spec.programs[1].repeat, 20);
    assert_eq!(spec.programs[1].start, Span::from_ms(100));
    assert_eq!(job.stop, Stop::Done(spec.programs[1].class));
    assert_eq!(Job::parse("job.toml", &job.text(), &[]).unwrap(), job);
}

#[test]
fn every_word_of_programs_reads_back_as_the_same() {
    let sets = [
        "cpu.pick=lowest",
        "cpu.preempt=true",
        "cpu.order=fifo",
        "cpu.slice=0.3ms",
        "program.0.kind=poisson",
        "program.0.rate=7/min",
        "program.0.pattern=random",
        "program.0.region=10%,1GiB",
        "program.1.stagger=3ms",
        "program.1.stop=5s",
        "program.1.phases.1.write=3MiB",
    ];
    let job = parse(PAPER, &sets);
    assert_eq!(Job::parse("job.toml", &job.text(), &[]).unwrap(), job);
    let spec = job.workload.programs().unwrap();
    assert_eq!(spec.programs[0].starts, Starts::Poisson { rate: 7.0 / 60.0 });
    let job = parse(PAPER, &["program.1.kind=groups", "program.1.period=2s"]);
    let groups = job.workload.programs().unwrap();
    let starts = Starts::Groups { offsets: vec![Span::ZERO], period: Span::from_secs(2) };
    assert_eq!(groups.programs[1].starts, starts, "another kind forgets what the file gave");
}

#[test]
fn messages_name_the_place_of_a_mistake() {
    let instead = |good: &str, bad: &str| {
        assert_eq!(PAPER.matches(good).count(), 1, "{good}");
        refused(&PAPER.replace(good, bad), &[])
    };
    let both = instead("{ cpu = \"500ms\" }", "{ cpu = \"500ms\", write = \"1B\" }");
    assert!(both.contains("a phase is one thing"), "{both}");
    let offsets = instead("\"1ms\", \"1ms\", \"1ms\"]", "\"300ms\"]");
    assert!(offsets.contains("lie within the period of 200ms"), "{offsets}");
    let unknown = instead("done:batch", "done:bach");
    assert!(unknown.contains("unknown class `bach`") && unknown.contains("`batch`"), "{unknown}");
    let kind = instead("count = 5", "count = 5, rate = \"2/s\"");
    assert!(kind.contains("`rate` belongs to arrivals of another kind"), "{kind}");
    let late = refused(PAPER, &["program.1.start=1h"]);
    assert!(late.contains("the program starts at"), "{late}");
    let agent = "[[agent]]\nclass = \"batch\"\nop = \"read\"\nsize = \"4KiB\"\n\
                 pattern = \"random\"\narrivals = { kind = \"closed\" }\n";
    let mixed = refused(&format!("{PAPER}\n{agent}"), &[]);
    assert!(mixed.contains("this one has programs"), "{mixed}");
    let agents = format!("duration = \"1s\"\nstop = \"done:batch\"\n[class.batch]\n{agent}");
    assert!(refused(&agents, &[]).contains("`done:` belongs to a job with programs"));
}

#[test]
fn who_asks_at_the_instant_at_which_a_piece_ends_goes_next() {
    let run = ran(MEETING, &[]);
    assert_eq!(run.classes[0].wait_ns.max, 0);
    assert_eq!(run.classes[0].lat_ns.max, 1_000_000);
    assert_eq!(run.classes[1].lat_ns.max, 6_000_000, "and the long one a piece later");
}

#[test]
fn a_run_ends_with_the_programs_of_a_class_and_is_measured_until_then() {
    let run = ran(PAPER, &["program.0.stop=1s", "program.1.count=1"]);
    assert!(!run.interrupted);
    // Of the transactions of the first second five at most meet it, 100 ms each.
    assert!((11.0..11.5).contains(&run.duration_s), "{}", run.duration_s);
    let batch = run.classes[1].programs.as_ref().unwrap();
    assert_eq!((batch.n, batch.unfinished), (1, 0));
    assert!((batch.cpu_time_s - 10.0).abs() < 1e-9, "all of it, no more: {}", batch.cpu_time_s);
}

#[test]
fn a_class_alone_has_the_processors_to_itself() {
    let alone = compared(PAPER, &[], &options("alone:batch")).runs.remove(0);
    // Two of the five share a processor.
    assert!((20.0..22.0).contains(&alone.duration_s), "{}", alone.duration_s);
}

#[test]
fn decisions_under_programs_replay_alike() {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("programs.record");
    for file in [path.clone(), path.with_extension("record.decisions")] {
        let _ = std::fs::remove_file(file);
    }
    let options = Options { record: Some(path.clone()), ..options("size-priority") };
    compared(PAPER, &[], &options);
    let replay = replay::replay(&path, &[]).unwrap();
    assert!(replay.first_difference.is_none(), "{:?}", replay.first_difference);
    assert_eq!(replay.alike, replay.decisions);
    assert!(replay.decisions > 6_000);
}

#[test]
fn programs_do_not_run_in_real_time() {
    for on in ["null", "emulated:hdd-7200", "./no-such-file.img"] {
        let options = Options { target: TargetOptions::on(on), ..options("noop") };
        let result = compare_text("job.toml", PAPER, &[], &options, &mut |_| true);
        let failure = result.expect_err("it is refused");
        assert_eq!(failure.exit_code(), 2);
        assert!(failure.to_string().contains("the job has programs"), "{failure}");
    }
}

#[test]
fn the_same_programs_run_alike_on_a_disk_with_an_arm() {
    let run = |sets: &[&str]| {
        let options = Options { target: TargetOptions::on("hdd-7200"), ..options("deadline") };
        let run = compared(PAPER, sets, &options).runs.remove(0);
        serde_json::to_string(&run).unwrap()
    };
    assert_eq!(run(&[]), run(&[]));
    let random = ["program.0.kind=poisson", "program.0.rate=20/s"];
    assert_eq!(run(&random), run(&random));
    assert_ne!(run(&random), run(&["seed=2", random[0], random[1]]));
}
