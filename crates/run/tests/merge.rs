//! Merges side by side, against what an independent program of the same model found, against closed
//! forms, and where they cannot be.
//!
//! The figures of the other program are means of ten seeds or more; so are those here.

use penstock_run::result::{MergeResult, RunResult};
use penstock_run::{Failure, Options, compare_text};

/// Merges on disks of the model `linear` with a queue before each.
fn job(disks: u32) -> String {
    format!(
        "[device]\nmodel = \"linear\"\narray = {{ level = \"jbod\", disks = {disks}, scheduler = \"each\" }}\n\
         [merge]\njobs = 2\n"
    )
}

fn compare(
    job: &str,
    policy: &str,
    sets: &[&str],
    seeds: Option<u32>,
) -> Result<Vec<RunResult>, Failure> {
    let options = Options { policies: vec![policy.into()], repeat: seeds, ..Options::default() };
    let sets: Vec<String> = sets.iter().map(ToString::to_string).collect();
    compare_text("merge.toml", job, &sets, &options, &mut |_| true)
        .map(|comparison| comparison.runs)
}

/// A merge job, and the policy to run it under.
#[derive(Clone, Copy)]
struct Setting<'a> {
    disks: u32,
    jobs: u32,
    placement: &'a str,
    policy: &'a str,
    sets: &'a [&'a str],
}

impl<'a> Setting<'a> {
    const fn new(disks: u32, jobs: u32, placement: &'a str) -> Self {
        Self { disks, jobs, placement, policy: "fcfs", sets: &[] }
    }

    fn runs(self, seeds: u32) -> Vec<RunResult> {
        let own =
            [format!("merge.jobs={}", self.jobs), format!("merge.placement={}", self.placement)];
        let sets: Vec<&str> =
            own.iter().map(String::as_str).chain(self.sets.iter().copied()).collect();
        compare(&job(self.disks), self.policy, &sets, Some(seeds))
            .unwrap_or_else(|failure| panic!("{failure}"))
    }

    /// The mean of what `figure` says of five runs.
    fn mean(self, figure: impl Fn(&MergeResult) -> f64) -> f64 {
        self.mean_of(5, figure)
    }

    fn mean_of(self, seeds: u32, figure: impl Fn(&MergeResult) -> f64) -> f64 {
        let runs = self.runs(seeds);
        runs.iter().map(|run| figure(merge(run))).sum::<f64>() / f64::from(seeds)
    }
}

fn merge(run: &RunResult) -> &MergeResult {
    run.merge.as_ref().expect("a job with merges")
}

fn makespan(merge: &MergeResult) -> f64 {
    merge.makespan_s.expect("all have finished")
}

fn near(found: f64, expected: f64, within: f64, what: &str) {
    assert!((found / expected - 1.0).abs() < within, "{what}: {found:.2}, expected {expected}");
}

/// The makespan of each number of jobs from one on, in seconds.
fn row(
    disks: u32,
    placement: &str,
    policy: &str,
    expected: &[(u32, f64)],
    within: impl Fn(u32) -> f64,
) {
    for &(jobs, expected) in expected {
        let setting = Setting { policy, ..Setting::new(disks, jobs, placement) };
        let found = setting.mean(makespan);
        near(
            found,
            expected,
            within(jobs),
            &format!("{jobs} jobs, {disks} disks, {placement}, {policy}"),
        );
    }
}

/// Jobs that race differ much from seed to seed.
fn of_a_race(jobs: u32) -> f64 {
    match jobs {
        1 => 0.02,
        2 => 0.04,
        _ => 0.08,
    }
}

#[test]
fn five_disks() {
    row(5, "dedicated", "fcfs", &[(1, 24.8), (2, 27.1), (3, 60.9), (4, 174.3)], |_| 0.02);
    row(5, "separate", "fcfs", &[(1, 24.8), (2, 47.6), (3, 66.7), (4, 85.4), (5, 98.0)], of_a_race);
    row(5, "shared", "fcfs", &[(1, 24.8), (2, 38.2), (3, 49.7), (4, 61.5), (5, 74.0)], |_| 0.02);
    row(5, "all", "fcfs", &[(1, 35.5), (2, 44.9), (3, 54.4), (4, 64.3), (5, 73.9)], |_| 0.02);
}

