//! Rates of classes under `mclock` on modelled disks.

use penstock_run::result::RunResult;
use penstock_run::{Options, TargetOptions, compare_text};

/// Three classes that read at random and always have requests queued.
const JOB: &str = r#"
[class.tenant]
weight = 100
[class.second]
weight = 100
[class.third]
weight = 300
[[agent]]
class = "tenant"
op = "read"
size = "4KiB"
pattern = "random"
arrivals = { kind = "closed", depth = 64 }
[[agent]]
class = "second"
op = "read"
size = "4KiB"
pattern = "random"
arrivals = { kind = "closed", depth = 64 }
[[agent]]
class = "third"
op = "read"
size = "4KiB"
pattern = "random"
arrivals = { kind = "closed", depth = 64 }
"#;

/// A run that ends after `duration`, with requests queued.
fn run(device: &str, duration: &str, sets: &[&str]) -> RunResult {
    let target = TargetOptions::on(device);
    let options = Options { policies: vec!["mclock".into()], target, ..Options::default() };
    let mut sets: Vec<String> = sets.iter().map(|&set| set.into()).collect();
    sets.extend(["duration", "stop"].map(|key| format!("{key}={duration}")));
    compare_text("job.toml", JOB, &sets, &options, &mut |_| true).unwrap().runs.remove(0)
}

fn rates(run: &RunResult) -> [f64; 3] {
    [0, 1, 2].map(|class: usize| run.classes[class].iops)
}

/// Whether `rate` differs from `expected` by at most this percentage.
fn near(rate: f64, expected: f64, percent: f64) -> bool {
    (rate - expected).abs() <= expected * percent / 100.0
}

/// Without a reservation the class has a part of a hundredth.
#[test]
fn a_reservation_is_kept_while_two_others_saturate_the_disk() {
    for (device, reserved, duration) in
        [("hdd-7200", 40.0, "100s"), ("ssd-sata", 20_000.0, "1s"), ("ssd-nvme", 100_000.0, "300ms")]
    {
        let weights = ["class.tenant.weight=1", "class.second.weight=49", "class.third.weight=50"];
        let sets = |reservation: &str| {
            rates(&run(device, duration, &[&weights[..], &[reservation]].concat()))
        };
        let [without, ..] = sets("mclock.reservation=0");
        assert!(without < reserved / 4.0, "{device}: {without}");
        let [tenant, second, third] = sets(&format!("mclock.reservation={},0,0", reserved as u32));
        assert!(near(tenant, reserved, 2.0), "{device}: {tenant}");
        assert!(near(third / second, 50.0 / 49.0, 2.0), "{device}: {second}, {third}");
    }
}

#[test]
fn a_limit_is_kept_and_the_others_get_the_rest_by_weight() {
    for (device, limit, duration) in
        [("hdd-7200", 20.0, "100s"), ("ssd-sata", 5_000.0, "1s"), ("ssd-nvme", 50_000.0, "300ms")]
    {
        let limits = format!("mclock.limit={},0,0", limit as u32);
        let weight = "class.tenant.weight=400";
        let [tenant, second, third] = rates(&run(device, duration, &[&limits, weight]));
        assert!(near(tenant, limit, 1.0), "{device}: {tenant}");
        assert!(near(third / second, 3.0, 2.0), "{device}: {second}, {third}");
        let all = rates(&run(device, duration, &[weight])).iter().sum::<f64>();
        assert!(near(tenant + second + third, all, 3.0), "{device}: {all} without a limit");
    }
}

/// The limits of all classes together are less than the disk can do: it is idle between requests.
#[test]
fn limits_hold_on_a_disk_with_time_to_spare() {
    let run = run("ssd-nvme", "1s", &["mclock.limit=1000,2000,300"]);
    for (rate, limit) in rates(&run).into_iter().zip([1_000.0, 2_000.0, 300.0]) {
        assert!(near(rate, limit, 1.0), "{rate}, not {limit}");
    }
}

/// 600,000 bytes cost as much as two further requests.
#[test]
fn a_long_request_counts_as_several() {
    let sets = ["mclock.limit=300", "agent.0.size=600kB", "mclock.unit=300kB"];
    let [long, short, _] = rates(&run("ssd-nvme", "2s", &sets));
    assert!(near(long, 100.0, 1.0) && near(short, 300.0, 1.0), "{long}, {short}");
    let off = ["mclock.limit=300", "agent.0.size=600kB", "mclock.unit=off"];
    let [long, ..] = rates(&run("ssd-nvme", "2s", &off));
    assert!(near(long, 300.0, 1.0), "{long}");
}

/// Requests that went by weight are not taken from the reservation: it holds at once when the others
/// begin.
#[test]
fn a_class_that_had_the_disk_alone_keeps_its_reservation() {
    let others = ["agent.1.start=1s", "agent.2.start=1s", "warmup=1s"];
    let weights = ["class.tenant.weight=1", "class.third.weight=1000"];
    let reserved = ["mclock.reservation=20000,0,0"];
    let [tenant, ..] = rates(&run("ssd-sata", "2s", &[&others[..], &weights, &reserved].concat()));
    assert!(near(tenant, 20_000.0, 2.0), "{tenant}");
}

#[test]
fn a_reservation_above_the_limit_is_refused() {
    let sets = ["mclock.limit=400,200,0", "mclock.reservation=300", "duration=1s"].map(Into::into);
    let options = Options { policies: vec!["mclock".into()], ..Options::default() };
    let run = compare_text("job.toml", JOB, &sets, &options, &mut |_| true);
    let message = run.map(drop).expect_err("it is wrong").to_string();
    let said = "a reservation of 300 is above the limit of its class, 200";
    assert!(message.contains(said) && message.contains("mclock.reservation=300"), "{message}");
}
