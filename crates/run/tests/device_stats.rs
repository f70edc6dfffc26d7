//! Figures of the disks of a model, against DiskSim's figures and against each other.

use penstock_run::result::{DeviceStatsResult, RunResult};
use penstock_run::{Options, TargetOptions, compare_text};

fn run(text: &str, sets: &[&str], on: Option<&str>) -> RunResult {
    let policies = vec!["fcfs".into()];
    let target = TargetOptions { on: on.map(Into::into), ..TargetOptions::default() };
    let options = Options { policies, target, ..Options::default() };
    let sets: Vec<String> = sets.iter().map(|&set| set.into()).collect();
    let comparison = compare_text("job.toml", text, &sets, &options, &mut |_| true);
    comparison.unwrap().runs.remove(0)
}

/// Arm and platter alone.
const MECHANICAL: &str = "overheads = \"none\"\nbus = \"none\"\n";

/// A trace of DiskSim's on its disk, until the last arrival.
fn traced(trace: &str, device: &str) -> DeviceStatsResult {
    let data = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/data/disksim/traces");
    let text = format!(
        "stop = \"last-arrival\"\n[class.all]\n[[rule]]\nclass = \"all\"\n[trace]\nfile = \
         \"{data}/{trace}.trace.gz\"\nformat = \"disksim\"\n[device]\nmodel = \"hdd\"\ndrive = \
         \"ibm18es\"\n{device}"
    );
    run(&text, &[], None).device_stats.expect("a model reports on its disks")
}

fn disksim(case: &str) -> serde_json::Value {
    let results = include_str!("../../../tests/data/disksim/results.json");
    let mut results: serde_json::Value = serde_json::from_str(results).expect("JSON");
    results[case].take()
}

fn check(case: &str, found: &DeviceStatsResult) {
    let expected = disksim(case);
    let all = &found.all;
    // A replay begins with the first request and DiskSim before it, so the platters stand elsewhere:
    // 10,000 waits of up to a turn have a mean that is good to 2.5 %, at three deviations.
    for (name, part, bound) in [
        ("seek_ms", all.seek_ms.as_ref(), 0.01),
        ("rotational_latency_ms", all.rotation_ms.as_ref(), 0.025),
        ("media_transfer_ms", all.transfer_ms.as_ref(), 0.01),
        ("device_service_ms", Some(&all.service_ms), 0.01),
    ] {
        let (part, of) = (part.expect("a disk with an arm"), &expected[name]);
        // DiskSim omits what it had finished of requests that were unfinished.
        let n = of["n"].as_u64().expect("a count");
        assert!(part.n.abs_diff(n) <= n / 500, "{case} {name}: {} of {n}", part.n);
        for (what, found) in [
            ("mean", part.mean),
            ("stddev", part.stddev),
            ("p50", part.percentile["50.000000"]),
            ("p95", part.percentile["95.000000"]),
        ] {
            let expected = of[what].as_f64().expect("a number");
            assert!((found / expected - 1.0).abs() < bound, "{case} {name} {what}: {found}");
        }
    }
    let busy = expected["mean_disk_utilisation"].as_f64().expect("a number");
    assert!((all.utilisation - busy).abs() < 0.005, "{case}: busy {}", all.utilisation);
}

#[test]
fn accesses_are_disksims_part_by_part() {
    let one = traced("r4k_50", MECHANICAL);
    check("r4k_50_fcfs", &one);
    assert!(one.disks.is_empty(), "one disk is reported once");
}

#[test]
fn a_disk_with_its_cache_reports_accesses_by_themselves_and_service_by_request() {
    let run = |case: &str| {
        let (trace, of) = (case.trim_end_matches("_stock"), disksim(case));
        (traced(trace, "cache = \"drive\"").all, of)
    };
    let n = |of: &serde_json::Value| of["n"].as_u64().expect("a count");
    let (random, of) = run("r4k_50_stock");
    let accesses = [random.seek_ms, random.rotation_ms, random.transfer_ms].map(Option::unwrap);
    for part in &accesses {
        assert_eq!(part.n, n(&of["seek_ms"]));
    }
    let sum: f64 = accesses.iter().map(|part| part.mean).sum();
    assert!(sum < random.service_ms.mean, "overhead and bus are in the service alone");
    let service = of["device_service_ms"]["mean"].as_f64().expect("a number");
    assert!((random.service_ms.mean / service - 1.0).abs() < 0.01);
    let (sequential, of) = run("seq64k_15_stock");
    assert_eq!(sequential.service_ms.n, n(&of["device_service_ms"]));
    assert!(sequential.seek_ms.unwrap().n < sequential.service_ms.n / 5, "hits are no accesses");
}