#[test]
fn policies_against_the_race() {
    let round_robin = [(1, 24.8), (2, 38.9), (3, 50.6), (4, 64.1), (5, 77.8)];
    row(5, "separate", "round-robin", &round_robin, |_| 0.02);
    row(
        5,
        "separate",
        "read-first",
        &[(1, 24.8), (2, 34.6), (3, 44.6), (4, 54.6), (5, 64.3)],
        |_| 0.02,
    );
    for jobs in [2, 5] {
        let under = |policy| Setting { policy, ..Setting::new(5, jobs, "separate") }.mean(makespan);
        let [fcfs, round_robin, read_first] = ["fcfs", "round-robin", "read-first"].map(under);
        assert!((0.75..0.86).contains(&(round_robin / fcfs)), "{round_robin} of {fcfs}");
        assert!((0.62..0.77).contains(&(read_first / fcfs)), "{read_first} of {fcfs}");
        assert!(under("max-queued") < 0.8 * fcfs, "a bound on the queue stops the race too");
    }
}

/// Under a policy that stops the race it hardly matters how much memory there is.
#[test]
fn policies_make_the_memory_matter_little() {
    for policy in ["round-robin", "read-first"] {
        for jobs in [2, 5] {
            let with =
                |sets| Setting { policy, sets, ..Setting::new(5, jobs, "separate") }.mean(makespan);
            let (little, much) =
                (with(&["merge.memory.partition=480"]), with(&["merge.memory.partition=1500"]));
            near(little, much, 0.02, &format!("{policy}, {jobs} jobs"));
        }
    }
}

#[test]
fn who_is_best_and_who_races() {
    let all = |jobs, placement| {
        let runs = Setting::new(5, jobs, placement).runs(5);
        let mean = |figure: &dyn Fn(&MergeResult) -> f64| {
            runs.iter().map(|run| figure(merge(run))).sum::<f64>() / 5.0
        };
        let apart: Vec<f64> = runs.iter().map(|run| merge(run).divergence_max).collect();
        (mean(&makespan), mean(&|merge| merge.max_queued_writes as f64), apart)
    };
    let (alone, ..) = all(1, "separate");
    let between = |value: f64, low: f64, high: f64, what: &str| {
        assert!((low..=high).contains(&value), "{what}: {value:.3} is not from {low} to {high}");
    };
    for jobs in [2, 5] {
        let [separate, shared, every] = ["separate", "shared", "all"].map(|one| all(jobs, one));
        let [low, high] = if jobs == 2 { [1.15, 1.35] } else { [1.2, 1.45] };
        between(separate.0 / shared.0, low, high, "separate to shared");
        let [low, high] = if jobs == 2 { [1.10, 1.25] } else { [0.97, 1.03] };
        between(every.0 / shared.0, low, high, "all to shared");
        for apart in separate.2 {
            assert!(apart > 0.6, "{jobs} jobs race: {apart}");
        }
        for apart in shared.2.into_iter().chain(every.2) {
            assert!(apart < 0.15, "{jobs} jobs do not: {apart}");
        }
        assert!(separate.1 > 200.0 && shared.1 < 12.0 && every.1 < 12.0, "writes in a queue");
        if jobs == 2 {
            between(separate.0 / alone, 1.8, 2.0, "two jobs in a row");
        }
    }
    let dedicated = |jobs| all(jobs, "dedicated").0;
    assert!(dedicated(2) < 1.15 * dedicated(1));
    between(dedicated(3) / all(3, "shared").0, 1.1, 1.4, "three on two disks");
    assert!(dedicated(4) > 2.5 * all(4, "shared").0);
}

