//! Sessions: one target, open and locked while jobs run on it.

use std::path::PathBuf;

use penstock_run::result::Comparison;
use penstock_run::{
    Failure, Failures, Options, Session, Step, TargetOptions, Variant, compare_text,
};

/// Random reads for some milliseconds.
const JOB: &str = r#"
duration = "20ms"
device = "flash"

[class.all]

[[agent]]
class = "all"
op = "read"
size = "4KiB"
pattern = "random"
arrivals = { kind = "closed", depth = 2 }
"#;

fn job(sets: &[&str]) -> Variant {
    let sets: Vec<String> = sets.iter().map(ToString::to_string).collect();
    Variant::parse("job.toml", JOB, &sets, &TargetOptions::default()).expect("a job")
}

/// A job whose second request finds the first outstanding, of which one may be.
fn flooded() -> Variant {
    let flood = JOB.replace("\"closed\", depth = 2", "\"poisson\", rate = \"1000000/s\"");
    let sets = ["max_outstanding=1".to_owned()];
    Variant::parse("job.toml", &flood, &sets, &TargetOptions::default()).expect("a job")
}

fn options(target: TargetOptions) -> Options {
    Options { policies: vec!["fcfs".into()], target, ..Options::default() }
}

/// A place for an owned file, gone with it when the test ends.
struct Place(PathBuf);

impl Place {
    /// Next to the sources: the folder for temporary files may be memory.
    fn new(name: &str) -> Self {
        let name = format!("session-{name}-{}", std::process::id());
        let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
        std::fs::create_dir_all(&folder).expect("a folder");
        Self(folder)
    }

    fn file(&self) -> PathBuf {
        self.0.join("disk.img")
    }

    fn target(&self) -> TargetOptions {
        let engine = Some("threads".into());
        TargetOptions { engine, ..TargetOptions::on(self.file().display().to_string()) }
    }

    fn created(&self) -> TargetOptions {
        TargetOptions { create: Some("1MiB".into()), ..self.target() }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Returns the error of another run on the target, if it is refused.
fn refusal(target: TargetOptions) -> Option<String> {
    let other = compare_text("job.toml", JOB, &[], &options(target), &mut |_| true);
    other.err().map(|failure| failure.to_string())
}

fn failure<T>(result: Result<T, Failure>) -> String {
    result.err().expect("it fails").to_string()
}

#[test]
fn the_target_is_locked_during_and_between_the_runs_of_a_session() {
    let place = Place::new("locked");
    let mut refusals = 0;
    let mut locked = |_: Step<'_>| {
        let refused = refusal(place.target());
        assert!(refused.is_some_and(|why| why.contains("in use by another run")));
        refusals += 1;
        true
    };
    let jobs = [job(&["seed=1"]), job(&["seed=2"])];
    let mut open = |_: Step<'_>| true;
    let session = Session::open(options(place.created()), &jobs, &mut open).expect("a session");
    let (session, first) = session.run(&jobs, &mut locked).expect("two runs");
    let (session, more) = session.run(&jobs[..1], &mut locked).expect("another");
    assert_eq!((first.len(), more.len()), (2, 1));
    assert!(refusals >= 3, "a step at least for every run");
    drop(session);
    assert_eq!(refusal(place.target()), None, "free again");
}

#[test]
fn each_job_gets_what_a_comparison_of_its_own_says() {
    let seeds = ["seed=3", "seed=1", "seed=9", "seed=4"];
    let jobs = seeds.map(|seed| job(&[seed]));
    let options = Options { repeat: Some(2), detail: true, ..options(TargetOptions::default()) };
    let session = Session::open(options.clone(), &jobs, &mut |_| true).expect("a session");
    let (_, together) = session.run(&jobs, &mut |_| true).expect("eight runs");
    let text = |comparison: &Comparison| serde_json::to_string_pretty(comparison).expect("JSON");
    for (seed, comparison) in seeds.into_iter().zip(together) {
        let alone = compare_text("job.toml", JOB, &[seed.to_owned()], &options, &mut |_| true);
        assert_eq!(text(&comparison), text(&alone.expect("a comparison")));
    }
}

#[test]
fn a_round_has_every_job_once() {
    let jobs = [job(&["seed=1"]), job(&["seed=7"])];
    let mut finished = Vec::new();
    let mut step = |step: Step<'_>| {
        if let Step::Finished { round, number, of, .. } = step {
            finished.push((round, number, of));
        }
        true
    };
    let options = Options { repeat: Some(2), ..options(TargetOptions::default()) };
    let session = Session::open(options, &jobs, &mut |_| true).expect("a session");
    session.run(&jobs, &mut step).expect("four runs");
    let expected = [(Some(0), 0, 4), (Some(0), 1, 4), (Some(1), 2, 4), (Some(1), 3, 4)];
    assert_eq!(finished, expected);
}

