//! Many jobs with merges in one session: what comes of each is in its place, one that waits for
//! memory for good is a result where failures are kept, and wrong input is a failure.

use penstock_run::papers::merge_placement::layout;
use penstock_run::result::{Comparison, Ended, RunResult};
use penstock_run::{Failure, Failures, Options, Session, TargetOptions, Variant};

const TEXT: &str = "[device]\nmodel = \"linear\"\narray = { level = \"jbod\", disks = 5, scheduler = \"each\" }\n\
                    [merge]\njobs = 2\n";

fn variant(sets: &[&str]) -> Variant {
    let sets: Vec<String> = sets.iter().map(ToString::to_string).collect();
    Variant::parse("job.toml", TEXT, &sets, &TargetOptions::default()).expect("a job")
}

fn run(variants: &[Variant], failures: Failures) -> Result<Vec<Comparison>, Failure> {
    let options = Options { policies: vec!["fcfs".into()], failures, ..Options::default() };
    let session = Session::open(options, variants, &mut |_| true)?;
    session.run(variants, &mut |_| true).map(|(_, comparisons)| comparisons)
}

#[test]
fn a_lack_of_memory_is_a_result_where_failures_are_kept() {
    let variants = [
        variant(&["merge.placement=separate"]),
        variant(&["merge.memory.partition=420"]),
        variant(&["merge.jobs=1"]),
        variant(&["merge.placement=shared"]),
    ];
    let comparisons = run(&variants, Failures::Keep).unwrap_or_else(|failure| panic!("{failure}"));
    let runs: Vec<&RunResult> = comparisons.iter().flat_map(|each| &each.runs).collect();
    let [separate, starved, alone, shared] = &runs[..] else { panic!("{runs:?}") };
    let makespan = |run: &RunResult| run.merge.as_ref().unwrap().makespan_s.unwrap();
    let times = [alone, shared, separate].map(|run| makespan(run));
    assert!(times.is_sorted_by(|time, next| 1.2 * time < *next), "{times:?}");
    assert_eq!((starved.ended, starved.classes.len()), (Some(Ended::Deadlock), 0));
    let failure = starved.failure.as_ref().unwrap();
    assert!(failure.starts_with("the cache is too small (deadlock)"), "{failure}");
    assert!(failure.contains("needs 12 more of 420"), "{failure}");

    let raised = run(&variants, Failures::Raise).unwrap_err();
    assert_eq!((raised.to_string(), raised.is_deadlock()), (format!("error: {failure}"), true));
}

/// Runs as many at once as there are processors, or one after the other: each has its own seed.
#[test]
fn what_comes_of_a_job_does_not_depend_on_the_others() {
    let seeds = ["seed=1", "seed=2", "seed=3", "seed=4"];
    let variants = seeds.map(|seed| variant(&["merge.run=100blocks", seed]));
    let text = |comparisons: &[Comparison]| serde_json::to_string(comparisons).unwrap();
    let together = run(&variants, Failures::Keep).unwrap();
    for (number, alone) in variants.iter().enumerate() {
        let alone = run(std::slice::from_ref(alone), Failures::Keep).unwrap();
        assert_eq!(text(&alone), text(&together[number..=number]));
    }
}

#[test]
fn wrong_input_is_a_failure_even_where_failures_are_kept() {
    let options = Options { failures: Failures::Keep, ..Options::default() };
    let unknown = Variant { policies: vec!["no-such".into()], ..variant(&[]) };
    let failure = Session::open(options, &[unknown], &mut |_| true).err().expect("it is unknown");
    assert_eq!((failure.exit_code(), failure.is_deadlock()), (2, false));
    assert!(layout("job.toml", "device = \"hdd-7200\"\n", &[]).is_err());
}

#[test]
fn a_layout_has_every_run_once_and_fills_its_disks() {
    for placement in ["dedicated", "separate", "shared", "all"] {
        let found = layout("job.toml", TEXT, &[format!("merge.placement={placement}")]).unwrap();
        let found = serde_json::to_value(&found).unwrap();
        let mut ends = vec![0; 5];
        for job in found["jobs"].as_array().unwrap() {
            let runs = job["runs"].as_array().unwrap();
            assert_eq!(runs.len(), 20);
            let lengths = runs.iter().map(|run| (run, &found["run"]));
            for (place, length) in lengths.chain([(&job["output"], &found["output"])]) {
                let end = place["block"].as_u64().unwrap() + length.as_u64().unwrap();
                let disk = place["disk"].as_u64().unwrap() as usize;
                ends[disk] = end.max(ends[disk]);
            }
        }
        assert_eq!(serde_json::to_value(&ends).unwrap(), found["used"], "{placement}");
        assert_eq!(ends.iter().sum::<u64>(), 2 * 2 * 20_000, "{placement}");
    }
}