/// More memory than is good makes it slower, and where the least is, the race begins.
#[test]
fn a_little_more_memory_costs_much() {
    let published: [(u32, [f64; 6]); 2] =
        [(2, [37.5, 36.4, 38.7, 41.4, 44.0, 47.0]), (5, [73.3, 70.2, 72.8, 76.3, 84.6, 94.6])];
    let blocks = [480, 560, 640, 720, 1000, 3000];
    for (jobs, expected) in published {
        let with =
            |sets: &[&str]| Setting { sets, ..Setting::new(5, jobs, "separate") }.mean(makespan);
        let found: Vec<f64> = blocks
            .iter()
            .map(|blocks| with(&[&format!("merge.memory.partition={blocks}")]))
            .collect();
        for ((blocks, found), expected) in blocks.iter().zip(&found).zip(expected) {
            // Those with much memory race.
            let within = if *blocks < 640 { 0.02 } else { of_a_race(jobs) };
            near(*found, expected, within, &format!("{blocks} blocks for {jobs} jobs"));
        }
        let each = found.iter().copied().zip(blocks);
        let (least, at) = each.min_by(|(one, _), (other, _)| one.total_cmp(other)).unwrap();
        assert_eq!(at, 560, "where the least is");
        assert!(found[3] / least >= 1.08, "720 blocks: {} next to {least}", found[3]);
        let unlimited = with(&[]) / least;
        let [low, high] = if jobs == 2 { [1.2, 1.4] } else { [1.25, 1.55] };
        assert!((low..=high).contains(&unlimited), "{unlimited}");
    }
}

#[test]
fn a_bound_on_writes_has_the_same_knee() {
    for (blocks, expected) in [(200, 36.4), (240, 37.2), (320, 39.8), (400, 41.8), (800, 44.8)] {
        let sets = [&format!("merge.memory.writes={blocks}")[..]];
        let setting = Setting { sets: &sets, ..Setting::new(5, 2, "separate") };
        near(setting.mean(makespan), expected, 0.03, &format!("{blocks} blocks"));
    }
}

/// Placements without a race do not react to memory.
#[test]
fn where_there_is_no_race_memory_does_not_matter() {
    for (placement, expected) in [("shared", 38.2), ("all", 45.2)] {
        for blocks in [520, 1000] {
            let sets = [&format!("merge.memory.partition={blocks}")[..]];
            let setting = Setting { sets: &sets, ..Setting::new(5, 2, placement) };
            near(setting.mean(makespan), expected, 0.02, &format!("{placement}, {blocks} blocks"));
        }
    }
}

/// Counts the runs of `seeds` that end in a deadlock with a partition of `blocks`; each reports it.
fn deadlocks(blocks: u32, seeds: u32) -> u32 {
    let dead = |seed: &u32| {
        let memory = format!("merge.memory.partition={blocks}");
        let seed = format!("seed={seed}");
        match compare(&job(5), "fcfs", &[&memory, &seed], None) {
            Ok(runs) => {
                assert!(merge(&runs[0]).makespan_s.is_some());
                false
            }
            Err(failure) => {
                let message = failure.to_string();
                assert_eq!(failure.exit_code(), 1);
                assert!(
                    message.starts_with("error: the cache is too small (deadlock): at "),
                    "{message}"
                );
                assert!(message.contains(&format!("needs 12 more of {blocks}")), "{message}");
                assert!(message.contains("511 blocks are always enough"), "{message}");
                true
            }
        }
    };
    (1..=seeds).filter(dead).count() as u32
}

#[test]
fn too_little_memory_ends_the_run_and_is_told() {
    assert_eq!(deadlocks(511, 16), 0);
    assert_eq!(deadlocks(420, 8), 8);
    assert!(deadlocks(440, 16) >= 13);
    assert!((2..=9).contains(&deadlocks(460, 20)));
}

#[test]
fn a_job_that_puts_off_reading_ahead_needs_less_memory() {
    let with = |blocks: u32, when_full: &str| {
        let (memory, when_full) =
            (format!("merge.memory.partition={blocks}"), format!("merge.when_full={when_full}"));
        let dead = |seed: &u32| {
            let seed = format!("seed={seed}");
            compare(&job(5), "fcfs", &[&memory, &when_full, &seed], None).is_err()
        };
        (1..=20).filter(dead).count()
    };
    assert_eq!([with(400, "block"), with(400, "defer")], [20, 0]);
}

