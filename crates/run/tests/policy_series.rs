//! The policy's own counters over time agree with the totals of its result, and with the windows of
//! the classes.

use penstock_run::result::{CounterKind, RunResult};
use penstock_run::{Options, compare_text};

const DISK: &str = "duration = \"8s\"\ndevice = \"hdd-7200\"\n";
const ARRAY: &str = r#"
duration = "8s"
[device]
model = "fixed"
base = "1ms"
[device.array]
level = "raid0"
disks = 2
stripe = "64KiB"
scheduler = "each"
"#;
const LOADS: &str = r#"
[class.small]
[class.large]
weight = 300
[[agent]]
class = "small"
op = "read"
size = "4KiB"
pattern = "random"
arrivals = { kind = "closed", depth = 8 }
[[agent]]
class = "large"
op = "read"
size = "64KiB"
pattern = "random"
arrivals = { kind = "closed", depth = 8 }
"#;

fn runs(device: &str, policies: &[&str], sets: &[&str], detail: bool) -> Vec<RunResult> {
    let policies = policies.iter().map(|&name| name.into()).collect();
    let options = Options { policies, detail, ..Options::default() };
    let sets: Vec<String> = sets.iter().map(|&set| set.into()).collect();
    compare_text("job.toml", &format!("{device}{LOADS}"), &sets, &options, &mut |_| true)
        .unwrap()
        .runs
}

/// Checks every series of `run` against the value at its end, and returns their names.
fn checked(run: &RunResult) -> Vec<&str> {
    let detail = run.detail.as_ref().unwrap();
    let windows = detail.classes[0].series.len();
    for one in &detail.policy {
        assert_eq!(one.values.len(), windows, "{}", one.name);
        let end = match one.kind {
            CounterKind::Total => one.values.iter().flatten().sum(),
            CounterKind::Level => one.values.last().unwrap().unwrap(),
        };
        assert_eq!(run.policy_stats[&one.name], end, "{}", one.name);
    }
    detail.policy.iter().map(|one| one.name.as_str()).collect()
}

#[test]
fn counters_over_time_add_up_to_those_of_the_result() {
    let found = runs(DISK, &["fairio", "sfq", "fcfs"], &["policy.fairio.cycle=100ms"], true);
    let [fairio, sfq, fcfs] = &found[..] else { panic!("three runs") };
    let mut names = checked(fairio);
    assert!(names.contains(&"class.large.share_left_ns"), "{names:?}");
    names.sort_unstable();
    assert!(names.into_iter().eq(fairio.policy_stats.keys()), "all are there");
    let cycles = &fairio.detail.as_ref().unwrap().policy[0];
    assert_eq!((&*cycles.counter, cycles.of_class.as_deref(), cycles.disk), ("cycles", None, None));
    let moved = cycles.values.iter().flatten().filter(|&&count| count > 0).count();
    assert!(moved > 20, "cycles end throughout the run: {:?}", cycles.values);
    assert_eq!(checked(sfq), ["class.small.estimate_ns", "class.large.estimate_ns"]);
    assert_eq!(checked(fcfs), [""; 0], "it counts nothing");
    let plain = runs(DISK, &["fairio"], &[], false);
    assert!(plain[0].detail.is_none() && !plain[0].policy_stats.is_empty());
}

#[test]
fn of_a_policy_before_each_disk_no_classes_are_kept() {
    let found = runs(ARRAY, &["fairio"], &[], true);
    let names = checked(&found[0]);
    assert_eq!(names.len(), 10, "{names:?}");
    assert_eq!((names[0], names[5]), ("disk0.cycles", "disk1.cycles"));
    assert!(!names.iter().any(|name| name.contains("class.")), "{names:?}");
}
