//! A device is busy for as long as it is, and never for more than all the time: over random jobs,
//! devices, policies and warm-ups.

use penstock_run::result::RunResult;
use penstock_run::{Options, compare_text};
use proptest::prelude::*;

/// A batch's request is sent in pieces, the first before the warm-up ends and the others long after,
/// while short requests pass it by.
const IN_PIECES: &str = r#"
duration = "2s"
device = { model = "fixed", base = "100us", per_mb = "100ms" }
[class.online]
[class.batch]
[[agent]]
class = "batch"
op = "write"
size = "1MiB"
pattern = "random"
arrivals = { kind = "closed", depth = 1 }
[[agent]]
class = "online"
op = "write"
size = "4KiB"
pattern = "random"
arrivals = { kind = "closed", depth = 4 }
"#;

#[test]
fn a_request_in_pieces_on_both_sides_of_the_warm_ups_end_is_not_charged_by_its_mean() {
    for warmup in ["120ms", "200ms", "500ms", "900ms"] {
        let sets = [&format!("warmup={warmup}")[..], "size-priority.split=64KiB"];
        let busy = run(IN_PIECES, "size-priority", &sets).device_busy;
        assert!((busy - 1.0).abs() < 1e-9, "{warmup}: {busy}");
    }
}

/// Discards cost a disk their overhead, and are no accesses.
#[test]
fn a_disk_is_busy_with_commands_that_never_come_to_the_platter() {
    let folder = std::env::temp_dir().join(format!("penstock-discards-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let trace = folder.join("trim.txt");
    let line = |ms| format!("254,0 1 {0} 0.{ms:03}000000 12 Q D {0} + 64 [fstrim]\n", ms + 1);
    std::fs::write(&trace, (0..100).map(line).collect::<String>()).unwrap();
    let job = format!(
        "[trace]\nfile = {trace:?}\nformat = \"blkparse\"\n\
         [device]\nmodel = \"hdd\"\ndrive = \"hdd-7200\"\noverheads = \"0.4ms\"\n"
    );
    let run = run(&job, "fcfs", &[]);
    std::fs::remove_dir_all(&folder).unwrap();
    let charged: f64 = run.classes.iter().map(|class| class.device_time_s).sum();
    assert!((charged - 0.04).abs() < 1e-9, "{charged}");
    assert!((run.device_busy * run.duration_s - charged).abs() < 1e-9, "{}", run.device_busy);
    let stats = run.device_stats.unwrap().all;
    assert_eq!((stats.service_ms.n, stats.seek_ms.map_or(0, |seek| seek.n)), (0, 0));
}

/// Devices of one disk and of several, with queues and without.
const DEVICES: [&str; 10] = [
    r#"{ model = "fixed", base = "400us", per_mb = "2ms" }"#,
    r#"{ model = "fixed", base = "100us", per_mb = "2ms", latency = "1ms", depth = 8 }"#,
    r#"{ model = "fixed", base = "1ms", per_mb = "2ms", array = { level = "raid0", disks = 4, stripe = "4KiB" } }"#,
    r#"{ model = "fixed", base = "1ms", per_mb = "9ms", depth = 4, array = { level = "raid1", disks = 3 } }"#,
    r#"{ model = "fixed", base = "1ms", per_mb = "2ms", array = { level = "raid5", disks = 3, stripe = "4KiB" } }"#,
    r#""hdd-7200""#,
    r#""hdd-7200-ncq""#,
    r#""ibm18es""#,
    r#""ssd-sata""#,
    r#"{ model = "hdd", drive = "hdd-7200", queue = { policy = "sstf", depth = 8 }, array = { level = "raid0", disks = 3, stripe = "64KiB" } }"#,
];

const POLICIES: [&str; 5] = ["fcfs", "noop", "deadline", "cfq", "size-priority"];

/// Returns random agents: arrivals, sizes, operations, patterns and classes.
fn agent() -> impl Strategy<Value = String> {
    let arrivals = prop_oneof![
        (10_u32..3000).prop_map(|rate| format!("kind = \"poisson\", rate = \"{rate}/s\"")),
        (10_u32..3000).prop_map(|rate| format!("kind = \"fixed\", rate = \"{rate}/s\"")),
        (1_u32..12).prop_map(|depth| format!("kind = \"closed\", depth = {depth}")),
    ];
    let sizes = prop::sample::select(vec!["512B", "4KiB", "64KiB", "1MiB"]);
    let ops = prop::sample::select(vec!["read", "write"]);
    let patterns = prop::sample::select(vec!["random", "sequential"]);
    let classes = prop::sample::select(vec!["a", "b"]);
    (arrivals, sizes, ops, patterns, classes, any::<bool>()).prop_map(
        |(arrivals, size, op, pattern, class, buffered)| {
            let cache = if buffered { "buffered" } else { "direct" };
            format!(
                "[[agent]]\nclass = \"{class}\"\nop = \"{op}\"\nsize = \"{size}\"\n\
                 pattern = \"{pattern}\"\ncache = \"{cache}\"\narrivals = {{ {arrivals} }}\n"
            )
        },
    )
}

fn job() -> impl Strategy<Value = String> {
    let stops = prop::sample::select(vec!["drained", "last-arrival", "300ms"]);
    let agents = prop::collection::vec(agent(), 1..4);
    (0_u64..1000, 0_u32..200_000, stops, prop::sample::select(DEVICES.to_vec()), agents).prop_map(
        |(seed, warmup, stop, device, agents)| {
            format!(
                "seed = {seed}\nduration = \"200ms\"\nwarmup = \"{warmup}us\"\nstop = \"{stop}\"\n\
                 device = {device}\n[class.a]\n[class.b]\n{}",
                agents.concat()
            )
        },
    )
}

fn run(job: &str, policy: &str, sets: &[&str]) -> RunResult {
    let options = Options { policies: vec![policy.into()], ..Options::default() };
    let sets: Vec<String> = sets.iter().map(|&set| set.into()).collect();
    compare_text("job.toml", job, &sets, &options, &mut |_| true).unwrap().runs.pop().unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_device_is_busier_than_all_the_time(
        job in job(), policy in prop::sample::select(POLICIES.to_vec()),
    ) {
        let run = run(&job, policy, &[]);
        let stats = run.device_stats.as_ref().expect("a model reports what its disks did");
        prop_assert!(run.device_busy <= 1.0, "{}", run.device_busy);
        for disk in stats.disks.iter().map(|disk| &disk.own).chain([&stats.all]) {
            prop_assert!(disk.utilisation <= 1.0, "{}", disk.utilisation);
        }
        // What classes are charged is of that time.
        let charged: f64 = run.classes.iter().map(|class| class.device_time_s).sum();
        let disks = stats.disks.len().max(1) as f64;
        let busy = run.device_busy * run.duration_s * disks;
        prop_assert!(charged <= busy + 1e-9, "{charged} s of {busy} s");
    }
}