#[test]
fn one_pool_needs_as_much_as_all_partitions() {
    let with = |blocks: u32| {
        let sets = [&format!("merge.memory.pool={blocks}")[..]];
        Setting { sets: &sets, ..Setting::new(5, 2, "separate") }.mean(makespan)
    };
    near(with(960), 41.2, 0.04, "960 blocks");
    near(with(2000), 46.6, 0.04, "2,000 blocks");
}

/// A wait of half a turn and 40 blocks, where nothing but an output lies on a disk.
const WRITE_MS: f64 = 16.667 / 2.0 + 40.0 * 1.024;

#[test]
fn one_job_alone_is_bound_by_its_writes_wherever_it_reads() {
    let times = ["dedicated", "separate", "shared"].map(|placement| {
        let runs = Setting::new(5, 1, placement).runs(10);
        for run in &runs {
            let merge = merge(run);
            near(merge.write_ms, WRITE_MS, 0.02, "a write");
            assert!((24.2..=25.4).contains(&makespan(merge)), "{:?}", merge.makespan_s);
            assert!(merge.divergence_max + merge.divergence_mean < 1e-12, "nobody is behind");
        }
        runs.iter().map(|run| makespan(merge(run))).collect::<Vec<_>>()
    });
    assert_eq!(times[0], times[1]);
    assert_eq!(times[1], times[2]);
}

#[test]
fn one_disk_that_is_read_is_always_busy() {
    for run in Setting::new(5, 4, "dedicated").runs(5) {
        let merge = merge(&run);
        // 4 jobs of 20 runs of 84 groups.
        near(makespan(merge), 6720.0 * merge.read_ms / 1e3, 0.01, "the disk that is read");
        let disks = &run.device_stats.as_ref().unwrap().disks;
        assert!(disks[4].own.utilisation > 0.99, "{}", disks[4].own.utilisation);
    }
}

#[test]
fn without_seeks_a_read_costs_its_wait_and_its_blocks() {
    let setting = Setting { sets: &["device.seek=0us"], ..Setting::new(5, 5, "all") };
    // A run is 84 groups, the last of four blocks.
    let expected = 16.667 / 2.0 + 1.024 * 1000.0 / 84.0;
    near(setting.mean(|merge| merge.read_ms), expected, 0.005, "a read");
}

#[test]
fn what_is_read_is_written_and_time_is_accounted_for() {
    for (jobs, placement) in [(2, "separate"), (5, "all"), (4, "dedicated")] {
        for run in Setting::new(5, jobs, placement).runs(3) {
            let merge = merge(&run);
            let end = makespan(merge);
            assert_eq!(run.classes.len(), jobs as usize);
            for (number, class) in run.classes.iter().enumerate() {
                assert_eq!(class.name, format!("job{number}"));
                // 20 runs of 84 groups and 500 writes: 20,000 blocks in, and as many out.
                assert_eq!((class.requests, class.bytes), (1680 + 500, 2 * 20_000 * 4096));
            }
            let service: f64 = run.classes.iter().map(|class| class.device_time_s).sum();
            let disks = &run.device_stats.as_ref().unwrap().disks;
            let busy: f64 = disks.iter().map(|disk| disk.own.utilisation * end).sum();
            near(busy, service, 1e-6, "busy and service");
            assert!(disks.iter().all(|disk| disk.own.utilisation <= 1.0));
            let asked = f64::from(jobs) * (1680.0 * merge.read_ms + 500.0 * merge.write_ms) / 1e3;
            near(asked, service, 1e-6, "reads and writes");
            let last = merge.finish_s.iter().map(|end| end.unwrap()).fold(0.0, f64::max);
            assert!((last - end).abs() < 1e-12 && merge.blocked_s.iter().all(|one| one.read < end));
            assert!(merge.blocked_s.iter().all(|one| one.read > 0.0 && one.memory == 0.0));
            assert!(merge.divergence_mean < merge.divergence_max);
        }
    }
}