#[test]
fn the_disks_of_an_array_are_reported_together_and_each() {
    // As in DiskSim, what waits for one disk delays nothing on another.
    let array =
        "queue = { depth = 65536 }\narray = { level = \"raid0\", disks = 4, stripe = \"32KiB\" }";
    let found = traced("raid0x4_16k_200", &format!("{MECHANICAL}{array}"));
    check("raid0x4_16k_200", &found);
    assert_eq!(found.disks.len(), 4);
    let sum: u64 = found.disks.iter().map(|disk| disk.own.service_ms.n).sum();
    assert_eq!(sum, found.all.service_ms.n);
    let mean: f64 = found.disks.iter().map(|disk| disk.own.utilisation).sum::<f64>() / 4.0;
    assert!((mean - found.all.utilisation).abs() < 1e-9);
}

/// A closed loop: the device is never idle.
const CLOSED: &str = r#"
duration = "2s"
[class.all]
[[agent]]
class = "all"
op = "read"
size = "4KiB"
pattern = "random"
arrivals = { kind = "closed", depth = 4 }
"#;

#[test]
fn a_device_without_an_arm_reports_its_service_alone() {
    let run = run(CLOSED, &["warmup=500ms"], Some("flash"));
    let found = run.device_stats.expect("a model reports on its disks").all;
    assert!(found.seek_ms.is_none() && found.rotation_ms.is_none() && found.transfer_ms.is_none());
    assert!((found.utilisation - 1.0).abs() < 1e-9, "{}", found.utilisation);
    assert!((run.device_busy - found.utilisation).abs() < 1e-9, "{}", run.device_busy);
    // Counted are accesses that ended behind the warm-up, and requests that were due behind it.
    let requests = run.classes[0].requests;
    assert!((requests..requests + 5).contains(&found.service_ms.n), "{requests} {found:?}");
    assert!((found.service_ms.mean - run.classes[0].service_ns.mean / 1e6).abs() < 1e-3);
}

#[test]
fn disks_that_were_not_modelled_are_not_reported() {
    assert!(run(CLOSED, &["duration=100ms"], Some("null")).device_stats.is_none());
}

#[test]
fn a_model_at_another_speed_is_reported_in_real_time() {
    let at = |on| run(CLOSED, &["duration=300ms"], Some(on)).device_stats.expect("a model").all;
    let (own, fast) = (at("hdd-7200"), at("emulated:hdd-7200@10"));
    let tenth = own.service_ms.mean / fast.service_ms.mean;
    assert!((7.0..14.0).contains(&tenth), "{tenth}");
    assert!(fast.utilisation <= 1.0 + 1e-9 && fast.seek_ms.is_some());
}

#[test]
fn a_write_buffer_that_is_still_filling_is_remarked() {
    let remarks = |duration: &str, rate: &str| {
        let text = format!(
            "duration = \"{duration}\"\ndevice = \"ssd-sata\"\n[class.w]\n[[agent]]\nclass = \"w\"\n\
             op = \"write\"\nsize = \"128KiB\"\npattern = \"random\"\narrivals = {rate}\n"
        );
        run(&text, &[], None).remarks
    };
    let flood = "{ kind = \"closed\", depth = 4 }";
    let early = remarks("100ms", flood);
    assert!(early[0].contains("MB written were still in the drive's write buffer of 9 MB"));
    assert!(remarks("2s", flood).is_empty(), "its content hardly counts any more");
    assert!(remarks("100ms", "{ kind = \"poisson\", rate = \"50/s\" }").is_empty());
}
