//! Watching a run changes nothing but when things happen.

use std::sync::Arc;

use penstock_core::{Go, Out, Part, Policy, Request, Served, Time};
use penstock_live::ReportTimer;
use penstock_policy::Params;
use penstock_policy::fcfs::Fcfs;
use penstock_run::{
    Candidate, Failure, Foreign, Options, Pace, Snapshot, Step, TargetOptions, compare_text,
};

/// People and a batch on a modelled disk.
const JOB: &str = r#"
duration = "5s"
device = "hdd-7200"

[class.people]
[class.batch]

[[agent]]
class = "people"
op = "write"
size = "4KiB"
pattern = "random"
region = ["0%", "10%"]
arrivals = { kind = "poisson", rate = "20/s" }

[[agent]]
class = "batch"
op = "write"
size = "256KiB"
pattern = "sequential"
region = ["40%", "60%"]
arrivals = { kind = "closed", depth = 2 }
"#;

fn options(speed: &str) -> Options {
    Options {
        policies: vec!["noop".into(), "size-priority".into()],
        watch: Some(Arc::new(Pace::default())),
        speed: Some(speed.into()),
        detail: true,
        ..Options::default()
    }
}

fn refused(options: &Options) -> String {
    let result = compare_text("job.toml", JOB, &[], options, &mut |_| true);
    let failure: Failure = result.expect_err("it is refused");
    assert_eq!(failure.exit_code(), 2);
    failure.to_string()
}

#[test]
fn a_watched_run_has_the_result_of_an_unwatched_one() {
    let result = |options: &Options| {
        let comparison = compare_text("job.toml", JOB, &[], options, &mut |_| true).unwrap();
        serde_json::to_string(&comparison.runs).unwrap()
    };
    let alone = result(&Options { watch: None, speed: None, ..options("max") });
    for speed in ["20", "1e9", "max"] {
        assert!(result(&options(speed)) == alone, "at speed {speed}");
    }
}

#[test]
fn steps_report_how_each_class_fares_and_what_has_ended() {
    let (mut seen, mut ended) = (Vec::<Snapshot>::new(), Vec::new());
    let mut completed = Vec::new();
    let options = options("20");
    compare_text("job.toml", JOB, &[], &options, &mut |step| {
        match step {
            Step::Running { now, device, .. } => {
                assert_eq!(device, "hdd-7200");
                seen.extend(now.cloned());
            }
            Step::Finished { policy, classes, now, .. } => {
                ended.push((policy.to_owned(), classes.len()));
                let last = now.expect("it is watched");
                for (last, class) in last.classes.iter().zip(classes) {
                    assert_eq!((last.requests, last.bytes), (class.requests, class.bytes));
                    let buckets = serde_json::to_value(&last.latency_buckets).unwrap();
                    assert_eq!(buckets["count"], class.requests);
                    completed.push(class.requests);
                }
            }
            Step::Creating { .. } => unreachable!("a model has no file"),
        }
        true
    })
    .unwrap();
    assert_eq!(ended, [("noop".into(), 2), ("size-priority".into(), 2)]);
    let filled = seen.iter().find(|now| now.windows > 0).expect("windows end");
    assert_eq!(filled.classes.iter().map(|one| &one.name).collect::<Vec<_>>(), ["people", "batch"]);
    let batch = &filled.classes[1];
    assert!(batch.iops > 0.0 && batch.p99_ns >= batch.p50_ns && batch.p50_ns > Some(0));
    assert!(completed.iter().all(|&requests| requests > 0), "{completed:?}");
    let (mut queued, mut in_flight) = (0, 0);
    for class in seen.iter().flat_map(|now| &now.classes) {
        let level = class.level.expect("a policy holds them");
        assert_eq!(level.queued + level.in_flight, class.outstanding);
        (queued, in_flight) = (queued.max(level.queued), in_flight.max(level.in_flight));
    }
    assert!(queued > 0 && in_flight > 0, "two of the batch are always outstanding");
    let shares: f64 = filled.classes.iter().map(|one| one.share).sum();
    assert!((shares - 1.0).abs() < 1e-9, "{shares}");
}

