//! Policies with a limit or a target for each class, on modelled disks: do these hold, and what do
//! the other classes get?

use std::sync::{Arc, Mutex};

use penstock_core::Span;
use penstock_run::result::{Requests, RunResult};
use penstock_run::{Options, RequestSink, TargetOptions, compare_text};

/// Short reads that arrive by themselves, and long ones as fast as the disk allows.
const JOB: &str = r#"
duration = "15s"
[class.web]
[class.bulk]
[[agent]]
class = "web"
op = "read"
size = "4KiB"
pattern = "random"
arrivals = { kind = "poisson", rate = "2000/s" }
[[agent]]
class = "bulk"
op = "read"
size = "128KiB"
pattern = "random"
arrivals = { kind = "closed", depth = 64 }
"#;

fn run(device: &str, policy: &str, sets: &[String]) -> (RunResult, Requests) {
    let requests = Arc::new(Mutex::new(Requests::default()));
    let kept = Arc::clone(&requests);
    let sink = RequestSink::new(move |_, requests| {
        *kept.lock().unwrap() = requests;
        Ok(())
    });
    let target = TargetOptions::on(device);
    let policies = vec![policy.into()];
    let options = Options { policies, target, requests: Some(sink), ..Options::default() };
    let mut runs = compare_text("job.toml", JOB, sets, &options, &mut |_| true).unwrap().runs;
    (runs.remove(0), std::mem::take(&mut requests.lock().unwrap()))
}

/// The part of the windows of 100 ms in which more than a tenth of the first class took longer than
/// `target`, from the sixth second on.
fn missed(requests: &Requests, target: Span) -> f64 {
    let window = |ns: u64| ns / 100_000_000;
    let mut windows = vec![(0_u32, 0_u32); 100];
    for (number, done) in requests.done_ns.iter().enumerate() {
        let Some(at) = window(*done).checked_sub(50) else { continue };
        if requests.class[number] == 0
            && let Some((all, late)) = windows.get_mut(at as usize)
        {
            *all += 1;
            *late += u32::from(done - requests.due_ns[number] > target.ns());
        }
    }
    let missed = windows.iter().filter(|(all, late)| late * 10 > *all).count();
    missed as f64 / windows.len() as f64
}

#[test]
fn a_target_that_can_be_met_is_met_in_95_percent_of_the_windows() {
    for (device, us) in [("ssd-nvme", 200), ("ssd-sata", 500), ("ssd-sata", 2_000)] {
        let target = Span::from_us(us);
        let (fcfs, unprotected) = run(device, "fcfs", &[]);
        let sets = [format!("latency-target.target={us}us,off")];
        let (limited, protected) = run(device, "latency-target", &sets);
        let both = [&unprotected, &protected].map(|requests| missed(requests, target));
        assert!(both[0] > 0.9 && both[1] <= 0.05, "{device}, {us} us: {both:?}");
        let kept = limited.classes[1].iops / fcfs.classes[1].iops;
        assert!(kept > 0.6, "{device}, {us} us: the others keep {kept}");
    }
}

#[test]
fn a_target_that_cannot_be_met_leaves_the_others_one_request() {
    let sets = ["latency-target.target=50us,off".into()];
    let (result, requests) = run("ssd-sata", "latency-target", &sets);
    assert!(missed(&requests, Span::from_us(50)) > 0.99);
    assert_eq!(result.policy_stats["class.bulk.depth"], 1);
    assert!(result.classes[1].iops > 1_000.0, "{}", result.classes[1].iops);
}

/// Without the class that needs protection the others grow again.
#[test]
fn depths_recover_once_the_target_is_met() {
    let depth = |more: &[&str]| {
        let sets =
            [&["latency-target.target=50us,off", "latency-target.window=10ms"], more].concat();
        let sets: Vec<String> = sets.into_iter().map(Into::into).collect();
        run("ssd-sata", "latency-target", &sets).0.policy_stats["class.bulk.depth"]
    };
    assert_eq!(depth(&[]), 1);
    assert!(depth(&["agent.0.stop=5s"]) > 16);
}

#[test]
fn a_limit_in_requests_or_in_bytes_is_reached_and_not_exceeded() {
    for set in ["token-bucket.iops=off,800", "token-bucket.bps=off,100MiB"] {
        let (result, _) = run("ssd-sata", "token-bucket", &[set.into()]);
        let rate = result.classes[1].iops;
        assert!((792.0..=808.0).contains(&rate), "{set}: {rate}");
        assert!(result.policy_stats["class.bulk.held"] > 10_000, "{:?}", result.policy_stats);
    }
}

#[test]
fn a_limit_that_may_be_exceeded_leaves_no_disk_idle() {
    let sets = ["token-bucket.iops=off,200".into(), "token-bucket.mode=borrow".into()];
    let (result, _) = run("ssd-sata", "token-bucket", &sets);
    let (fcfs, _) = run("ssd-sata", "fcfs", &[]);
    let kept = result.classes[1].iops / fcfs.classes[1].iops;
    assert!(kept > 0.95, "{kept}");
    assert!(result.policy_stats["class.bulk.borrowed"] > 10_000, "{:?}", result.policy_stats);
}