/// The product of what a block takes to be written and to be read, and of the disks that are read at once:
/// above one, jobs race.
#[test]
fn the_race_begins_where_writes_take_longer_than_parallel_reads() {
    for (disks, blocks) in [(3, 6), (3, 8), (3, 9), (4, 9), (4, 12), (5, 12), (2, 12), (2, 20)] {
        let sets = [&format!("merge.read={blocks}")[..]];
        let setting = Setting { sets: &sets, ..Setting::new(disks, 2, "separate") };
        let factor = setting.mean_of(3, |merge| {
            merge.write_ms / 40.0 * f64::from(disks - 1) / (merge.read_ms / f64::from(blocks))
        });
        let apart = setting.mean_of(3, |merge| merge.divergence_max);
        let what = format!("{disks} disks, {blocks} blocks: {factor:.2} and {apart:.2}");
        assert!(factor > 0.9 || apart < 0.12, "{what}");
        assert!(factor < 1.2 || disks < 3 || apart >= 0.3, "{what}");
    }
}

#[test]
fn staggered_jobs_gain_less_from_sharing() {
    let gain = |stagger: &str| {
        let sets = [&format!("merge.stagger={stagger}")[..]];
        let time = |placement| {
            Setting { sets: &sets, ..Setting::new(5, 2, placement) }.mean_of(5, makespan)
        };
        time("separate") / time("shared")
    };
    let [at_once, later, apart] = ["0s", "10s", "30s"].map(gain);
    assert!(at_once > later && later > apart, "{at_once:.2} {later:.2} {apart:.2}");
    // One after the other there is no race, and who reads and writes different disks is faster.
    assert!(apart < 0.9, "{apart:.2}");
}

#[test]
fn evener_runs_race_later() {
    let with =
        |sets: &[&str]| Setting { sets, ..Setting::new(5, 5, "separate") }.mean_of(10, makespan);
    let [random, one, many] =
        [with(&[]), with(&["merge.depletion.keys=1"]), with(&["merge.depletion.keys=64"])];
    near(one, random, 0.05, "one key to a block");
    near(many, 82.0, 0.06, "64 keys to a block");
}

#[test]
fn equal_seeds_give_equal_results() {
    let run = |seed: &str| {
        let runs = compare(&job(5), "fcfs", &[seed], None).unwrap();
        serde_json::to_string(&runs).unwrap()
    };
    assert_eq!(run("seed=7"), run("seed=7"));
    assert_ne!(run("seed=7"), run("seed=8"));
}

/// A full disk stops all disks if they share one queue: the study has a policy before each.
#[test]
fn one_queue_before_all_disks() {
    let sets = ["device.array.scheduler=one"];
    let one = Setting { sets: &sets, ..Setting::new(5, 2, "separate") }.mean_of(5, makespan);
    assert!(one > Setting::new(5, 2, "separate").mean_of(5, makespan), "{one}");
}

#[test]
fn a_job_alone_takes_as_long_as_alone() {
    let runs = compare(&job(5), "alone:job1", &[], None).unwrap();
    let merge = merge(&runs[0]);
    assert_eq!((runs[0].classes.len(), merge.finish_s.len(), merge.blocked_s.len()), (1, 1, 1));
    near(makespan(merge), 24.8, 0.03, "one of two");
}

#[test]
fn a_run_that_is_stopped_says_who_had_not_finished() {
    let runs = compare(&job(5), "fcfs", &["stop=30s"], None).unwrap();
    let merge = merge(&runs[0]);
    assert_eq!(merge.makespan_s, None);
    assert_eq!(
        merge.finish_s.iter().filter(|end| end.is_some()).count(),
        1,
        "{:?}",
        merge.finish_s
    );
}

#[test]
fn classes_may_have_names_and_priorities() {
    let job = format!("[class.night]\nprio = 1\n[class.day]\n{}", job(5));
    let runs = compare(&job, "class-priority", &[], None).unwrap();
    assert_eq!(
        runs[0].classes.iter().map(|class| &class.name[..]).collect::<Vec<_>>(),
        ["night", "day"]
    );
    let [Some(night), Some(day)] = merge(&runs[0]).finish_s[..] else {
        panic!("both have finished")
    };
    assert!(day < night, "{day} and {night}");
}

