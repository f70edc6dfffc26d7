//! The drawn course of a disk's arm agrees with the counts of the disk and of the policy in the
//! same run.

use penstock_run::result::{Arm, RunResult};
use penstock_run::{Options, compare_text};

const READERS: &str = r#"
duration = "5s"
stop = "drained"
device = "hdd-7200"
[class.a]
[class.b]
[[agent]]
class = "a"
op = "read"
size = "64KiB"
pattern = "sequential"
region = ["0%", "40%"]
arrivals = { kind = "closed", depth = 1, think = "1ms" }
[[agent]]
class = "b"
op = "read"
size = "64KiB"
pattern = "sequential"
region = ["60%", "100%"]
arrivals = { kind = "closed", depth = 1, think = "1ms" }
"#;

/// The runs of `policies`, with the arm from `from` on for `length`.
fn drawn(
    policies: &[&str],
    sets: &[&str],
    from: Option<&str>,
    length: Option<&str>,
) -> Result<Vec<RunResult>, String> {
    let policies = policies.iter().map(|&name| name.into()).collect();
    let (arm_from, arm_for) = (from.map(Into::into), length.map(Into::into));
    let options = Options { policies, detail: true, arm_from, arm_for, ..Options::default() };
    let sets: Vec<String> = sets.iter().map(|&set| set.into()).collect();
    compare_text("job.toml", READERS, &sets, &options, &mut |_| true)
        .map(|comparison| comparison.runs)
        .map_err(|failure| failure.to_string())
}

fn arm(run: &RunResult) -> &Arm {
    run.detail.as_ref().unwrap().arm.as_ref().expect("a disk with an arm")
}

/// Cylinders between where each access of `arm` begins, arrives and ends, from cylinder 0 on.
fn crossed(arm: &Arm) -> u64 {
    let stops = arm.accesses.iter().flat_map(|one| [one.start, one.first, one.last]);
    stops.fold((0, 0), |(sum, at), next| (sum + u64::from(next.abs_diff(at)), next)).0
}

#[test]
fn the_accesses_of_a_whole_run_are_those_that_the_disk_counts() {
    for cache in ["none", "drive"] {
        let cache = format!("device.cache={cache}");
        let sets = [cache.as_str(), "agent.1.op=write", "duration=2s"];
        for run in drawn(&["noop", "anticipatory"], &sets, None, Some("1min")).unwrap() {
            let (stats, mut arm) = (&run.device_stats.as_ref().unwrap().all, arm(&run).clone());
            // A read-ahead goes on when the run has ended.
            arm.accesses.retain(|one| one.ends_ns as f64 <= 1e9 * run.duration_s);
            assert_eq!(arm.accesses.len() as u64, stats.seek_ms.as_ref().unwrap().n, "{cache}");
            assert_eq!(crossed(&arm), stats.travel.unwrap().cylinders, "{cache}");
            let mut ends = 0;
            for one in &arm.accesses {
                assert!(ends <= one.begins_ns && one.begins_ns <= one.arrives_ns, "{one:?}");
                assert!(one.arrives_ns < one.ends_ns, "{one:?}");
                ends = one.ends_ns;
            }
            assert!(arm.accesses.iter().any(|one| one.write));
            assert!(arm.accesses.iter().any(|one| !one.write));
        }
    }
}

#[test]
fn travel_for_each_request_is_of_hits_too() {
    let sets = ["device.cache=drive"];
    let [run] = drawn(&["anticipatory"], &sets, None, None).unwrap().try_into().unwrap();
    let stats = &run.device_stats.as_ref().unwrap().all;
    let (travel, requests) = (stats.travel.unwrap(), stats.service_ms.n);
    assert!(stats.seek_ms.as_ref().unwrap().n < requests, "some are hits");
    let each = travel.cylinders as f64 / requests as f64;
    assert!((travel.per_request - each).abs() < 1e-9 * each, "{travel:?} of {requests}");
}

#[test]
fn the_disk_is_held_for_as_long_as_the_policy_says() {
    let policies = ["anticipatory", "cfq", "bfq", "noop", "deadline"];
    let sets = ["cfq.mode=slices", "bfq.low_latency=0"];
    for run in drawn(&policies, &sets, None, Some("1min")).unwrap() {
        let held = arm(&run).held.iter().map(|held| held.until_ns - held.from_ns).sum::<u64>();
        let counted = run.policy_stats.get("idle_held_ns").copied().unwrap_or(0);
        assert_eq!(held, counted, "{}", run.policy);
        assert_eq!(
            held > 0,
            !["noop", "deadline"].contains(&run.policy.as_str()),
            "{}",
            run.policy
        );
    }
}

#[test]
fn a_stretch_has_what_lies_in_it() {
    let whole = drawn(&["anticipatory"], &[], None, Some("1min")).unwrap();
    let part = drawn(&["anticipatory"], &[], Some("1s"), Some("500ms")).unwrap();
    let (whole, part) = (arm(&whole[0]), arm(&part[0]));
    let within = |ns: &u64| (1_000_000_000..1_500_000_000).contains(ns);
    let expected: Vec<_> =
        whole.accesses.iter().filter(|one| within(&one.begins_ns)).cloned().collect();
    assert_eq!(part.accesses, expected);
    assert!(!expected.is_empty() && !part.held.is_empty());
    assert!(part.held.iter().all(|held| within(&held.from_ns) && held.until_ns <= part.until_ns));
    assert_eq!((part.from_ns, part.until_ns), (1_000_000_000, 1_500_000_000));
    let first = drawn(&["noop"], &[], None, None).unwrap();
    assert_eq!((arm(&first[0]).from_ns, arm(&first[0]).until_ns), (0, 2_000_000_000));
}

#[test]
fn of_an_array_the_first_disk_is_drawn_and_held_if_its_policy_is_its_own() {
    for (scheduler, held) in [("each", true), ("one", false)] {
        let scheduler = format!("device.array.scheduler={scheduler}");
        let array =
            ["level=raid0", "disks=2", "stripe=1MiB"].map(|key| format!("device.array.{key}"));
        let [level, disks, stripe] = array.each_ref().map(String::as_str);
        let sets = [level, disks, stripe, scheduler.as_str()];
        let [run] = drawn(&["anticipatory"], &sets, None, None).unwrap().try_into().unwrap();
        assert_eq!(!arm(&run).held.is_empty(), held, "{scheduler}");
    }
}

#[test]
fn a_device_without_an_arm_has_none() {
    let runs = drawn(&["noop"], &["device=ssd-sata"], None, None).unwrap();
    assert!(runs[0].detail.as_ref().unwrap().arm.is_none());
    assert!(runs[0].device_stats.as_ref().unwrap().all.travel.is_none());
}

#[test]
fn what_is_no_stretch_is_refused() {
    for (from, length, said) in [
        (Some("soon"), None, "error: --from: "),
        (None, Some("2"), "error: --for: "),
        (None, Some("0s"), "error: --for 0: expected a length of time above 0"),
    ] {
        let failed = drawn(&["noop"], &[], from, length).unwrap_err();
        assert!(failed.starts_with(said) && failed.contains("--for 500ms"), "{failed}");
    }
}
