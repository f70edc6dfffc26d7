//! Models that answer in real time, and a target that does nothing.

use penstock_run::result::{Comparison, World};
use penstock_run::{Failure, Options, TargetOptions, compare_text};

/// Half a second of people and a batch.
const JOB: &str = r#"
duration = "500ms"
device = "flash"

[class.people]
[class.batch]

[[agent]]
class = "people"
op = "read"
size = "4KiB"
pattern = "random"
arrivals = { kind = "poisson", rate = "100/s" }

[[agent]]
class = "batch"
op = "write"
size = "64KiB"
pattern = "sequential"
arrivals = { kind = "closed", depth = 2, think = "5ms" }
"#;

fn on(on: Option<&str>, policies: &[&str]) -> Result<Comparison, Failure> {
    let options = Options {
        policies: policies.iter().map(|name| (*name).into()).collect(),
        target: TargetOptions { on: on.map(Into::into), ..TargetOptions::default() },
        ..Options::default()
    };
    compare_text("job.toml", JOB, &[], &options, &mut |_| true)
}

fn refused(place: &str, policies: &[&str]) -> String {
    let failure = on(Some(place), policies).expect_err("it is refused");
    assert_eq!(failure.exit_code(), 2);
    failure.to_string()
}

#[test]
fn an_emulated_device_serves_what_its_model_serves() {
    let virtual_time = on(None, &["fcfs"]).unwrap();
    let emulated = on(Some("emulated:flash"), &["fcfs"]).unwrap();
    assert!(virtual_time.world == World::Simulated && emulated.world == World::Emulated);
    assert_eq!(emulated.device, "emulated:flash");
    let (model, real) = (&virtual_time.runs[0], &emulated.runs[0]);
    assert!(model.emulation.is_none() && model.schedule.is_none());
    assert!(real.schedule.is_some(), "real time can be late");
    // The schedule of people is the same in both worlds; how late it was is the machine's.
    let [people, batch] = &real.classes[..] else { panic!("two classes") };
    assert_eq!(people.requests, model.classes[0].requests);
    assert_eq!(people.bytes, model.classes[0].bytes);
    let late = real.emulation.as_ref().expect("it reports how late it was");
    assert_eq!(late.completions, people.requests + batch.requests);
    assert!(late.p50_ns <= late.p99_ns && late.p99_ns <= late.max_ns);
}

#[test]
fn a_faster_model_takes_no_longer_to_serve() {
    let device_time = |place: &str| {
        let comparison = on(Some(place), &["fcfs"]).unwrap();
        comparison.runs[0].classes[0].service_ns.mean
    };
    // Charged is the model's own time, whatever the machine makes of it.
    assert!(device_time("emulated:flash@10") < device_time("emulated:flash@0.5"));
}

#[test]
fn a_model_gets_no_more_at_once_than_the_job_says() {
    let with = |sets: &[&str]| {
        let sets: Vec<String> = sets.iter().map(|set| (*set).into()).collect();
        let options = Options { policies: vec!["fcfs".into()], ..Options::default() };
        let job = JOB.replace("flash", "ssd-nvme");
        let found = compare_text("job.toml", &job, &sets, &options, &mut |_| true).unwrap();
        let run = found.runs.into_iter().next().unwrap();
        let latency = run.classes[0].lat_ns.mean;
        (run.classes.iter().map(|class| class.wait_ns.mean).sum::<f64>(), latency)
    };
    let (free, bounded) = (with(&[]), with(&["live.depth=1"]));
    assert!(free.0 < 1.0, "it takes all at once: {free:?}");
    assert!(bounded.0 > 100.0, "requests wait above it: {bounded:?}");
    assert_eq!(with(&["live.depth=4096"]), free, "a bound beyond its own changes nothing");
}

#[test]
fn nothing_can_be_measured_too() {
    let comparison = on(Some("null"), &["fcfs", "alone:people"]).unwrap();
    assert!(comparison.world == World::Measured);
    assert_eq!((&*comparison.device, comparison.machine.engine), ("null", None));
    let people = &comparison.runs[0].classes[0];
    assert_eq!(people.requests, on(None, &["fcfs"]).unwrap().runs[0].classes[0].requests);
    assert_eq!(people.errors + people.unfinished, 0);
    assert_eq!(comparison.runs[1].classes.len(), 1);
}

/// Two agents of 1,000 requests and one of 500, whose class asks on as many threads as there are.
const COUNTED: &str = r#"
duration = "1min"
[class.many]
[class.few]
[[agent]]
class = "many"
op = "read"
size = "4KiB"
pattern = "random"
arrivals = { kind = "closed", depth = 3, count = 1000 }
[[agent]]
class = "many"
op = "read"
size = "4KiB"
pattern = "sequential"
arrivals = { kind = "closed", count = 1000 }
[[agent]]
class = "few"
op = "write"
size = "4KiB"
pattern = "random"
arrivals = { kind = "closed", count = 500 }
"#;

#[test]
fn threads_without_a_policy_have_one_result() {
    for threads in ["1", "2", "64"] {
        let options = Options {
            target: TargetOptions::on("null"),
            policies: vec!["kernel:as-is".into()],
            ..Options::default()
        };
        let sets = [format!("live.threads={threads}")];
        let comparison = compare_text("job.toml", COUNTED, &sets, &options, &mut |_| true).unwrap();
        let [run] = &comparison.runs[..] else { panic!("one run") };
        let found: Vec<_> = run.classes.iter().map(|one| (&*one.name, one.requests)).collect();
        assert_eq!(found, [("many", 2000), ("few", 500)]);
        assert!(run.classes.iter().all(|one| one.errors + one.unfinished == 0));
    }
}

#[test]
fn what_does_not_go_together_is_refused() {
    for place in ["emulated:flash", "flash"] {
        let message = refused(place, &["kernel:as-is"]);
        assert!(message.contains("kernel:as-is schedules a real disk"), "{message}");
    }
    for place in ["null", "emulated:flash", "flash"] {
        let message = refused(place, &["kernel:none"]);
        let expected =
            format!("error: kernel:none schedules a real disk, and {place} is not one\nhint: ");
        assert!(message.starts_with(&expected), "{message}");
    }
    let message = refused("emulated:flash@quick", &["fcfs"]);
    assert!(
        message.starts_with("error: found the speed \"quick\"; expected a number from 0.001"),
        "{message}"
    );
    let message = refused("emulated:flush", &["fcfs"]);
    assert!(message.contains("flush") && message.contains("flash"), "{message}");
}
