//! An array with a queue before each of its disks.

use penstock_run::result::RunResult;
use penstock_run::{Options, compare_text};

/// Two disks that take 1 ms a command, one at a time: two requests for the first disk, and one for
/// the second.
fn run(scheduler: &str, policy: &str, sets: &[&str]) -> RunResult {
    let name = format!("penstock-queues-{}-{scheduler}-{policy}", std::process::id());
    let trace = std::env::temp_dir().join(name);
    std::fs::write(&trace, "0.0 0 0 8 1\n0.0 0 16 8 1\n0.0 0 128 8 1\n").unwrap();
    let text = format!(
        "[class.all]\n[[rule]]\nclass = \"all\"\n[trace]\nfile = \"{}\"\nformat = \"disksim\"\n\
         [device]\nmodel = \"fixed\"\nbase = \"1ms\"\n[device.array]\nlevel = \"raid0\"\ndisks = 2\n\
         stripe = \"64KiB\"\nscheduler = \"{scheduler}\"\n",
        trace.display()
    );
    let sets: Vec<String> = sets.iter().map(|&set| set.into()).collect();
    let options = Options { policies: vec![policy.into()], ..Options::default() };
    let comparison = compare_text("job.toml", &text, &sets, &options, &mut |_| true);
    std::fs::remove_file(&trace).unwrap();
    comparison.unwrap().runs.remove(0)
}

/// The sums of the responses and of the waits, in microseconds.
fn sums(run: &RunResult) -> [u64; 2] {
    let class = &run.classes[0];
    [&class.lat_ns, &class.wait_ns].map(|times| (times.mean * 3.0 / 1e3).round() as u64)
}

#[test]
fn a_request_waits_for_its_own_disk_only() {
    // In one queue the third waits behind the second, which waits for the first disk.
    assert_eq!(sums(&run("one", "fcfs", &[])), [5000, 2000]);
    assert_eq!(sums(&run("each", "fcfs", &[])), [4000, 1000]);
}

#[test]
fn what_may_be_in_flight_is_meant_for_each_disk() {
    assert_eq!(sums(&run("one", "noop", &["live.depth=1"])), [6000, 3000]);
    assert_eq!(sums(&run("each", "noop", &["live.depth=1"])), [4000, 1000]);
}

#[test]
fn each_disk_has_a_policy_of_its_own() {
    let stats = run("each", "size-priority", &[]).policy_stats;
    assert!(stats.keys().all(|name| name.starts_with("disk")), "{stats:?}");
}