#[test]
fn a_run_that_fails_ends_the_session_with_its_message() {
    let place = Place::new("failed");
    let jobs = [job(&[]), flooded(), job(&[])];
    let session = Session::open(options(place.created()), &jobs, &mut |_| true);
    let message = failure(session.expect("a session").run(&jobs, &mut |_| true));
    assert!(message.contains("class all found 1 requests outstanding"), "{message}");
    assert!(!place.file().exists(), "nothing was brought to its end on it");
    let session = Session::open(options(place.created()), &jobs, &mut |_| true);
    let (session, _) = session.expect("a session").run(&jobs[..1], &mut |_| true).expect("a run");
    failure(session.run(&jobs[1..], &mut |_| true));
    assert!(place.file().exists(), "an earlier design was");
    assert_eq!(refusal(place.target()), None, "and it is free");
}

#[test]
fn a_run_that_fails_is_a_result_where_failures_are_kept() {
    let place = Place::new("kept");
    let jobs = [job(&[]), flooded(), job(&["seed=2"])];
    let options = Options { failures: Failures::Keep, ..options(place.created()) };
    let session = Session::open(options, &jobs, &mut |_| true).expect("a session");
    let (_, comparisons) = session.run(&jobs, &mut |_| true).expect("three runs");
    let runs: Vec<_> = comparisons.iter().flat_map(|comparison| &comparison.runs).collect();
    assert_eq!([runs[0], runs[2]].map(|run| run.failure.as_deref()), [None, None]);
    let failure = runs[1].failure.as_ref().expect("it fails");
    assert!(failure.starts_with("class all found 1 requests outstanding"), "{failure}");
    assert!(runs[2].classes[0].requests > 0);
}

/// Files of other programs are not removed, even where a file of ours was.
#[test]
fn a_file_that_took_the_place_of_ours_stays_when_the_run_fails() {
    let place = Place::new("replaced");
    let session = Session::open(options(place.created()), &[flooded()], &mut |_| true);
    let session = session.expect("a session");
    std::fs::remove_file(place.file()).expect("it is there");
    std::fs::write(place.file(), "of another program").expect("a file");
    failure(session.run(&[flooded()], &mut |_| true));
    assert_eq!(std::fs::read(place.file()).expect("it is there"), b"of another program");
}

#[test]
fn a_job_that_does_not_fit_is_found_before_a_file_is_made() {
    let place = Place::new("unfit");
    let jobs = [job(&[]), job(&["agent.0.size=16MiB"])];
    let message = failure(Session::open(options(place.created()), &jobs, &mut |_| true));
    assert!(message.contains("the region holds 1MiB"), "{message}");
    assert!(!place.file().exists());
}

#[test]
fn a_variant_runs_under_its_own_policies() {
    let own = |policies: &[&str]| {
        let policies = policies.iter().map(|&name| name.into()).collect();
        Variant { policies, ..job(&[]) }
    };
    let variants = [own(&["noop", "cfq"]), own(&[]), own(&["all"])];
    let options = Options { repeat: Some(2), ..options(TargetOptions::default()) };
    let session = Session::open(options, &variants, &mut |_| true).expect("a session");
    let (_, found) = session.run(&variants, &mut |_| true).expect("runs");
    let ran =
        |at: usize| -> Vec<&str> { found[at].runs.iter().map(|run| run.policy.as_str()).collect() };
    assert_eq!(ran(0), ["noop", "cfq", "noop", "cfq"]);
    assert_eq!(ran(1), ["fcfs", "fcfs"]);
    assert_eq!(ran(2).len(), 2 * penstock_policy::POLICIES.len());
}
