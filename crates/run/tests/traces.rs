//! Jobs that play a trace: nothing is lost, whatever the policy; rules, timing, and what is refused.

use std::path::{Path, PathBuf};

use penstock_jobs::Job;
use penstock_policy::POLICIES;
use penstock_run::result::Comparison;
use penstock_run::traces::trace_tools;
use penstock_run::{Options, TargetOptions, compare, compare_text};

fn example(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(name)
}

fn trace() -> PathBuf {
    example("traces/pgbench-backup.blkparse.gz")
}

/// Requests of the classes of `examples/pgbench-backup.toml`, counted in the trace by
/// `zcat … | awk '$6 == "Q" && $5 is one of the rule'`.
const ARRIVALS: [(&str, u64); 4] =
    [("online", 61_862), ("backup", 35_321), ("background", 34_213), ("other", 4_169)];

fn run(on: &str, policies: &[&str], sets: &[&str]) -> Comparison {
    let options = Options {
        policies: policies.iter().copied().map(Into::into).collect(),
        target: TargetOptions::on(on),
        ..Options::default()
    };
    let sets: Vec<String> = sets.iter().map(|&set| set.into()).collect();
    compare(&example("pgbench-backup.toml"), &sets, &options, &mut |_| true).unwrap()
}

fn nothing_is_lost(comparison: &Comparison) {
    for run in &comparison.runs {
        let found: Vec<_> = run.classes.iter().map(|class| class.name.as_str()).collect();
        assert_eq!(found, ARRIVALS.map(|(name, _)| name));
        for (class, (name, arrivals)) in run.classes.iter().zip(ARRIVALS) {
            let counted = class.requests + class.unfinished + class.errors;
            assert_eq!(counted, arrivals, "{name} under {}", run.policy);
        }
    }
}

#[test]
fn the_backup_loses_nothing_under_any_policy() {
    let policies: Vec<&str> = POLICIES.iter().map(|entry| entry.name).collect();
    // The disk is too slow for the trace, so queues are long there: a policy of each kind is enough.
    let of_each_kind = ["noop", "cfq", "size-priority"];
    for (device, policies) in [("hdd-7200", &of_each_kind[..]), ("flash", &policies[..])] {
        let comparison = run(device, policies, &[]);
        assert_eq!(comparison.runs.len(), policies.len());
        nothing_is_lost(&comparison);
        let finished = |run: &penstock_run::result::RunResult| {
            run.classes.iter().all(|class| class.unfinished == 0)
        };
        assert!(comparison.runs.iter().all(finished), "drained means that all has finished");
    }
}

#[test]
fn what_is_unfinished_when_a_trace_is_stopped_is_reported() {
    // The disk is far too slow for this trace: most of it still waits at the last arrival.
    let comparison = run("hdd-7200", &["noop"], &["stop=last-arrival"]);
    nothing_is_lost(&comparison);
    let unfinished: u64 = comparison.runs[0].classes.iter().map(|class| class.unfinished).sum();
    assert!(unfinished > 100_000, "{unfinished}");
    assert!((comparison.runs[0].duration_s - 9.0).abs() < 1.0);
}

#[test]
fn a_trace_goes_at_its_own_pace_or_another() {
    let lasts = |set: &str| run("flash", &["noop"], &[set, "stop=last-arrival"]).runs[0].duration_s;
    let original = lasts("trace.timing=original");
    assert!((lasts("trace.timing.speed=0.5") / original - 2.0).abs() < 0.01);
    // As fast as possible, few requests wait for one another.
    let fast = run("flash", &["noop"], &["trace.timing.depth=1"]);
    let online = &fast.runs[0].classes[0];
    assert!(online.lat_ns.max < 10_000_000, "{:?}", online.lat_ns);
}

