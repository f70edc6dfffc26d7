//! Shares and use of modelled drives under `iocost`.

use penstock_run::result::RunResult;
use penstock_run::{Options, TargetOptions, compare_text};

/// Three classes that read at random and always have requests queued.
const JOB: &str = r#"
duration = "1500ms"
warmup = "1s"
stop = "1500ms"
[class.one]
weight = 100
[class.two]
weight = 200
[class.four]
weight = 400
[[agent]]
class = "one"
op = "read"
size = "4KiB"
pattern = "random"
arrivals = { kind = "closed", depth = 128 }
[[agent]]
class = "two"
op = "read"
size = "4KiB"
pattern = "random"
arrivals = { kind = "closed", depth = 128 }
[[agent]]
class = "four"
op = "read"
size = "4KiB"
pattern = "random"
arrivals = { kind = "closed", depth = 128 }
"#;

fn runs<const N: usize>(device: &str, policies: [&str; N], sets: &[&str]) -> [RunResult; N] {
    let target = TargetOptions::on(device);
    let policies = policies.iter().map(|&name| name.into()).collect();
    let options = Options { policies, target, ..Options::default() };
    let sets: Vec<String> = sets.iter().map(|&set| set.into()).collect();
    let runs = compare_text("job.toml", JOB, &sets, &options, &mut |_| true).unwrap().runs;
    <[RunResult; N]>::try_from(runs).unwrap_or_else(|_| panic!("a run for each policy"))
}

/// The part of each class in the sum of `amounts`.
fn parts(amounts: [f64; 3]) -> [f64; 3] {
    amounts.map(|amount| amount / amounts.iter().sum::<f64>())
}

fn device_time(run: &RunResult) -> [f64; 3] {
    parts([0, 1, 2].map(|class: usize| run.classes[class].device_time_s))
}

fn cost(run: &RunResult) -> [f64; 3] {
    parts(
        ["one", "two", "four"]
            .map(|class| run.policy_stats[&format!("class.{class}.cost_ns")] as f64),
    )
}

/// The largest error among weights of 1, 2 and 4.
fn error(parts: [f64; 3]) -> f64 {
    let errors = parts.iter().zip([1.0, 2.0, 4.0]).map(|(part, weight)| part - weight / 7.0);
    errors.fold(0.0, |worst, error| error.abs().max(worst))
}

fn rate(run: &RunResult) -> f64 {
    run.classes.iter().map(|class| class.bw_bytes).sum()
}

#[test]
fn shares_follow_weights_on_a_drive_that_is_used_as_much() {
    for op in ["read", "write"] {
        let op = ["agent.0", "agent.1", "agent.2"].map(|agent| format!("{agent}.op={op}"));
        let [noop, iocost] = runs("ssd-nvme", ["noop", "iocost"], &[&op[0], &op[1], &op[2]]);
        assert!(error(device_time(&noop)) > 0.1, "{op:?}: {:?}", device_time(&noop));
        let shares = [device_time(&iocost), cost(&iocost)];
        assert!(shares.into_iter().all(|shares| error(shares) <= 0.03), "{op:?}: {shares:?}");
        let used = rate(&iocost) / rate(&noop);
        assert!(used >= 0.95, "{op:?}: {used}, {:?}", iocost.policy_stats);
    }
}

/// Long and short requests, reads and writes: their costs are divided by weight.
#[test]
fn the_model_makes_unlike_requests_comparable() {
    let sets = ["agent.0.size=64KiB", "agent.1.op=write", "agent.2.size=16KiB"];
    let [noop, iocost] = runs("ssd-nvme", ["noop", "iocost"], &sets);
    assert!(error(cost(&iocost)) <= 0.03, "{:?}", cost(&iocost));
    assert!(rate(&iocost) > 0.8 * rate(&noop), "{:?}", iocost.policy_stats);
}

