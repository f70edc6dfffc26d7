//! Shares by weight on modelled disks: do the weights hold, and what does it cost?

use penstock_run::result::RunResult;
use penstock_run::{Options, TargetOptions, compare_text};

/// Three classes that read at random, each in its third of the disk.
const JOB: &str = r#"
duration = "60s"
[class.one]
weight = 100
[class.two]
weight = 200
[class.three]
weight = 300
[[agent]]
class = "one"
op = "read"
size = "16KiB"
pattern = "random"
region = ["0%", "33%"]
arrivals = { kind = "closed", depth = 8 }
[[agent]]
class = "two"
op = "read"
size = "16KiB"
pattern = "random"
region = ["33%", "66%"]
arrivals = { kind = "closed", depth = 8 }
[[agent]]
class = "three"
op = "read"
size = "16KiB"
pattern = "random"
region = ["66%", "99%"]
arrivals = { kind = "closed", depth = 8 }
"#;

fn runs(device: &str, policies: &[&str], sets: &[&str]) -> Vec<RunResult> {
    let target = TargetOptions::on(device);
    let policies = policies.iter().map(|&name| name.into()).collect();
    let options = Options { policies, target, ..Options::default() };
    let sets: Vec<String> = sets.iter().map(|&set| set.into()).collect();
    compare_text("job.toml", JOB, &sets, &options, &mut |_| true).unwrap().runs
}

/// The largest error of a share in percentage points, among weights of 1, 2 and 3.
fn error(run: &RunResult) -> f64 {
    let time: f64 = run.classes.iter().map(|class| class.device_time_s).sum();
    let parts = run.classes.iter().zip([1.0, 2.0, 3.0]);
    let errors = parts.map(|(class, weight)| 100.0 * (class.device_time_s / time - weight / 6.0));
    errors.fold(0.0, |worst, error| error.abs().max(worst))
}

fn rate(run: &RunResult) -> f64 {
    run.classes.iter().map(|class| class.iops).sum()
}

/// Runs of these policies.
fn compared<const N: usize>(device: &str, policies: [&str; N], sets: &[&str]) -> [RunResult; N] {
    let runs = runs(device, &policies, sets);
    <[RunResult; N]>::try_from(runs).unwrap_or_else(|_| panic!("a run for each policy"))
}

/// Its weights hold, at no less than these parts of the rates of `fcfs` and of `sfq`.
fn holds(device: &str, most: f64, [of_fcfs, of_sfq]: [f64; 2]) {
    let [fcfs, sfq, fairio] = compared(device, ["fcfs", "sfq", "fairio"], &[]);
    assert!(error(&fcfs) > 10.0, "{device}: {}", error(&fcfs));
    assert!(error(&fairio) <= most, "{device}: {}", error(&fairio));
    let ratios = [&fcfs, &sfq].map(|other| rate(&fairio) / rate(other));
    assert!(ratios[0] >= of_fcfs && ratios[1] >= of_sfq, "{device}: {ratios:?}");
}

#[test]
fn weights_hold_on_a_disk_at_nearly_its_whole_rate() {
    holds("hdd-7200", 1.5, [0.95, 1.1]);
    holds("cheetah9LP", 1.5, [0.95, 1.1]);
}

/// The disk's queue has fewer requests to choose from while classes wait for the next cycle.
#[test]
fn weights_hold_on_a_disk_that_chooses_itself() {
    holds("hdd-7200-ncq", 1.5, [0.8, 1.1]);
}

/// Short queues at the disks: some of them idle, whatever waits.
#[test]
fn weights_hold_on_an_array() {
    let raid = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/devices/raid0.toml");
    holds(raid, 2.5, [0.95, 1.1]);
}

/// The cost of a command by a law is time of the whole array, and not of each disk: otherwise
/// shares would never be used up.
#[test]
fn weights_hold_on_an_array_by_a_law() {
    let raid = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/devices/raid0.toml");
    let [fairio] = compared(raid, ["fairio"], &["fairio.charge=law"]);
    let parts = fairio.classes.iter().zip([1.0, 2.0, 3.0]);
    let errors = parts.map(|(class, weight)| 100.0 * (class.iops / rate(&fairio) - weight / 6.0));
    let worst = errors.fold(0.0, |worst: f64, error| error.abs().max(worst));
    assert!(worst <= 2.5, "{worst}");
}

#[test]
fn one_class_alone_loses_nothing() {
    for device in ["hdd-7200", "hdd-7200-ncq"] {
        let [fcfs, fairio] = compared(device, ["fcfs", "fairio"], &ALONE);
        let ratio = rate(&fairio) / rate(&fcfs);
        assert!((0.97..=1.03).contains(&ratio), "{device}: {ratio}");
    }
}

/// Classes `two` and `three` never ask.
const ALONE: [&str; 4] =
    ["agent.1.start=59.9s", "agent.2.start=59.9s", "warmup=1s", "agent.0.arrivals.depth=24"];

/// Device time that another class did not want is not held against the class that used it.
#[test]
fn a_class_that_begins_later_has_its_part_at_once_and_no_more() {
    for device in ["hdd-7200", "hdd-7200-ncq"] {
        let late = ["agent.1.start=30s", "agent.2.start=30s", "warmup=30s", "duration=50s"];
        let [fcfs, fairio] = compared(device, ["fcfs", "fairio"], &late);
        assert!(error(&fairio) <= 1.5, "{device}: {}", error(&fairio));
        assert!(error(&fcfs) > 10.0, "{device}: {}", error(&fcfs));
    }
}

