//! Rounds of a comparison, and classes that run alone.

use std::sync::Arc;

use penstock_run::result::{Comparison, RunResult};
use penstock_run::{Failure, Options, Pace, Step, compare_text};

/// People and a batch on a modelled disk.
const JOB: &str = r#"
seed = 5
duration = "3s"
device = "hdd-7200"

[class.people]
[class.batch]

[[agent]]
class = "batch"
op = "write"
size = "256KiB"
pattern = "random"
region = ["40%", "60%"]
arrivals = { kind = "closed", depth = 2 }

[[agent]]
class = "people"
op = "write"
size = "4KiB"
pattern = "random"
region = ["0%", "10%"]
arrivals = { kind = "poisson", rate = "20/s" }
"#;

fn compared(policies: &[&str], repeat: Option<u32>, sets: &[&str]) -> Comparison {
    let options = options(policies, repeat);
    let sets: Vec<String> = sets.iter().map(ToString::to_string).collect();
    compare_text("job.toml", JOB, &sets, &options, &mut |_| true).unwrap()
}

fn options(policies: &[&str], repeat: Option<u32>) -> Options {
    let policies = policies.iter().map(|name| (*name).into()).collect();
    Options { policies, repeat, detail: true, ..Options::default() }
}

fn refused(options: &Options) -> String {
    let result = compare_text("job.toml", JOB, &[], options, &mut |_| true);
    let failure: Failure = result.expect_err("it is refused");
    assert_eq!(failure.exit_code(), 2);
    failure.to_string()
}

/// Returns the result of a run without its round.
fn figures(run: &RunResult) -> String {
    let mut json = serde_json::to_value(run).unwrap();
    let fields = json.as_object_mut().unwrap();
    fields.remove("round");
    fields.remove("seed");
    json.to_string()
}

#[test]
fn each_round_runs_every_policy_once_and_has_the_next_seed() {
    let comparison = compared(&["noop", "size-priority"], Some(3), &[]);
    let rounds: Vec<_> = comparison.runs.iter().map(|run| (run.round, run.seed)).collect();
    let expected = [0, 0, 1, 1, 2, 2].map(|round| (Some(round), Some(5 + u64::from(round))));
    assert_eq!(rounds, expected);
    let names: Vec<_> = comparison.runs.iter().map(|run| &*run.policy).collect();
    assert_eq!(names, ["noop", "size-priority"].repeat(3));
    assert_ne!(figures(&comparison.runs[0]), figures(&comparison.runs[2]), "another seed");
}

#[test]
fn what_runs_side_by_side_gives_what_each_gives_by_itself() {
    let names = ["noop", "deadline", "cfq", "size-priority", "sptf"];
    let together = compared(&names, Some(2), &[]);
    assert_eq!(together.runs.len(), 2 * names.len());
    for run in &together.runs {
        let seed = format!("seed={}", run.seed.expect("of its round"));
        let alone = compared(&[&run.policy], None, &[&seed]);
        assert_eq!(
            figures(run),
            figures(&alone.runs[0]),
            "{} of round {:?}",
            run.policy,
            run.round
        );
    }
}

/// The policies of four runs that are stopped once `finished` of them have ended, and which of these
/// runs are partial.
fn stopped_after(finished: usize, duration: &str) -> (Vec<String>, Vec<bool>) {
    let mut ended = 0;
    let mut progress = |step: Step<'_>| match step {
        Step::Finished { number, .. } => {
            assert_eq!(number, ended, "in the order of the runs");
            ended += 1;
            true
        }
        _ => ended < finished,
    };
    let names = ["noop", "deadline", "cfq", "size-priority"];
    let sets = [format!("duration={duration}")];
    let comparison = compare_text("job.toml", JOB, &sets, &options(&names, None), &mut progress);
    let runs = comparison.expect("the runs so far").runs;
    let whole = runs.iter().filter(|run| !run.interrupted).count();
    assert_eq!(whole, ended);
    runs.into_iter().map(|run| (run.policy, run.interrupted)).unzip()
}

#[test]
fn a_comparison_that_is_stopped_has_the_runs_so_far_in_their_order() {
    // A hundred hours take long enough to be stopped at the first step.
    assert_eq!(stopped_after(0, "6000min"), (vec!["noop".into()], vec![true]));
    // How far the others are by then depends on the cores; the last of them alone may be partial.
    let (policies, partial) = stopped_after(2, "10min");
    assert_eq!(policies, ["noop", "deadline", "cfq", "size-priority"][..policies.len()]);
    assert!(policies.len() >= 2 && partial.iter().rev().skip(1).all(|partial| !partial));
}