/// A half of its part suffices to the class of the largest weight: the others have the rest.
#[test]
fn an_unused_share_is_donated() {
    let arrivals = ["agent.2.arrivals.kind=poisson", "agent.2.arrivals.rate=200000/s"];
    let [noop, iocost] = runs("ssd-nvme", ["noop", "iocost"], &arrivals);
    let [one, two, four] = [0, 1, 2].map(|class: usize| iocost.classes[class].iops);
    assert!((four / 200_000.0 - 1.0).abs() < 0.02, "{four}");
    assert!((two / one - 2.0).abs() < 0.1, "{one}, {two}");
    assert!(rate(&iocost) / rate(&noop) >= 0.95, "{:?}", iocost.policy_stats);
    let stats = &iocost.policy_stats;
    assert!((20..40).contains(&stats["class.four.share_percent"]), "{stats:?}");
}

/// The remnant of a share after a donation does not set the price of the next request.
#[test]
fn a_class_that_donates_does_not_wait_for_its_next_requests() {
    let sets = [
        "duration=60s",
        "stop=last-arrival",
        "agent.0.arrivals.kind=poisson",
        "agent.0.arrivals.rate=4/s",
        "agent.1.arrivals.depth=4",
        "agent.2.arrivals.depth=4",
    ];
    let [run] = runs("hdd-7200", ["iocost"], &sets);
    let rare = &run.classes[0];
    assert!(rare.requests > 200 && rare.lat_ns.max < 1_000_000_000, "{:?}", rare.lat_ns);
    assert!(run.policy_stats["taken_back"] > 0, "{:?}", run.policy_stats);
}

/// The requests of all classes fit into the drive's queue: only its latency says that it is busy.
#[test]
fn a_target_near_the_latency_of_the_drive_makes_weights_count() {
    let depths =
        ["agent.0", "agent.1", "agent.2"].map(|agent| format!("{agent}.arrivals.depth=40"));
    let with = |target: &str| {
        let [run] = runs("ssd-nvme", ["iocost"], &[&depths[0], &depths[1], &depths[2], target]);
        run
    };
    let (loose, tight) = (with("iocost.rlat=75ms"), with("iocost.rlat=150us"));
    assert!(error(device_time(&loose)) > 0.1, "{:?}", device_time(&loose));
    assert!(error(device_time(&tight)) <= 0.03, "{:?}", device_time(&tight));
    let [loose, tight] = [&loose, &tight].map(|run| run.policy_stats["vrate_percent"]);
    assert!(loose == 150 && tight < 100, "{loose}, {tight}");
}

/// The model is that of a far slower drive: virtual time becomes faster.
#[test]
fn the_pace_follows_a_drive_that_the_model_does_not_fit() {
    let sets = ["iocost.model=ssd-sata", "iocost.max=2000", "iocost.period=20ms"];
    let [noop, run] = runs("ssd-nvme", ["noop", "iocost"], &sets);
    assert!(run.policy_stats["vrate_percent"] > 500, "{:?}", run.policy_stats);
    assert!(error(device_time(&run)) <= 0.03, "{:?}", device_time(&run));
    let used = rate(&run) / rate(&noop);
    assert!(used >= 0.95, "{used}, {:?}", run.policy_stats);
}

#[test]
fn bounds_out_of_order_are_refused() {
    let refused = |set: &str| {
        let target = TargetOptions::on("flash");
        let options = Options { policies: vec!["iocost".into()], target, ..Options::default() };
        let sets: Vec<String> = ["iocost.max=90", set].map(Into::into).into();
        let run = compare_text("job.toml", JOB, &sets, &options, &mut |_| true);
        run.map(drop).expect_err("it is wrong").to_string()
    };
    for (set, said) in [
        ("iocost.max=10001", "a pace of 10001 % is above the fastest, 10000 %"),
        ("iocost.max=0", "at least 1"),
        ("iocost.min=91", "the slowest pace, 91 %, is above the fastest, 90 %"),
        ("iocost.model=ssd-nvm", "unknown device `ssd-nvm`"),
    ] {
        let message = refused(set);
        assert!(message.contains(said) && message.contains(set), "{message}");
    }
}
