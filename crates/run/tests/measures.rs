//! Counting in a run: warm-up, errors, stop rules, device time.

use penstock_run::result::{Comparison, RunResult};
use penstock_run::{Options, Step, TargetOptions, compare_text};

/// A request every millisecond to a device that takes 0.4 ms, from the beginning to the tenth
/// second.
const JOB: &str = r#"
duration = "10s"
device = { model = "fixed", base = "0.4ms", per_mb = "0ms" }

[class.all]

[[agent]]
class = "all"
op = "read"
size = "4KiB"
pattern = "random"
arrivals = { kind = "fixed", rate = "1000/s" }
"#;

fn compared(sets: &[&str]) -> Comparison {
    let sets: Vec<String> = sets.iter().map(|&set| set.into()).collect();
    let options = Options { policies: vec!["fcfs".into()], ..Options::default() };
    compare_text("job.toml", JOB, &sets, &options, &mut |_| true).unwrap()
}

fn run(sets: &[&str]) -> RunResult {
    compared(sets).runs.pop().unwrap()
}

fn close(found: f64, expected: f64) {
    assert!((found - expected).abs() < 1e-9, "{found}, expected {expected}");
}

#[test]
fn without_a_warm_up_everything_counts() {
    let run = run(&[]);
    let class = &run.classes[0];
    assert_eq!((class.requests, class.errors, class.unfinished), (10_000, 0, 0));
    assert_eq!(class.bytes, 10_000 * 4096);
    // The last is asked 1 ms before the end and is done 0.4 ms later: the rest is idle.
    close(run.duration_s, 10.0);
    close(class.device_time_s, 4.0);
    close(run.device_busy, 0.4);
    close(class.iops, 1000.0);
    close(class.bw_bytes, 4_096_000.0);
    assert_eq!((class.lat_ns.min, class.lat_ns.max), (400_000, 400_000));
}

#[test]
fn what_is_due_before_the_warm_ups_end_is_not_counted() {
    let run = run(&["warmup=4s"]);
    assert_eq!(run.classes[0].requests, 6_000);
    close(run.duration_s, 6.0);
    close(run.classes[0].iops, 1000.0);
    close(run.classes[0].device_time_s, 2.4);
}

#[test]
fn a_command_under_way_at_the_warm_ups_end_counts_with_what_is_left_of_it() {
    // 0.1 ms of the request that began at 4.000 s lies before, 0.3 ms behind.
    let run = run(&["warmup=4000100us"]);
    assert_eq!(run.classes[0].requests, 5_999);
    close(run.device_busy, (5_999.0 * 0.0004 + 0.0003) / (10.0 - 4.0001));
}

#[test]
fn the_device_is_never_busier_than_all_the_time() {
    let full = ["agent.0.rate=3000/s", "duration=1s"];
    for warmup in ["0ms", "1ms", "500ms", "999900us"] {
        let run = run(&[&full[..], &[&format!("warmup={warmup}")]].concat());
        assert!(run.device_busy <= 1.0 + 1e-12, "{warmup}: {}", run.device_busy);
    }
    let stalls = "device.faults.stalls=30%";
    let run = run(&[&full[..], &[stalls, "device.faults.stall=50ms"]].concat());
    assert!(run.device_busy <= 1.0, "{}", run.device_busy);
}

#[test]
fn failed_requests_are_errors_and_nothing_else() {
    let run = run(&["device.faults.errors=10%"]);
    let class = &run.classes[0];
    assert!((800..1_200).contains(&class.errors), "{}", class.errors);
    assert_eq!(class.requests + class.errors, 10_000);
    assert_eq!(class.bytes, class.requests * 4096);
    close(class.device_time_s, 4.0);
    let names: Vec<&str> = class.error_codes.keys().map(AsRef::as_ref).collect();
    assert_eq!(names, ["EIO"]);
    let code = &class.error_codes["EIO"];
    assert_eq!((code.requests, code.first.len), (class.errors, 4096));
    assert!(code.first.at_s < 1.0, "the first of a thousand in ten seconds");
}

#[test]
fn each_stop_rule_ends_the_run_where_it_says() {
    // Three times what the device bears: 10,000 requests of a second take four.
    let full = ["agent.0.rate=10000/s", "duration=1s"];
    let ends = |stop: &str| {
        let run = run(&[&full[..], &[&format!("stop={stop}")]].concat());
        let class = &run.classes[0];
        assert_eq!(class.requests + class.unfinished, 10_000, "{stop}");
        (run.duration_s, class.unfinished)
    };
    assert_eq!(ends("drained"), (4.0, 0));
    assert_eq!(ends("last-arrival"), (1.0, 7_500));
    assert_eq!(ends("2s"), (2.0, 5_000));
}

