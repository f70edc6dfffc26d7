//! Agents whose I/O is buffered: what is counted, who is charged, what is refused, what replays.

use std::path::PathBuf;

use penstock_jobs::Job;
use penstock_run::record::replay::replay;
use penstock_run::result::{ClassResult, Comparison, RunResult};
use penstock_run::{Failure, Options, TargetOptions, compare, compare_text};

/// An agent reads eight mebibytes over and over, another writes more than may be dirty.
const JOB: &str = r#"
duration = "20s"
device = "flash"

[page_cache]
memory = "64MiB"
dirty_expire = "2s"

[class.hot]
[class.log]
[class.past]

[[agent]]
class = "hot"
op = "read"
cache = "buffered"
size = "4KiB"
pattern = "random"
region = ["0B", "8MiB"]
arrivals = { kind = "closed", depth = 1, think = "1ms" }

[[agent]]
class = "log"
op = "write"
cache = "buffered"
size = "64KiB"
pattern = "sequential"
region = ["1GiB", "2GiB"]
arrivals = { kind = "fixed", rate = "500/s" }

[[agent]]
class = "past"
op = "read"
size = "16KiB"
pattern = "random"
region = ["4GiB", "8GiB"]
arrivals = { kind = "fixed", rate = "100/s" }
"#;

fn compared(sets: &[&str], on: Option<&str>) -> Result<Comparison, Failure> {
    let sets: Vec<String> = sets.iter().map(|&set| set.into()).collect();
    let on = on.map(Into::into);
    let target = TargetOptions { on, ..TargetOptions::default() };
    let policies = vec!["fcfs".into()];
    let options = Options { policies, target, detail: true, ..Options::default() };
    compare_text("job.toml", JOB, &sets, &options, &mut |_| true)
}

fn run(sets: &[&str]) -> RunResult {
    compared(sets, None).unwrap().runs.pop().unwrap()
}

fn classes(run: &RunResult) -> [&ClassResult; 3] {
    let [hot, log, past] = &run.classes[..] else { panic!("three classes") };
    [hot, log, past]
}

#[test]
fn requests_are_what_agents_ask_and_device_time_is_what_reaches_the_device() {
    let run = run(&["page_cache.memory=1GiB"]);
    let [hot, log, past] = classes(&run);
    // Each of 2,048 pages is missed once, at 80 us and 2 ns a byte.
    assert!(hot.requests > 15_000, "{}", hot.requests);
    assert!((hot.device_time_s - 2048.0 * 88.192e-6).abs() < 1e-6, "{}", hot.device_time_s);
    assert_eq!(hot.lat_ns.percentile["50.000000"], 1_409, "a call, and 4 KiB at 10 GB/s");
    // Written in megabytes, but for what was still dirty in the end.
    let bytes = 10_000.0 * 65_536.0;
    let whole = bytes / 1_048_576.0 * (80e-6 + 1_048_576.0 * 2e-9);
    assert_eq!((log.requests, log.bytes as f64), (10_000, bytes));
    assert!((0.8..1.02).contains(&(log.device_time_s / whole)), "{} {whole}", log.device_time_s);
    assert!(log.lat_ns.max < 10_000_000 && log.service_ns.max == 0, "no program waits for it");
    assert!(past.lat_ns.min > 100_000, "a direct read is never a hit");
}

#[test]
fn shares_and_busy_time_are_of_one_sum() {
    let run = run(&["warmup=5s"]);
    let sum: f64 = run.classes.iter().map(|class| class.device_time_s).sum();
    assert!((sum / run.duration_s - run.device_busy).abs() < 1e-9);
    let shares: f64 = run.classes.iter().map(|class| class.share).sum();
    assert!((shares - 1.0).abs() < 1e-9);
    let whole = self::run(&[]);
    let detail = whole.detail.as_ref().expect("it was asked for");
    for (class, detail) in whole.classes.iter().zip(&detail.classes) {
        let series: f64 = detail.series.iter().map(|row| row.device_time_s).sum();
        assert!((series - class.device_time_s).abs() < 1e-9, "{}", class.name);
    }
}

#[test]
fn writers_go_at_the_device_s_rate_when_enough_is_dirty() {
    let faster = "agent.1.arrivals.rate=10000/s";
    let [room, none] = [&["page_cache.memory=64MiB", faster], &["page_cache.memory=1MiB", faster]]
        .map(|sets| run(sets));
    // 655 MB/s are asked of a device of 500 MB/s, which others use too.
    for run in [&room, &none] {
        let log = classes(run)[1];
        assert!(log.lat_ns.max > 100_000_000 && run.device_busy > 0.98, "{}", log.lat_ns.max);
    }
}