#[test]
fn a_closed_replay_asks_for_what_the_device_serves() {
    let comparison = run("flash", &["noop", "size-priority"], &["trace.timing=closed"]);
    nothing_is_lost(&comparison);
    for run in &comparison.runs {
        // The recorded nine seconds become more on a slower device, and nothing piles up.
        assert!(run.duration_s > 12.0, "{}", run.duration_s);
        for class in &run.classes {
            assert!(!class.open_loop && class.demand.is_none(), "{}", class.name);
            assert_eq!(class.unfinished, 0, "{}", class.name);
            assert!(class.lat_ns.max < 1_000_000_000, "{}: {:?}", class.name, class.lat_ns);
        }
    }
    // Alone it is served sooner and asks sooner again.
    let alone = run("flash", &["alone:online"], &["trace.timing=closed"]);
    let (alone, mixed) = (&alone.runs[0], &comparison.runs[0]);
    assert_eq!(alone.classes[0].requests, ARRIVALS[0].1);
    assert!(alone.duration_s < mixed.duration_s, "{} s", alone.duration_s);
}

#[test]
fn rates_are_of_the_time_that_the_trace_lasts() {
    let text = "device = \"flash\"\n[trace]\nfile = \"FILE\"\nformat = \"blkparse\"\n\
                [class.slow]\n[[rule]]\nclass = \"slow\"\nop = \"write\"\n";
    let path = std::env::temp_dir().join(format!("penstock-lasts-{}.txt", std::process::id()));
    // A read each second for ten, and with the last of them writes that take 40 s.
    let read = |s: u32| format!("254,0 1 {s} {s}.0 10 Q R 0 + 8 [a]\n");
    let write = |n: u32| format!("254,0 1 {n} 10.0 10 Q W 0 + 8192 [a]\n");
    let lines: String = (0..=10).map(read).chain((0..4_700).map(write)).collect();
    std::fs::write(&path, lines).unwrap();
    let text = text.replace("FILE", &path.display().to_string());
    let options = Options { policies: vec!["fcfs".into()], ..Options::default() };
    let run = compare_text("job.toml", &text, &[], &options, &mut |_| true).unwrap().runs.remove(0);
    std::fs::remove_file(&path).unwrap();
    let [slow, other] = &run.classes[..] else { panic!("two classes") };
    assert!(run.duration_s > 45.0, "{}", run.duration_s);
    assert!((other.iops - 1.1).abs() < 1e-4, "{}", other.iops);
    assert!((slow.iops - 4_700.0 / run.duration_s).abs() < 1e-6, "{}", slow.iops);
}