#[test]
fn a_rate_is_of_the_time_that_the_job_asked_for() {
    let slow = ["agent.0.rate=1/s", "duration=2s"];
    let run = |sets: &[&str]| self::run(&[&slow[..], sets].concat());
    for stop in ["drained", "last-arrival", "2s", "3s"] {
        let run = run(&[&format!("stop={stop}")]);
        let class = &run.classes[0];
        assert_eq!((class.requests, class.bytes), (2, 8192), "{stop}");
        close(run.duration_s, 2.0);
        close(class.iops, 1.0);
        close(class.bw_bytes, 4096.0);
    }
    // Half of the time behind a warm-up, and half of the requests.
    let half = run(&["warmup=1s"]);
    assert_eq!(half.classes[0].requests, 1);
    close(half.duration_s, 1.0);
    close(half.classes[0].iops, 1.0);
}

#[test]
fn a_rate_is_never_above_what_the_device_did() {
    // Four times what the device bears.
    let full = ["agent.0.rate=10000/s", "duration=1s"];
    for stop in ["drained", "last-arrival", "2s"] {
        for warmup in ["0s", "500ms"] {
            let sets = [format!("stop={stop}"), format!("warmup={warmup}")];
            let run = run(&[&full[..], &[&sets[0], &sets[1]]].concat());
            close(run.classes[0].iops, 2500.0);
            close(run.device_busy, 1.0);
        }
    }
}

/// Long requests would be lost from the rate if it were of the time that was asked for alone.
#[test]
fn what_is_in_flight_after_the_last_arrival_counts_with_the_time_that_it_takes() {
    let run = run(&["agent.0.rate=1/s", "duration=1s", "device.base=4s"]);
    close(run.duration_s, 4.0);
    close(run.classes[0].iops, 0.25);
}

/// A class that is served in time has its rate, however long another one takes after it.
#[test]
fn the_backlog_of_one_class_is_in_no_rate_of_another() {
    let (_, agent) = JOB.split_once("[[agent]]").unwrap();
    let late = agent.replace("\"all\"", "\"late\"").replace("1000/s", "4000/s");
    let job = format!("{JOB}[class.late]\nprio = 1\n[[agent]]{late}");
    let options = Options { policies: vec!["class-priority".into()], ..Options::default() };
    let sets = ["class-priority.max_sectors=off".to_owned()];
    let run =
        compare_text("job.toml", &job, &sets, &options, &mut |_| true).unwrap().runs.remove(0);
    let [all, late] = &run.classes[..] else { panic!("two classes") };
    close(run.duration_s, 20.0);
    assert!((all.iops - 1000.0).abs() < 0.1, "{}", all.iops);
    close(late.iops, 2000.0);
}

#[test]
fn agents_that_ask_so_many_times_have_rates_until_they_are_done() {
    let turns = "agent.0.arrivals.kind=turns";
    let run = run(&[turns, "agent.0.arrivals.count=1000", "device.base=1ms"]);
    close(run.duration_s, 1.0);
    close(run.classes[0].iops, 1000.0);
}

#[test]
fn a_run_that_is_interrupted_has_rates_until_then() {
    let options = Options { policies: vec!["fcfs".into()], ..Options::default() };
    let sets = ["agent.0.rate=1000000/s".to_owned(), "device.base=1us".to_owned()];
    let mut reports = 0;
    let mut until_the_second = |_: Step<'_>| {
        reports += 1;
        reports < 2
    };
    let comparison = compare_text("job.toml", JOB, &sets, &options, &mut until_the_second).unwrap();
    let run = &comparison.runs[0];
    assert!(run.interrupted && run.duration_s < 9.0);
    close(run.classes[0].iops, run.classes[0].requests as f64 / run.duration_s);
}

/// A job may outlast its agents: no request arrives after the last of them has stopped.
#[test]
fn last_arrival_is_the_end_of_the_last_agents_time() {
    let run = run(&["agent.0.rate=10000/s", "agent.0.stop=2s", "stop=last-arrival"]);
    close(run.duration_s, 2.0);
}

/// Squares of latencies of days do not fit 128 bits once there are hundreds of thousands.
#[test]
fn deviations_of_endless_queues_are_reported() {
    let sets = ["agent.0.rate=60000/s", "duration=6s", "max_outstanding=400000"];
    let run = run(&[&sets[..], &["device.base=1s"]].concat());
    let latency = &run.classes[0].lat_ns;
    // Latencies rise evenly from nothing to their maximum.
    let even = latency.max as f64 / 12_f64.sqrt();
    assert!((latency.stddev / even - 1.0).abs() < 0.01, "{} of {even}", latency.stddev);
}

/// A result carries its whole configuration: the device too, wherever it was named.
#[test]
fn the_text_of_a_result_names_the_device_it_ran_on() {
    let options = Options {
        policies: vec!["fcfs".into()],
        target: TargetOptions::on("flash"),
        ..Options::default()
    };
    let comparison = compare_text("job.toml", JOB, &[], &options, &mut |_| true).unwrap();
    assert!(comparison.job.text.contains("name = \"flash\""), "{}", comparison.job.text);
    let own = compared(&[]);
    assert!(own.job.text.contains("base = \"400us\""), "{}", own.job.text);
}
