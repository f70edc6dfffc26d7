//! Runs with `stop = "durable"`: they end when everything written is on its device.

use penstock_jobs::drives;
use penstock_run::record::replay::replay;
use penstock_run::result::RunResult;
use penstock_run::{Options, TargetOptions, compare_text};

/// A drive of 10,000 rpm with a write cache of 8 MiB, and an agent that writes 256 MiB.
const JOB: &str = r#"
duration = "60min"
stop = "durable"

[device]
model = "hdd"
drive = "hdd-10k"
overheads = "0.6ms"
bus = "none"
cache = { segments = 16, blocks = 1024 }
write_back = true

[class.log]

[[agent]]
class = "log"
op = "write"
size = "64KiB"
pattern = "sequential"
region = ["0B", "1GiB"]
arrivals = { kind = "closed", depth = 4, count = 4096 }
"#;

const BYTES: u64 = 256 << 20;

fn run(text: &str, sets: &[&str], options: Options) -> RunResult {
    let sets: Vec<String> = sets.iter().map(|&set| set.into()).collect();
    let options = Options { policies: vec!["noop".into()], ..options };
    compare_text("job.toml", text, &sets, &options, &mut |_| true).unwrap().runs.pop().unwrap()
}

fn modelled(sets: &[&str]) -> RunResult {
    run(JOB, sets, Options::default())
}

/// Bytes a second of the outermost track.
fn medium() -> f64 {
    let drive = drives::drive("hdd-10k").expect("a named drive");
    let most = drive.zones.iter().map(|zone| zone.sectors_per_track).max().expect("a zone");
    f64::from(most * 512) * f64::from(drive.rpm) / 60.0
}

#[test]
fn writes_are_never_faster_than_the_medium() {
    let cache = ["agent.0.cache=buffered", "page_cache.memory=4GiB"];
    let whole = [cache[0], cache[1], "agent.0.arrivals.count=16384"];
    // A gibibyte through memory; the same as far as memory holds it at once; the drive's cache alone,
    // filled by one request and by many.
    let small = ["agent.0.arrivals.count=16", "agent.0.size=256KiB"];
    let more = [&whole[..], &cache[..], &[], &small[..]];
    for sets in more {
        let run = modelled(sets);
        let class = &run.classes[0];
        assert!(class.bw_bytes <= medium(), "{sets:?}: {} of {}", class.bw_bytes, medium());
        assert!(class.bw_bytes > 0.3 * medium(), "{sets:?}: {}", class.bw_bytes);
        assert!(class.bytes as f64 / run.duration_s - class.bw_bytes < 1e-6);
        assert_eq!((run.ended, run.failure, class.errors, class.unfinished), (None, None, 0, 0));
    }
    // Without it, what memory takes at once is faster.
    let rate = modelled(&[&cache[..], &["stop=drained"]].concat()).classes[0].bw_bytes;
    assert!(rate > 1.5 * medium(), "{rate}");
    // The drive answers a write before the arm has moved.
    let places = ["agent.0.pattern=random", "agent.0.size=4KiB", "agent.0.arrivals.count=1"];
    let [durable, drained] = ["durable", "drained"].map(|stop| {
        let stop = format!("stop={stop}");
        modelled(&[&places[..], &[stop.as_str()]].concat()).duration_s
    });
    assert!(durable > 2.0 * drained, "{durable} {drained}");
}

#[test]
fn the_flush_is_of_no_class() {
    let sets = ["agent.0.cache=buffered", "page_cache.memory=4GiB"];
    let [durable, drained] =
        [&[][..], &["stop=drained"]].map(|stop| modelled(&[&sets[..], stop].concat()));
    let [with, without] = [&durable, &drained].map(|run| &run.classes[0]);
    assert_eq!((with.requests, with.bytes), (4096, BYTES));
    assert_eq!((without.requests, without.bytes), (4096, BYTES));
    assert_eq!((with.lat_ns.max, with.wait_ns.max), (without.lat_ns.max, without.wait_ns.max));
    assert!(durable.duration_s > 2.0 * drained.duration_s);
    assert!(with.device_time_s > without.device_time_s, "what is written back is the writer's");
    assert!(with.device_time_s <= durable.device_busy * durable.duration_s * (1.0 + 1e-9));
}

#[test]
fn rates_of_a_loop_with_a_schedule_are_over_the_whole_run() {
    // A hundred megabytes a second are asked for in ten seconds, and then written.
    let sets = ["duration=10s", "agent.0.cache=buffered", "page_cache.memory=8GiB"];
    let planned = "{ kind = \"fixed\", rate = \"1600/s\" }";
    let text = JOB.replace("{ kind = \"closed\", depth = 4, count = 4096 }", planned);
    let run = run(&text, &sets, Options::default());
    let class = &run.classes[0];
    assert!(run.duration_s > 12.0, "{}", run.duration_s);
    assert!((class.bw_bytes * run.duration_s - class.bytes as f64).abs() < 1.0);
}

#[test]
fn nothing_to_write_ends_at_once() {
    let run = modelled(&["agent.0.op=read", "agent.0.arrivals.count=10"]);
    assert_eq!((run.classes[0].requests, run.ended), (10, None));
    let bytes = run.classes[0].bw_bytes * run.duration_s;
    assert!((bytes - 655_360.0).abs() < 1.0, "{bytes}");
}

#[test]
fn a_recorded_run_replays_with_its_flush() {
    let folder = std::env::temp_dir().join(format!("penstock-durable-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    for cache in ["direct", "buffered"] {
        let record = folder.join(cache);
        let cache = format!("agent.0.cache={cache}");
        let options = Options { record: Some(record.clone()), ..Options::default() };
        run(JOB, &[&cache, "agent.0.arrivals.count=300"], options);
        let replay = replay(&record, &[]).unwrap();
        assert!(replay.first_difference.is_none() && replay.alike > 10, "{cache}: {replay:?}");
        assert_eq!(replay.requests, 301, "{cache}");
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn real_time_ends_with_a_flush_too() {
    let file = std::env::temp_dir().join(format!("penstock-durable-{}.img", std::process::id()));
    let path = file.to_str().unwrap();
    let short = ["duration=10s", "agent.0.arrivals.count=50", "agent.0.region=0B,8MiB"];
    let create = Some("16MiB".into());
    let targets = [
        TargetOptions { create, ..TargetOptions::on(path) },
        TargetOptions::on("null"),
        TargetOptions::on("emulated:flash"),
    ];
    for target in targets {
        let name = target.on.clone();
        let run = run(JOB, &short, Options { target, ..Options::default() });
        let class = &run.classes[0];
        assert_eq!((class.requests, class.errors, class.unfinished), (50, 0, 0), "{name:?}");
        assert!((class.bw_bytes * run.duration_s / class.bytes as f64 - 1.0).abs() < 1e-9);
        assert_eq!((run.ended, run.failure), (None, None), "{name:?}");
    }
    std::fs::remove_file(&file).unwrap();
}