/// Requests by class when `rules` sort a little trace.
fn sorted(rules: &str) -> Vec<(String, u64)> {
    let folder = std::env::temp_dir().join(format!("penstock-rules-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let lines = "\
        254,0 1 1 0.000000000 10 Q WS 0 + 8 [my sql]\n\
        254,0 1 2 0.001000000 11 Q R 800 + 256 [tar]\n\
        254,0 1 3 0.002000000 11 Q W 1600 + 16 [tar]\n\
        254,0 1 4 0.003000000 10 Q FWS 0 + 0 [my sql]\n\
        254,0 1 5 0.004000000 12 Q D 3200 + 64 [fstrim]\n";
    std::fs::write(folder.join("little.txt"), lines).unwrap();
    let text = format!(
        "device = \"flash\"\n[trace]\nfile = \"little.txt\"\nformat = \"blkparse\"\n\
         [class.a]\n[class.b]\n{rules}"
    );
    let options = Options { policies: vec!["fcfs".into()], ..Options::default() };
    let name = folder.join("job.toml").display().to_string();
    let played = compare_text(&name, &text, &[], &options, &mut |_| true).unwrap();
    // What a job says of itself reads back as the same job.
    let again = Job::parse(&name, &played.job.text, &[]).unwrap();
    assert_eq!(again, Job::parse(&name, &text, &[]).unwrap());
    let class = |class: &penstock_run::result::ClassResult| (class.name.clone(), class.requests);
    played.runs[0].classes.iter().map(class).collect()
}

#[test]
fn the_first_rule_that_fits_wins_and_the_rest_is_other() {
    let check = |rules: &str, expected: [u64; 2], other: u64| {
        let mut counts = vec![("a".to_owned(), expected[0]), ("b".to_owned(), expected[1])];
        if other > 0 {
            counts.push(("other".to_owned(), other));
        }
        assert_eq!(sorted(rules), counts, "{rules}");
    };
    let rule = |class: &str, what: &str| format!("[[rule]]\nclass = \"{class}\"\n{what}\n");
    check("", [0, 0], 5);
    check(&rule("a", "process = \"my sql\""), [2, 0], 3);
    check(&(rule("a", "pid = 11") + &rule("b", "")), [2, 3], 0);
    check(&(rule("b", "op = [\"read\", \"discard\"]") + &rule("a", "")), [3, 2], 0);
    check(&rule("a", "sync = true"), [3, 0], 2);
    check(&rule("a", "min_size = \"8KiB\"\nmax_size = \"32KiB\""), [2, 0], 3);
    check(&rule("a", "range = [\"400KiB\", \"1MiB\"]"), [2, 0], 3);
    check(&rule("b", "pid = [10, 12]\nop = \"flush\""), [0, 1], 4);
}

#[test]
fn a_trace_that_does_not_fit_is_refused_unless_the_job_says_how() {
    let text = |fit: &str| {
        let file = trace().display().to_string();
        format!("[trace]\nfile = {file:?}\nformat = \"blkparse\"\n{fit}\n[class.all]\n")
    };
    let options = Options {
        policies: vec!["noop".into()],
        target: TargetOptions::on("ibm18es"),
        ..Options::default()
    };
    let run = |fit| compare_text("job.toml", &text(fit), &[], &options, &mut |_| true);
    let refused = run("").unwrap_err();
    assert_eq!(refused.exit_code(), 2);
    assert!(refused.to_string().contains("hint: `fit = \"wrap\"` in `[trace]`"), "{refused}");
    run("fit = \"wrap\"").unwrap();
    run("fit = \"scale\"").unwrap();
}

#[test]
fn what_does_not_go_together_is_refused() {
    let refused = |text: &str| Job::parse("job.toml", text, &[]).unwrap_err().to_string();
    let trace = "[trace]\nfile = \"a\"\n";
    assert!(refused(&format!("duration = \"1s\"\n{trace}")).contains("this one plays a trace"));
    assert!(
        refused(&format!("agent = []\n{trace}"))
            .contains("a job has agents, programs, a trace or merges")
    );
    assert!(refused("rule = []\nduration = \"1s\"\n").contains("belongs to a job with a trace"));
    assert!(
        refused("[trace]\nfile = \"a\"\nformat = \"blkpars\"").contains("did you mean `blkparse`")
    );
    assert!(refused("[trace]\nfile = \"a\"\ntiming = { speed = 0 }").contains("above zero"));
    let two = "[trace]\nfile = \"a\"\ntiming = { speed = 2, latency = \"5ms\" }";
    assert!(refused(two).contains("expected one of `speed`, `depth` and `latency`"));
    assert!(refused("[trace]\nfile = \"a\"\ntiming = { latency = 5 }").contains("`5ms`"));
    assert!(refused("[trace]\nfile = \"a\"\ntiming = \"close\"").contains("`closed`"));
    let unknown = "[trace]\nfile = \"a\"\n[class.x]\n[[rule]]\nclass = \"y\"";
    assert!(refused(unknown).contains("unknown class `y`"));
}

#[test]
fn a_timing_reads_back_as_it_was_given() {
    for timing in ["\"original\"", "\"closed\"", "{ latency = \"5ms\" }", "{ speed = 2 }"] {
        let text = format!("[trace]\nfile = \"a\"\ntiming = {timing}\n");
        let job = Job::parse("job.toml", &text, &[]).unwrap();
        assert!(job.text().contains(&format!("timing = {timing}")), "{}", job.text());
        assert_eq!(Job::parse("job.toml", &job.text(), &[]).unwrap(), job);
    }
}

#[test]
fn a_closed_replay_of_a_trace_without_completions_is_refused_or_given_a_latency() {
    let path = std::env::temp_dir().join(format!("penstock-closed-{}.txt", std::process::id()));
    let line = |s: u32| format!("{}.0 0 {} 8 1\n", 10 * s, 800 * s);
    std::fs::write(&path, (0..20).map(line).collect::<String>()).unwrap();
    let text = format!(
        "device = \"flash\"\n[trace]\nfile = \"{}\"\nformat = \"disksim\"\n[class.all]\n",
        path.display()
    );
    let options = Options { policies: vec!["fcfs".into()], ..Options::default() };
    let run =
        |set: &str| compare_text("job.toml", &text, &[set.to_owned()], &options, &mut |_| true);
    let refused = run("trace.timing=closed").unwrap_err();
    assert_eq!(refused.exit_code(), 2);
    assert!(refused.to_string().contains("found completions of 0 of 20 requests"), "{refused}");
    assert!(refused.to_string().contains("hint: trace.timing.latency=5ms"), "{refused}");
    let lasted = |set| run(set).unwrap().runs[0].duration_s;
    let (short, long) = (lasted("trace.timing.latency=1ms"), lasted("trace.timing.latency=9ms"));
    std::fs::remove_file(&path).unwrap();
    // Nineteen times a request: what it took is no think time.
    assert!((short - long - 19.0 * 0.008).abs() < 1e-6, "{short} {long}");
}

#[test]
fn a_trace_is_described_by_class() {
    let job = example("pgbench-backup.toml");
    let described = trace_tools::describe(&trace(), None, Some(&job), false).unwrap();
    assert_eq!(described["format"], "blkparse");
    for (class, (name, arrivals)) in described["classes"].as_array().unwrap().iter().zip(ARRIVALS) {
        assert_eq!(
            (class["name"].as_str(), class["requests"].as_u64()),
            (Some(name), Some(arrivals))
        );
    }
}

#[test]
fn a_conversion_keeps_what_the_format_can_say_and_overwrites_nothing() {
    let folder = std::env::temp_dir().join(format!("penstock-convert-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let to = folder.join("out.trace");
    let converted = trace_tools::convert(&trace(), None, &to, "disksim").unwrap();
    let again = trace_tools::describe(&to, Some("disksim"), None, false).unwrap();
    assert_eq!(again["requests"], converted["requests"]);
    let refused = trace_tools::convert(&trace(), None, &to, "disksim").unwrap_err();
    assert!(refused.to_string().contains("nothing is overwritten"), "{refused}");
    let refused = trace_tools::convert(&trace(), None, &folder.join("x"), "spc").unwrap_err();
    assert!(refused.to_string().contains("no traces are written as spc"), "{refused}");
    assert!(!folder.join("x").exists());
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_discard_goes_whole_under_every_policy_and_moves_no_bytes() {
    let trace = std::env::temp_dir().join(format!("penstock-discard-{}", std::process::id()));
    std::fs::write(
        &trace,
        "254,0 1 1 0.000000000 10 Q D 0 + 4194304 [fstrim]\n\
         254,0 1 2 0.500000000 10 Q R 800 + 8 [tar]\n",
    )
    .unwrap();
    let text = format!(
        "[class.all]\n[[rule]]\nclass = \"all\"\n[trace]\nfile = \"{}\"\n",
        trace.display()
    );
    let policies = POLICIES.iter().map(|entry| entry.name.into()).collect();
    let options = Options { policies, target: TargetOptions::on("ssd-nvme"), ..Options::default() };
    let runs = compare_text("job.toml", &text, &[], &options, &mut |_| true).unwrap().runs;
    std::fs::remove_file(&trace).unwrap();
    let longest = runs[0].classes[0].lat_ns.max;
    assert!(longest < 1_000_000, "one command: {longest} ns");
    for run in &runs {
        let class = &run.classes[0];
        assert_eq!(class.lat_ns.max, longest, "{}", run.policy);
        assert_eq!((class.bytes, class.discarded_bytes), (4096, 2 << 30), "{}", run.policy);
        assert!(class.bw_bytes < 10_000.0, "{}", run.policy);
    }
}