#[test]
fn past_the_memory_hits_become_rare() {
    let idle = ["agent.1.arrivals.rate=1/min", "agent.2.arrivals.rate=1/min", "warmup=10s"];
    let faster = ["agent.0.arrivals.think=0.2ms", "page_cache.memory=16MiB"];
    for (region, share) in [("0B,32MiB", 0.5), ("0B,64MiB", 0.25), ("0B,16MiB", 1.0)] {
        let region = format!("agent.0.region={region}");
        let run = run(&[&idle[..], &faster[..], &[region.as_str()]].concat());
        let hot = classes(&run)[0];
        let hits = 1.0 - hot.device_time_s / 88.192e-6 / hot.requests as f64;
        assert!((hits - share).abs() < 0.02, "{hits} of {share}");
    }
}

#[test]
fn a_sequential_reader_is_faster_in_buffers_and_a_random_one_is_not() {
    let rate = |pattern: &str, cache: &str| {
        let (pattern, cache) = (format!("pattern={pattern}"), format!("cache={cache}"));
        let sets = [
            "device=hdd-7200",
            "agent.0.region=0%,50%",
            "agent.0.think=0s",
            "agent.1.arrivals.rate=1/min",
            "agent.2.arrivals.rate=1/min",
        ];
        let own = [format!("agent.0.{pattern}"), format!("agent.0.{cache}")];
        let sets = sets.into_iter().chain(own.iter().map(String::as_str)).collect::<Vec<_>>();
        classes(&run(&sets))[0].iops
    };
    assert!(rate("sequential", "buffered") > 10.0 * rate("sequential", "direct"));
    let random = rate("random", "buffered") / rate("random", "direct");
    assert!((0.95..1.05).contains(&random), "{random}");
}

#[test]
fn an_agent_that_is_direct_is_as_without_a_page_cache() {
    let direct = ["agent.0.cache=direct", "agent.1.cache=direct"];
    let with = run(&direct);
    let without = run(&[&direct[..], &["page_cache.memory=1MiB"]].concat());
    let json = |run: &RunResult| serde_json::to_string(run).unwrap();
    assert_eq!(json(&with), json(&without));
    assert!(classes(&with)[0].lat_ns.min > 80_000);
}

#[test]
fn the_target_that_does_nothing_has_no_page_cache() {
    let refused = compared(&[], Some("null")).expect_err("nothing is cached there");
    assert_eq!(refused.exit_code(), 2);
    let message = refused.to_string();
    assert!(message.contains("the agent is `buffered`; null has no page cache"), "{message}");
    assert!(message.contains("name a model or a file with --on"), "{message}");
}

#[test]
fn a_page_cache_may_stand_over_a_model_in_real_time() {
    let sets = ["duration=300ms", "agent.1.arrivals.rate=100/s"];
    let comparison = compared(&sets, Some("emulated:flash")).unwrap();
    let hot = classes(&comparison.runs[0])[0];
    assert!(hot.requests > 10 && hot.errors == 0, "{}", hot.requests);
}

#[test]
fn a_job_with_buffered_agents_has_a_page_cache_whether_it_says_or_not() {
    let text = JOB.replace("[page_cache]\nmemory = \"64MiB\"\ndirty_expire = \"2s\"\n", "");
    let job = Job::parse("job.toml", &text, &[]).unwrap();
    assert_eq!(job.page_cache, Some(penstock_jobs::PageCacheSpec::default()));
    assert_eq!(Job::parse("job.toml", &job.text(), &[]).unwrap().text(), job.text());
    let set = ["page_cache.dirty_ratio=40%".to_owned(), "page_cache.read_ahead=0B".to_owned()];
    let job = Job::parse("job.toml", JOB, &set).unwrap();
    let again = Job::parse("job.toml", &job.text(), &[]).unwrap();
    assert_eq!(job.page_cache, again.page_cache);
    assert!(job.text().contains("cache = \"buffered\"") && again.workload == job.workload);
}

/// The tap of the record lies below the policy, the cache above it: both sides are the same again.
#[test]
fn a_recorded_run_replays_alike() {
    let folder = std::env::temp_dir().join(format!("penstock-cached-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let job: PathBuf = folder.join("job.toml");
    std::fs::write(&job, JOB).unwrap();
    // Writers that wait, pages that grow old, misses: whatever wakes the cache.
    let sets = [
        "duration=3s",
        "device=hdd-7200",
        "page_cache.memory=4MiB",
        "page_cache.dirty_expire=100ms",
        "page_cache.dirty_writeback=30ms",
        "agent.0.sync=true",
        "agent.0.op=write",
    ];
    for policy in ["noop", "deadline", "cfq", "size-priority"] {
        let record = folder.join(policy);
        let sets = sets.map(String::from);
        let options = Options {
            policies: vec![policy.into()],
            record: Some(record.clone()),
            ..Options::default()
        };
        compare(&job, &sets, &options, &mut |_| true).unwrap();
        let replay = replay(&record, &[]).unwrap();
        assert!(replay.first_difference.is_none() && replay.alike > 50, "{policy}: {replay:?}");
        // Another cache asks for something else.
        let other = self::replay(&record, &["page_cache.memory=1MiB".into()]).unwrap();
        assert!(other.first_difference.is_some(), "{policy}");
    }
    std::fs::remove_dir_all(&folder).unwrap();
}
