//! A trace of several devices, each played on a device of its own kind.

use std::path::PathBuf;

use penstock_run::result::{Comparison, RunResult};
use penstock_run::{Failure, Options, TargetOptions, compare_text};

/// Two devices of fixed time, as arguments: the first takes 1 ms, the second 3 ms.
const TWO: [&str; 6] = [
    "trace.on.0.model=fixed",
    "trace.on.0.base=1ms",
    "trace.on.0.name=quick",
    "trace.on.1.model=fixed",
    "trace.on.1.base=3ms",
    "trace.on.1.name=slow",
];

/// Two requests to each of the devices 0 and 1, all at the same time; `past` is the last sector of
/// those to device 1.
struct Traced(PathBuf);

impl Traced {
    fn new(name: &str, past: u64) -> Self {
        let path = std::env::temp_dir().join(format!("penstock-{name}-{}", std::process::id()));
        let text = format!("0.0 0 0 8 1\n0.0 1 0 8 1\n0.0 0 16 8 1\n0.0 1 {past} 8 1\n");
        std::fs::write(&path, text).unwrap();
        Self(path)
    }

    fn run(&self, sets: &[&str], target: TargetOptions) -> Result<Comparison, Failure> {
        let text = format!(
            "[class.all]\n[[rule]]\nclass = \"all\"\n[trace]\nfile = \"{}\"\nformat = \"disksim\"\n",
            self.0.display()
        );
        let sets: Vec<String> = sets.iter().map(|&set| set.into()).collect();
        let options = Options { policies: vec!["fcfs".into()], target, ..Options::default() };
        compare_text("job.toml", &text, &sets, &options, &mut |_| true)
    }

    /// The error of a run on these devices.
    fn refused(&self, sets: &[&str], target: TargetOptions) -> String {
        self.run(sets, target).expect_err("a mistake").to_string()
    }
}

impl Drop for Traced {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// The longest and the mean response in microseconds.
fn responses(run: &RunResult) -> [u64; 2] {
    let lat = &run.classes[0].lat_ns;
    [lat.max / 1000, (lat.mean / 1000.0).round() as u64]
}

fn disks(run: &RunResult) -> Vec<(Option<&str>, u64)> {
    let disks = &run.device_stats.as_ref().unwrap().disks;
    let ms = |mean: f64| mean.round() as u64;
    disks.iter().map(|disk| (disk.device.as_deref(), ms(disk.own.service_ms.mean))).collect()
}

#[test]
fn each_is_served_at_the_pace_of_its_own() {
    let traced = Traced::new("own-kind", 16);
    let result = traced.run(&TWO, TargetOptions::default()).unwrap();
    assert_eq!(result.device, "0=quick, 1=slow");
    let run = &result.runs[0];
    assert_eq!(responses(run), [6000, 3000], "1 and 2 ms on the one, 3 and 6 ms on the other");
    assert_eq!(disks(run), [(Some("0"), 1), (Some("1"), 3)]);
    // The job that a result carries is the one that ran.
    let sets = ["trace.layout=each", "device.model=fixed", "device.base=1ms"];
    let alike = traced.run(&sets, TargetOptions::default()).unwrap();
    assert_eq!(disks(&alike.runs[0]), [(Some("0"), 1), (Some("1"), 1)]);
    assert_eq!(responses(&alike.runs[0]), [2000, 1500]);
}

#[test]
fn devices_of_one_kind_by_name_are_those_of_one_kind() {
    let traced = Traced::new("one-kind", 16_000);
    let each = ["trace.layout=each", "device=hdd-7200"];
    let named = ["trace.on.1=hdd-7200", "trace.on.0=hdd-7200"];
    let [each, named] = [&each, &named].map(|sets| {
        let result = traced.run(sets, TargetOptions::default()).unwrap();
        (responses(&result.runs[0]), format!("{:?}", result.runs[0].device_stats))
    });
    assert_eq!(each, named);
}

#[test]
fn one_of_them_is_played_on_its_own() {
    let traced = Traced::new("one-of-two", 16);
    let one = [&TWO[..], &["trace.device=1"]].concat();
    let result = traced.run(&one, TargetOptions::default()).unwrap();
    assert_eq!((result.device.as_str(), responses(&result.runs[0])), ("1=slow", [6000, 4500]));
    let needless = [&one[3..], &["trace.on.0=hdd-7200"]].concat();
    assert_eq!(traced.run(&needless, TargetOptions::default()).unwrap().device, "1=slow");
}

#[test]
fn a_target_takes_the_place_of_them_all() {
    let traced = Traced::new("instead", 16);
    let result = traced.run(&TWO, TargetOptions::on("flash")).unwrap();
    assert_eq!(result.device, "flash");
    assert_eq!(disks(&result.runs[0]).len(), 2, "each still has a device of its own");
    assert!(!result.job.text.contains("[trace.on"), "{}", result.job.text);
    let error = traced.refused(&TWO, TargetOptions::on("null"));
    assert!(error.starts_with("error: the trace is of 2 devices, and null is one"), "{error}");
}

#[test]
fn what_does_not_fit_one_of_them_is_refused() {
    let traced = Traced::new("too-small", 4096);
    let small = [&TWO[..], &["trace.on.1.capacity=1MiB"]].concat();
    let error = traced.refused(&small, TargetOptions::default());
    assert!(error.contains("expected it to end within the device's 1048576 B"), "{error}");
    let fits = [&small[..], &["trace.fit=wrap"]].concat();
    assert_eq!(responses(&traced.run(&fits, TargetOptions::default()).unwrap().runs[0])[0], 6000);
}

#[test]
fn a_device_without_one_to_play_on_and_a_name_that_is_not_there_are_errors() {
    let traced = Traced::new("lacking", 16);
    let error = traced.refused(&TWO[..3], TargetOptions::default());
    assert!(error.contains("device `1` of the trace"), "{error}");
    assert!(
        error.contains("has no device to be played on\nhint: `on.\"1\" = \"quick\"`"),
        "{error}"
    );
    let more = [&TWO[..], &["trace.on.10=hdd-7200"]].concat();
    let error = traced.refused(&more, TargetOptions::default());
    assert!(error.contains("device `10` is not in the trace"), "{error}");
    let of_queues = ["disks=2", "level=raid0", "scheduler=each"];
    let array = of_queues.map(|part| format!("trace.on.1.array.{part}"));
    let sets: Vec<&str> = TWO.iter().copied().chain(array.iter().map(String::as_str)).collect();
    let error = traced.refused(&sets, TargetOptions::default());
    assert!(error.contains("each device of a trace has one queue, and slow"), "{error}");
}
