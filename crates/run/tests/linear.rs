//! The disk in round figures, behind all that takes a device.

use penstock_run::result::Comparison;
use penstock_run::{Options, compare_text};

/// Random reads of 12 blocks, one at a time, on `device`.
fn reads(device: &str, set: &[&str], on: Option<&str>) -> Comparison {
    let job = format!(
        "duration = \"20s\"\ndevice = {device}\n[class.all]\n[[agent]]\nclass = \"all\"\n\
         op = \"read\"\nsize = \"48KiB\"\npattern = \"random\"\nregion = [\"0B\", \"100MiB\"]\n\
         arrivals = {{ kind = \"closed\", depth = 1 }}\n"
    );
    let mut options = Options { policies: vec!["fcfs".into()], ..Options::default() };
    options.target.on = on.map(Into::into);
    let set: Vec<String> = set.iter().map(ToString::to_string).collect();
    compare_text("linear.toml", &job, &set, &options, &mut |_| true)
        .unwrap_or_else(|failure| panic!("{failure}"))
}

/// The mean device time of a request in milliseconds.
fn service_ms(comparison: &Comparison) -> f64 {
    comparison.runs[0].classes[0].service_ns.mean / 1e6
}

/// A wait of half a turn, a third of 400 cylinders, twelve blocks and what lies over a border.
const EXPECTED_MS: f64 = 8.3335 + 0.04 * 400.0 / 3.0 + 1.024 * 12.0;

#[test]
fn a_random_read_takes_what_is_computed_by_hand() {
    let found = service_ms(&reads("\"linear-1992\"", &["device.latency=constant"], None));
    assert!((found / EXPECTED_MS - 1.0).abs() < 0.01, "{found} of {EXPECTED_MS} ms");
    let uniform = service_ms(&reads("\"linear-1992\"", &[], None));
    assert!((uniform / EXPECTED_MS - 1.0).abs() < 0.02, "{uniform} of {EXPECTED_MS} ms");
}

#[test]
fn each_disk_of_an_array_draws_waits_of_its_own() {
    let array = |scheduler: &str| {
        let scheduler = format!("device.array.scheduler={scheduler}");
        let sets = ["device.array.level=jbod", "device.array.disks=3", &scheduler];
        reads("\"linear-1992\"", &[&sets[..], &["agent.0.region.1=3GiB"]].concat(), None)
    };
    for scheduler in ["one", "each"] {
        let comparison = array(scheduler);
        let disks = &comparison.runs[0].device_stats.as_ref().unwrap().disks;
        let services: Vec<f64> = disks.iter().map(|disk| disk.own.service_ms.max).collect();
        assert_eq!(services.len(), 3);
        assert!(services.windows(2).all(|pair| (pair[0] - pair[1]).abs() > 1e-6), "{services:?}");
    }
}

#[test]
fn in_real_time_it_takes_the_same() {
    let emulated = reads("\"linear-1992\"", &["duration=300ms"], Some("emulated:linear-1992@20"));
    // At twenty times its speed; what it takes is said in real time.
    let found = service_ms(&emulated) * 20.0;
    assert!((found / EXPECTED_MS - 1.0).abs() < 0.2, "{found} of {EXPECTED_MS} ms");
}