#[test]
fn equal_seeds_give_equal_figures_in_the_round_of_the_same_number() {
    let (one, other) = (compared(&["noop"], Some(3), &[]), compared(&["noop"], Some(3), &[]));
    for (one, other) in one.runs.iter().zip(&other.runs) {
        assert_eq!(figures(one), figures(other));
    }
    // A round is a run with its seed: nothing of the others stays behind.
    let third = compared(&["noop"], None, &["seed=7"]);
    assert_eq!(figures(&one.runs[2]), figures(&third.runs[0]));
}

#[test]
fn the_first_round_is_the_run_of_one_who_asked_for_none() {
    let plain = compared(&["noop"], None, &[]);
    assert_eq!((plain.runs[0].round, plain.runs[0].seed), (None, None));
    let text = serde_json::to_string(&plain).unwrap();
    assert!(!text.contains("\"round\""), "nothing new without rounds");
    let once = compared(&["noop"], Some(1), &[]);
    assert_eq!((once.runs[0].round, once.runs[0].seed), (Some(0), Some(5)));
    assert_eq!(figures(&once.runs[0]), figures(&plain.runs[0]));
}

#[test]
fn steps_name_the_round() {
    let mut finished = Vec::new();
    let options = options(&["noop", "fcfs"], Some(2));
    let mut progress = |step: Step<'_>| {
        if let Step::Finished { round, number, of, .. } = step {
            finished.push((round, number, of));
        }
        true
    };
    compare_text("job.toml", JOB, &[], &options, &mut progress).unwrap();
    let expected = [(Some(0), 0, 4), (Some(0), 1, 4), (Some(1), 2, 4), (Some(1), 3, 4)];
    assert_eq!(finished, expected);
}

#[test]
fn progress_can_end_all_rounds() {
    // A person watches: then steps come in every run, however short.
    let watch = Some(Arc::new(Pace::default()));
    let options = Options { watch, speed: Some("20".into()), ..options(&["noop"], Some(3)) };
    let mut progress = |step: Step<'_>| !matches!(step, Step::Running { round: Some(1), .. });
    let comparison = compare_text("job.toml", JOB, &[], &options, &mut progress).unwrap();
    let ended: Vec<_> = comparison.runs.iter().map(|run| run.interrupted).collect();
    assert_eq!(ended, [false, true]);
}

#[test]
fn a_record_is_of_one_run() {
    let record = std::env::temp_dir().join(format!("penstock-rounds-{}", std::process::id()));
    let options = Options { record: Some(record.clone()), ..options(&["noop"], Some(2)) };
    assert_eq!(
        refused(&options),
        "error: a record is of one run\nhint: leave the record out, or run once"
    );
    assert!(!record.exists(), "nothing stays behind after wrong input");
}

/// How many requests of `class` arrived.
fn arrivals(run: &RunResult, class: &str) -> u64 {
    let one = run.classes.iter().find(|one| one.name == class).unwrap();
    one.requests + one.unfinished + one.errors
}

#[test]
fn a_class_alone_is_all_there_is() {
    let comparison = compared(&["alone:people", "noop"], None, &[]);
    let [alone, among] = &comparison.runs[..] else { panic!("two runs") };
    let names: Vec<_> = alone.classes.iter().map(|class| &*class.name).collect();
    assert_eq!((&*alone.policy, names), ("alone:people", vec!["people"]));
    let detail = alone.detail.as_ref().unwrap();
    assert_eq!(detail.classes.len(), 1);
    assert!((alone.classes[0].share - 1.0).abs() < 1e-9, "no other class had the device");
    // Only their own requests stand before them.
    let p99 = |run: &RunResult, at: usize| run.classes[at].lat_ns.percentile["99.000000"];
    assert!(p99(alone, 0) < p99(among, 0));
    assert_eq!(arrivals(alone, "people"), arrivals(among, "people"));
}

#[test]
fn a_class_alone_asks_as_it_does_among_others() {
    // Until the others begin, everything is the same: each request comes at the same time, and at
    // the same place, for the disk's arm takes as long to get there.
    let comparison = compared(&["alone:people", "fcfs"], None, &["agent.0.start=2500ms"]);
    let windows = |run: &RunResult| {
        let detail = run.detail.as_ref().unwrap();
        let people = detail.classes.iter().find(|one| one.name == "people").unwrap();
        let before = people.series.iter().filter(|row| row.at_s + detail.window_s <= 2.5);
        before.map(|row| (row.requests, row.p50_ns, row.p99_ns)).collect::<Vec<_>>()
    };
    let [alone, among] = &comparison.runs[..] else { panic!("two runs") };
    assert!(windows(alone).iter().filter(|(requests, ..)| *requests > 0).count() > 10);
    assert_eq!(windows(alone), windows(among));
    assert!(arrivals(among, "batch") > 0, "and then they do begin");
}

#[test]
fn a_class_that_there_is_not_cannot_run_alone() {
    assert_eq!(
        refused(&options(&["alone:peoples"], None)),
        "error: unknown class `peoples` of alone:CLASS\nhint: did you mean `people`?"
    );
}