#[test]
fn it_runs_on_other_devices_and_in_real_time() {
    let small = ["merge.runs=4", "merge.run=60blocks"];
    let hdd = "device = \"hdd-7200\"\n[merge]\njobs = 1\nplacement = \"all\"\n";
    let runs = compare(hdd, "deadline", &small, None).unwrap();
    assert!(merge(&runs[0]).makespan_s.is_some());
    let mut options = Options { policies: vec!["fcfs".into()], ..Options::default() };
    options.target.on = Some("emulated:linear-1992@100".into());
    let sets = small.map(str::to_owned);
    let comparison = compare_text("merge.toml", hdd, &sets, &options, &mut |_| true);
    let comparison = comparison.unwrap_or_else(|failure| panic!("{failure}"));
    assert_eq!(comparison.runs[0].classes[0].bytes, 2 * 4 * 60 * 4096);
    assert!(merge(&comparison.runs[0]).makespan_s.is_some());
}

/// Returns the message on a job with these settings, on this many disks.
fn refused(disks: u32, sets: &[&str]) -> String {
    let failure = compare(&job(disks), "fcfs", sets, None).map(|_| ()).unwrap_err();
    assert_eq!(failure.exit_code(), 2, "{failure}");
    let message = failure.to_string();
    // Found, and the hint; not where.
    let lines = message.lines().filter(|line| line.contains("error: ") || line.contains("hint: "));
    lines.map(|line| line.trim_start_matches([' ', '=', '|'])).collect::<Vec<_>>().join("\n")
}

#[test]
fn what_the_disks_cannot_hold_is_refused() {
    let cases: [(u32, &[&str]); 6] = [
        (5, &["merge.jobs=6", "merge.placement=all"]),
        (5, &["merge.jobs=5", "merge.placement=dedicated"]),
        (1, &["merge.jobs=1", "merge.placement=separate"]),
        (5, &["merge.run=100MiB"]),
        (5, &["merge.jobs=5", "merge.memory.pool=287"]),
        (5, &["merge.memory.partition=287"]),
    ];
    let said = cases.map(|(disks, sets)| refused(disks, sets));
    insta::assert_snapshot!(said.join("\n\n"));
}

#[test]
fn a_placement_may_be_listed_and_must_name_disks_that_are_there() {
    let job = |placement: &str| format!("{}placement = {placement}\n", job(3));
    let both = "[{ inputs = [1, 2], output = 0 }, { inputs = [1, 2], output = 0 }]";
    let runs = compare(&job(both), "fcfs", &[], None).unwrap();
    assert!(merge(&runs[0]).makespan_s.is_some());
    let disks = &runs[0].device_stats.as_ref().unwrap().disks;
    assert!(disks[0].own.utilisation > 0.9, "both write there");
    let wrong = [
        "[{ inputs = [1, 2], output = 0 }, { inputs = [1, 2], output = 3 }]",
        "[{ inputs = [1, 7], output = 0 }, { inputs = [1, 2], output = 1 }]",
        "[{ inputs = [1, 2], output = 0 }]",
        "[{ inputs = [], output = 0 }, { inputs = [1, 2], output = 1 }]",
    ];
    let said = wrong.map(|placement| {
        let failure = compare(&job(placement), "fcfs", &[], None).map(|_| ()).unwrap_err();
        assert_eq!(failure.exit_code(), 2);
        failure.to_string()
    });
    insta::assert_snapshot!(said.join("\n\n"));
}

#[test]
fn memory_that_may_not_be_enough_is_warned_of() {
    let options = Options { policies: vec!["fcfs".into()], ..Options::default() };
    let remarks = |memory: &str| {
        let sets = [format!("merge.memory.{memory}")];
        let comparison =
            compare_text("merge.toml", &job(5), &sets, &options, &mut |_| true).unwrap();
        comparison.remarks
    };
    assert_eq!(
        remarks("partition=500"),
        ["with 500 blocks of memory a merge may wait for memory for ever (deadlock); 511 are \
         always enough"]
    );
    assert!(remarks("partition=511").is_empty());
    assert_eq!(remarks("pool=1021").len(), 1);
    assert!(remarks("pool=1022").is_empty() && remarks("writes=40").is_empty());
}