#[test]
fn steps_of_an_unwatched_run_have_no_classes() {
    let options = Options { watch: None, speed: None, ..options("max") };
    let sets = ["duration=10min".to_owned()];
    let mut steps = 0;
    compare_text("job.toml", JOB, &sets, &options, &mut |step| {
        steps += u32::from(matches!(step, Step::Running { now: None, .. }));
        assert!(!matches!(step, Step::Running { now: Some(_), .. }));
        true
    })
    .unwrap();
    assert!(steps > 0);
}

/// The only request is an hour away: a run that waited for it would never see an interrupt.
#[test]
fn an_interrupt_ends_a_run_while_nothing_happens() {
    let job = r#"
duration = "2h"
device = "flash"
[class.rare]
[[agent]]
class = "rare"
op = "read"
size = "4KiB"
pattern = "random"
start = "1h"
arrivals = { kind = "closed", depth = 1 }
"#;
    let options = Options { policies: vec!["fcfs".into()], ..options("1") };
    let mut steps = 0;
    let result = compare_text("job.toml", job, &[], &options, &mut |_| {
        steps += 1;
        steps < 3
    });
    assert!(result.unwrap().runs[0].interrupted);
}

#[test]
fn a_speed_is_a_number_above_zero_or_max() {
    for speed in ["0", "-1", "inf", "NaN", "fast", "", "10x"] {
        let message = refused(&options(speed));
        assert!(message.contains(&format!("--speed {speed}: expected")), "{message}");
    }
}

#[test]
fn a_real_file_takes_its_own_time() {
    let path = std::env::temp_dir().join(format!("penstock-watching-{}", std::process::id()));
    let on = path.join("disk.img").display().to_string();
    let target = TargetOptions { create: Some("1MiB".into()), ..TargetOptions::on(on) };
    let options = Options { target, ..options("max") };
    let message = refused(&options);
    assert!(message.contains("--speed max does not go with"), "{message}");
    assert!(!path.exists(), "wrong input writes nothing");
}

/// `fcfs` that takes 50 ms of real time for each arrival and each decision, as on a slow machine.
struct Slow(Fcfs);

fn slow() -> Candidate {
    let build = |_: &Served<'_>, _| -> Box<dyn Policy> { Box::new(Slow(Fcfs::new(&Params::NONE))) };
    Candidate::Foreign(Foreign { name: "slow".into(), build: Arc::new(build) })
}

fn a_while() {
    let mut timer = ReportTimer::default();
    timer.due();
    while !timer.due() {}
}

impl Policy for Slow {
    fn enqueue(&mut self, now: Time, req: &Request) {
        a_while();
        self.0.enqueue(now, req);
    }

    fn dispatch(&mut self, now: Time, out: &mut Out<'_>) -> Option<Go> {
        a_while();
        self.0.dispatch(now, out)
    }

    fn complete(&mut self, now: Time, req: &Request, part: &Part) {
        self.0.complete(now, req, part);
    }
}

/// Reports of a run under `slow` of `depth` requests at once, and after how many it is to end.
fn slowly(depth: u32, after: u32) -> (u32, penstock_run::result::RunResult) {
    let job = format!(
        "duration = \"1us\"\ndevice = \"flash\"\n[class.all]\n[[agent]]\nclass = \"all\"\n\
         op = \"read\"\nsize = \"4KiB\"\npattern = \"random\"\n\
         arrivals = {{ kind = \"closed\", depth = {depth} }}\n"
    );
    let options = Options { policies: vec![slow()], ..Options::default() };
    let mut reports = 0;
    let mut count = |step: Step<'_>| {
        reports += u32::from(matches!(step, Step::Running { .. }));
        reports < after
    };
    let mut comparison = compare_text("job.toml", &job, &[], &options, &mut count).unwrap();
    (reports, comparison.runs.remove(0))
}

/// Reports came after every 16,384 turns, however long those took: signals took effect no sooner.
#[test]
fn a_run_of_slow_turns_reports_while_it_goes_on() {
    let (reports, run) = slowly(4, u32::MAX);
    assert!(!run.interrupted && run.classes[0].requests == 4);
    assert!(reports >= 4, "{reports}");
}

#[test]
fn a_turn_in_which_many_requests_arrive_can_be_ended() {
    let (reports, run) = slowly(1_000_000, 3);
    assert!(run.interrupted, "not even the first turn came to its end");
    assert!(reports == 3 && run.classes[0].unfinished < 100, "{}", run.classes[0].unfinished);
}