#[test]
fn a_regulated_cycle_comes_to_rest_from_any_length() {
    let lengths = ["100ms", "1s", "4s"].map(|first| {
        let first = format!("fairio.first_cycle={first}");
        let [run] = compared("hdd-7200", ["fairio"], &["fairio.cycle=auto", &first, "warmup=20s"]);
        assert!(error(&run) <= 1.5, "{first}: {}", error(&run));
        run.policy_stats["cycle_ns"]
    });
    let (least, most) = (lengths.iter().min().unwrap(), lengths.iter().max().unwrap());
    assert!(*most as f64 <= 1.5 * *least as f64, "{lengths:?}");
}

/// A share of a short cycle does not suffice for one command, and nothing may fill the disk: still
/// it is never idle while something waits.
#[test]
fn a_threshold_leaves_no_disk_idle() {
    for mode in ["plus", "paper"] {
        let mode = format!("fairio.mode={mode}");
        let sets = [&mode, "fairio.load=0", "fairio.cycle=2ms", "fairio.start_estimate=63ms"];
        let [fcfs, fairio] = compared("hdd-7200", ["fcfs", "fairio"], &sets);
        let served = rate(&fairio) / rate(&fcfs);
        assert!(served > 0.5, "{mode}: {served}, {:?}", fairio.policy_stats);
    }
}

/// Short and long reads of two classes with weights of 1 and 2.
const MIXED: &str = r#"
duration = "1s"
[class.short]
weight = 100
[class.long]
weight = 200
[[agent]]
class = "short"
op = "read"
size = "4KiB"
pattern = "random"
arrivals = { kind = "closed", depth = 32 }
[[agent]]
class = "long"
op = "read"
size = "64KiB"
pattern = "random"
arrivals = { kind = "closed", depth = 32 }
"#;

/// The rates of both classes, of the one alone and the other alone where these policies say so.
fn mixed(device: &str, policy: &str, sets: &[String]) -> [f64; 2] {
    let target = TargetOptions::on(device);
    let options = Options { policies: vec![policy.into()], target, ..Options::default() };
    let run =
        compare_text("job.toml", MIXED, sets, &options, &mut |_| true).unwrap().runs.remove(0);
    let rate = |n: usize| run.classes.get(n).map_or(0.0, |class| class.iops);
    [rate(0), rate(1)]
}

/// A device that serves many at once divides its time among those in flight. By a law each class gets
/// its part of its own rate alone.
#[test]
fn by_a_law_a_class_feels_its_weight() {
    for device in ["ssd-sata", "ssd-nvme"] {
        let alone = ["short", "long"].map(|class| {
            let rates = mixed(device, &format!("alone:{class}"), &[]);
            rates[0] + rates[1]
        });
        let [short, long] = alone.map(|rate| 1e9 / rate);
        let per_mb = (long - short) / 61_440.0 * 1e6;
        let base = short - per_mb * 4_096.0 / 1e6;
        let cycle = "fairio.cycle=100ms".to_owned();
        let law = [
            cycle.clone(),
            "fairio.charge=law".to_owned(),
            format!("fairio.law.read.base={}ns", base.max(0.0).round()),
            format!("fairio.law.read.per_mb={}ns", per_mb.round()),
        ];
        let felt = |sets: &[String]| {
            let rates = mixed(device, "fairio", sets);
            let of_alone = [rates[0] / alone[0], rates[1] / alone[1]];
            100.0 * (of_alone[0] / (of_alone[0] + of_alone[1]) - 1.0 / 3.0)
        };
        let (by_time, by_law) = (felt(&[cycle]), felt(&law));
        assert!(by_law.abs() <= 2.0, "{device}: {by_law} by law");
        assert!(by_time.abs() > by_law.abs() + 3.0, "{device}: {by_time} by time, {by_law} by law");
    }
}

/// The felt share of the first class, whose weight is three times that of the other: its throughput
/// over that alone, of the sum of both such ratios. Requests always wait, and `depth` of them are at
/// the drive.
fn felt(sizes: [&str; 2], depth: u32) -> f64 {
    let policies = ["alone:short", "alone:long", "fairio"];
    let target = TargetOptions::on("ssd-nvme");
    let options =
        Options { policies: policies.map(Into::into).into(), target, ..Options::default() };
    let mut sets: Vec<String> = [
        "duration=200ms",
        "class.short.weight=300",
        "class.long.weight=100",
        "fairio.charge=law",
        "fairio.cycle=5ms",
    ]
    .map(Into::into)
    .into();
    sets.push(format!("live.depth={depth}"));
    for (agent, size) in sizes.iter().enumerate() {
        sets.push(format!("agent.{agent}.size={size}"));
        sets.push(format!("agent.{agent}.arrivals.depth={}", 2 * depth));
    }
    let runs = compare_text("job.toml", MIXED, &sets, &options, &mut |_| true).unwrap().runs;
    let of_alone = |class: usize| runs[2].classes[class].shares.of_alone.unwrap();
    of_alone(0) / (of_alone(0) + of_alone(1))
}

/// A law that is probed at another depth, or with other lengths, gave 0.5 to 0.9.
#[test]
fn the_law_of_a_job_holds_for_its_lengths_at_every_depth() {
    for sizes in [["8KiB", "128KiB"], ["128KiB", "8KiB"]] {
        for depth in [8, 32, 128] {
            let felt = felt(sizes, depth);
            assert!((felt - 0.75).abs() <= 0.02, "{sizes:?}, depth {depth}: {felt:.3}");
        }
    }
}
