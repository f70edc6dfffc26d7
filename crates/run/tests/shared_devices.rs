//! Files on one device: as regions of one device are, with figures of their own.

use std::path::Path;

use penstock_run::result::{Comparison, RunResult};
use penstock_run::{Candidate, Failure, Options, TargetOptions, compare_text};

/// A log that is forced to the disk next to a copy through the page cache, without their places.
const HEAD: &str = r#"
duration = "3s"
[page_cache]
memory = "1GiB"
[class.log]
[class.copy]
"#;

const LOG: &str = r#"
op = "write"
size = "4KiB"
pattern = "sequential"
cache = "buffered"
flush = 1
arrivals = { kind = "closed", depth = 1, think = "100ms" }
"#;

const COPY: &str = r#"
op = "write"
size = "256KiB"
pattern = "sequential"
cache = "buffered"
arrivals = { kind = "fixed", rate = "100/s" }
"#;

fn in_files(device: &str, log: &str, copy: &str) -> String {
    format!(
        "{device}{HEAD}[[file]]\nname = \"copy\"\nsize = \"1GiB\"\n{copy}[[file]]\nname = \"log\"\nsize = \"16MiB\"\n{log}\
         [[agent]]\nclass = \"log\"\nfile = \"log\"\n{LOG}[[agent]]\nclass = \"copy\"\nfile = \"copy\"\n{COPY}"
    )
}

fn shared() -> String {
    let on = "device = \"disk0\"\n";
    in_files("device = { disk0 = \"hdd-7200\" }\n", on, on)
}

/// The job without files: each class has the part of the disk that its file would have.
fn in_regions() -> String {
    format!(
        "device = \"hdd-7200\"\n{HEAD}[[agent]]\nclass = \"log\"\nregion = [\"1024MiB\", \"1040MiB\"]\n{LOG}\
         [[agent]]\nclass = \"copy\"\nregion = [\"0B\", \"1024MiB\"]\n{COPY}"
    )
}

fn run(text: &str, sets: &[&str], options: &Options) -> Result<Comparison, Failure> {
    let sets: Vec<String> = sets.iter().map(|&set| set.into()).collect();
    compare_text("job.toml", text, &sets, options, &mut |_| true)
}

fn options() -> Options {
    Options { policies: vec![Candidate::from("deadline")], ..Options::default() }
}

fn simulated(text: &str, sets: &[&str]) -> RunResult {
    run(text, sets, &options()).unwrap_or_else(|error| panic!("{error}")).runs.remove(0)
}

fn p99_ms(run: &RunResult, class: usize) -> f64 {
    run.classes[class].lat_ns.percentile["99.000000"] as f64 / 1e6
}

#[test]
fn files_on_one_device_are_served_as_regions_of_it() {
    let sets = ["agent.0.cache=direct", "agent.1.cache=direct"];
    let shared = simulated(&shared(), &sets);
    let regions = simulated(&in_regions(), &sets);
    for (one, other) in shared.classes.iter().zip(&regions.classes) {
        assert_eq!((one.requests, one.lat_ns.max), (other.requests, other.lat_ns.max));
    }
    let files: Vec<_> = shared.files.iter().map(|file| (&file.name[..], file.requests)).collect();
    let log = shared.classes[0].requests;
    assert_eq!(files, [("copy", shared.classes[1].requests), ("log", log)]);
    assert!(shared.files.iter().all(|file| file.shared.as_deref() == Some("disk0")));
    // Both have the figures of the one disk.
    let busy = |at: usize| shared.files[at].device_stats.as_ref().unwrap().all.utilisation;
    assert_eq!((busy(0), busy(1)), (shared.device_busy, shared.device_busy));
    assert_eq!(shared.device_stats.as_ref().unwrap().disks.len(), 0);
}

/// A flush is of its file: that of a log does not write the copy's dirty pages. Without files it is
/// of the device.
#[test]
fn a_flush_writes_back_its_own_file() {
    let own = in_files("device = \"hdd-7200\"\n", "", "");
    let texts = [own, shared(), in_regions()];
    let [apart, together, device] = texts.map(|text| run(&text, &[], &options()).unwrap());
    let p99 = |comparison: &Comparison| p99_ms(&comparison.runs[0], 0);
    let [apart_ms, together_ms, device_ms] = [&apart, &together, &device].map(p99);
    assert!(apart_ms < 30.0 && together_ms < 30.0, "{apart_ms} {together_ms}");
    // The copy has 2.5 MB for it to write each time.
    assert!(device_ms > 60.0, "{device_ms}");
    let remarked = |comparison: &Comparison| {
        comparison
            .remarks
            .iter()
            .any(|text| text.contains("copy and log lie on two devices of one kind"))
    };
    assert_eq!([&apart, &together, &device].map(remarked), [true, false, false]);
}

#[test]
fn a_place_for_all_is_one_device_for_files_that_share_one() {
    let on = |on: &str| Options { target: TargetOptions::on(on), ..options() };
    let flash = run(&shared(), &[], &on("flash")).unwrap();
    assert_eq!(
        (&flash.device[..], flash.runs[0].files[1].shared.as_deref()),
        ("flash", Some("disk0"))
    );
    // Its text says so too.
    let again = run(&flash.job.text, &[], &options()).unwrap();
    assert_eq!(again.runs[0].classes[0].lat_ns.max, flash.runs[0].classes[0].lat_ns.max);
    assert_eq!(again.job.text, flash.job.text);
    let short = ["duration=200ms", "agent.0.cache=direct", "agent.1.cache=direct"];
    for place in ["null", "emulated:flash@100"] {
        let there = run(&shared(), &short, &on(place)).unwrap();
        assert_eq!(there.runs[0].files.len(), 2, "{place}");
        assert!(there.runs[0].files.iter().all(|file| file.requests > 0), "{place}");
    }
}

#[test]
fn files_share_a_real_target() {
    let folder =
        Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("shared-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("disk.img");
    let path = path.to_str().unwrap();
    let short =
        ["duration=200ms", "file.copy.size=16MiB", "agent.0.cache=direct", "agent.1.cache=direct"];
    let create = |on: &str| {
        let target = TargetOptions { create: Some("32MiB".into()), ..TargetOptions::on(on) };
        Options { target, ..options() }
    };
    let check = |comparison: &Comparison| {
        let files = &comparison.runs[0].files;
        assert!(files.iter().all(|file| file.requests > 0 && file.path.as_deref() == Some(path)));
        assert!(files.iter().all(|file| file.shared.is_some()), "{files:?}");
        assert!(
            comparison.job.text.contains(&format!("path = [\"{path}\"]")),
            "{}",
            comparison.job.text
        );
    };
    check(&run(&shared(), &short, &create(path)).unwrap());
    std::fs::remove_file(path).unwrap();
    let paths = ["log", "copy"].map(|file| format!("file.{file}.path={path}"));
    let named = [&short[..], &[&paths[0], &paths[1]]].concat();
    let by_path = Options { target: TargetOptions { on: None, ..create("").target }, ..options() };
    check(&run(&shared(), &named, &by_path).unwrap());
    let too_large = [&named[..], &["file.copy.size=17MiB"]].concat();
    let error = run(&shared(), &too_large, &by_path).map(|_| ()).unwrap_err().to_string();
    assert!(
        error.contains("file log begins at 17MiB and has 16MiB: it ends past its device"),
        "{error}"
    );
    std::fs::remove_dir_all(&folder).unwrap();
}
