//! Files on devices: each has a policy and a queue of its own, and completes by itself.

use std::path::PathBuf;

use penstock_policy::POLICIES;
use penstock_run::record::replay::replay;
use penstock_run::result::{Comparison, FileResult, RunResult};
use penstock_run::{Candidate, Failure, Options, TargetOptions, compare, compare_text};

const DENSEST: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/four-disks.toml");

/// Two files on devices of 1 and 3 ms a request, and one reader of each.
const TWO: &str = r#"
duration = "300ms"
[class.all]
[[file]]
name = "quick"
size = "1MiB"
device = { model = "fixed", base = "1ms", name = "one" }
[[file]]
name = "slow"
size = "1MiB"
device = { model = "fixed", base = "3ms", name = "three" }
[[agent]]
class = "all"
file = ["quick", "slow"]
op = "read"
size = "4KiB"
pattern = "random"
arrivals = { kind = "closed", depth = 2 }
"#;

fn options(policies: &[&str]) -> Options {
    let policies = policies.iter().map(|name| Candidate::from(*name)).collect();
    Options { policies, ..Options::default() }
}

fn sets(sets: &[&str]) -> Vec<String> {
    sets.iter().map(|&set| set.into()).collect()
}

fn run(text: &str, changes: &[&str], options: &Options) -> Result<Comparison, Failure> {
    compare_text("job.toml", text, &sets(changes), options, &mut |_| true)
}

fn refused(text: &str, changes: &[&str], options: &Options) -> String {
    run(text, changes, options).map(|_| ()).expect_err("a mistake").to_string()
}

fn densest(changes: &[&str], policies: &[&str]) -> Vec<RunResult> {
    compare(DENSEST.as_ref(), &sets(changes), &options(policies), &mut |_| true).unwrap().runs
}

fn requests(run: &RunResult) -> Vec<(&str, u64)> {
    run.files.iter().map(|file| (&file.name[..], file.requests)).collect()
}

fn busy(file: &FileResult) -> f64 {
    file.device_stats.as_ref().expect("a model").all.utilisation
}

/// All four work all the time, under every policy, at four times the rate of one.
fn four_work(depth: &str, duration: &str) {
    let all: Vec<&str> = POLICIES.iter().map(|policy| policy.name).collect();
    let [depth, duration] = [format!("agent.0.depth={depth}"), format!("duration={duration}")];
    let four = densest(&[&depth, &duration], &all);
    let one = densest(&[&depth, &duration, "file.data.count=1"], &all);
    for (four, one) in four.iter().zip(&one) {
        let rates: Vec<f64> = four.files.iter().map(|file| file.bw_bytes).collect();
        assert_eq!(rates.len(), 4);
        assert!(
            four.files.iter().all(|file| busy(file) >= 0.95),
            "{}: {:?}",
            four.policy,
            four.files
        );
        let (sum, alone) = (rates.iter().sum::<f64>(), one.files[0].bw_bytes);
        let times = sum / alone;
        assert!((times - 4.0).abs() < 0.08, "{}: {times:.3} times", four.policy);
    }
}

#[test]
fn four_disks_work_under_every_policy_one_request_an_agent() {
    four_work("1", "4s");
}

#[test]
fn four_disks_work_under_every_policy_thirty_two_an_agent() {
    four_work("32", "10s");
}

/// A program a file writes 256 MiB through a page cache, and the run lasts until they are on the disks.
const WRITTEN: &str = r#"
stop = "durable"
file = [{ name = "data", count = 4, size = "1GiB", device = "hdd-10k" }]
page_cache = { memory = "256MiB" }
[class.all]
[[agent]]
class = "all"
op = "write"
cache = "buffered"
size = "64KiB"
pattern = "sequential"
total = "256MiB"
"#;

/// Write-back goes to all disks at once, and no faster than they take it.
#[test]
fn buffered_writes_keep_every_disk_busy_and_are_no_faster_than_the_disks() {
    let rate = |run: &RunResult| run.files.iter().map(|file| file.bw_bytes).sum::<f64>();
    let medium = 66.7e6;
    let run = |changes: &[&str]| run(WRITTEN, changes, &options(&["noop"])).unwrap().runs.remove(0);
    for pattern in ["agent.0.pattern=sequential", "agent.0.pattern=random"] {
        let four = run(&[pattern]);
        let one = run(&[pattern, "file.data.count=1", "page_cache.memory=64MiB"]);
        assert_eq!(four.files.len(), 4);
        assert!(four.files.iter().all(|file| file.bytes == 256 << 20), "{:?}", four.files);
        assert!(four.files.iter().all(|file| busy(file) >= 0.95), "{pattern}: {:?}", four.files);
        assert!(rate(&four) <= 4.0 * medium, "{pattern}: {} bytes a second", rate(&four));
        let times = rate(&four) / rate(&one);
        assert!((times - 4.0).abs() < 0.12, "{pattern}: {times:.3} times");
    }
}

#[test]
fn each_file_is_served_by_its_own_device() {
    let runs = run(TWO, &["stop=300ms"], &options(&["fcfs", "alone:all"])).unwrap();
    assert_eq!(runs.device, "quick=one, slow=three");
    for run in &runs.runs {
        assert_eq!(requests(run), [("quick", 300), ("slow", 100)], "{}", run.policy);
        let names: Vec<_> = run.files.iter().map(|file| file.device.as_deref()).collect();
        assert_eq!(names, [Some("one"), Some("three")]);
        let stats = run.device_stats.as_ref().unwrap();
        let disks: Vec<_> = stats.disks.iter().map(|disk| disk.device.as_deref()).collect();
        assert_eq!(disks, [Some("quick"), Some("slow")]);
        let bytes: u64 = run.classes.iter().map(|class| class.bytes).sum();
        assert_eq!(run.files.iter().map(|file| file.bytes).sum::<u64>(), bytes);
    }
}

#[test]
fn a_job_without_files_has_one() {
    let text = TWO[..TWO.find("[[file]]").unwrap()].to_owned()
        + "[[agent]]\nclass = \"all\"\nop = \"read\"\nsize = \"4KiB\"\npattern = \"random\"\n\
           arrivals = { kind = \"closed\", depth = 2 }\n";
    let on = Options { target: TargetOptions::on("flash"), ..options(&["fcfs"]) };
    let result = run(&text, &[], &on).unwrap();
    let run = &result.runs[0];
    assert_eq!(requests(run), [("target", run.classes[0].requests)]);
    assert_eq!(run.files[0].device.as_deref(), Some("flash"));
    assert!((run.files[0].bw_bytes - run.classes[0].bw_bytes).abs() < 1e-6);
    assert_eq!(format!("{:?}", run.files[0].device_stats), format!("{:?}", run.device_stats));
    assert!(!result.job.text.contains("copies"), "{}", result.job.text);
}

#[test]
fn a_device_for_all_takes_the_place_of_the_files_own() {
    let on = Options { target: TargetOptions::on("flash"), ..options(&["fcfs"]) };
    let result = run(TWO, &[], &on).unwrap();
    assert_eq!((result.device.as_str(), result.runs[0].files.len()), ("flash", 2));
    let [quick, slow] = &result.runs[0].files[..] else { panic!("two files") };
    assert_eq!(quick.device, slow.device);
    // Files that are alike are on such a device as the job might name.
    let alike =
        run(TWO, &["file.slow.device=flash", "file.quick.device=flash"], &options(&["fcfs"]));
    let (alike, text) = alike.map(|alike| (alike.device, alike.job.text)).unwrap();
    assert_eq!((alike.as_str(), text), ("flash", result.job.text));
    // An argument for the job is for the files that arguments do not name.
    let mixed =
        run(TWO, &["device=flash", "file.slow.device=hdd-7200"], &options(&["fcfs"])).unwrap();
    assert_eq!(mixed.device, "quick=flash, slow=hdd-7200");
}

#[test]
fn single_files_are_on_other_devices() {
    let result = compare(
        DENSEST.as_ref(),
        &sets(&["file.data.on.2=flash", "file.data.on.2.base=500us", "duration=1s"]),
        &options(&["fcfs"]),
        &mut |_| true,
    );
    let result = result.unwrap();
    assert_eq!(
        result.device,
        "data.0=openpower-710.disk, data.1=openpower-710.disk, data.2=flash, changed, \
         data.3=openpower-710.disk"
    );
    let rate = |file: &FileResult| file.requests;
    assert!(rate(&result.runs[0].files[2]) > 2 * rate(&result.runs[0].files[1]));
}

#[test]
fn a_copy_works_on_its_slice() {
    // Sequential copies of one file: each reads its quarter once, and no byte is read twice.
    let text = TWO.replace(
        "pattern = \"random\"",
        "pattern = \"sequential\"\ncopies = 4\nshare = \"slices\"",
    );
    let counted = text.replace("depth = 2", "depth = 1, count = 64");
    let result = run(&counted, &["duration=10s"], &options(&["fcfs"])).unwrap();
    assert_eq!(requests(&result.runs[0]), [("quick", 256), ("slow", 256)], "a mebibyte of each");
}

#[test]
fn the_last_request_of_a_class_is_found_over_all_queues() {
    let text = TWO.replace("depth = 2", "depth = 2, count = 10");
    let run = run(&text, &["stop=sent:all"], &options(&["fcfs"])).unwrap();
    // The slow one begins its last at 27 ms.
    assert!((run.runs[0].duration_s - 0.027).abs() < 1e-9, "{}", run.runs[0].duration_s);
    assert_eq!(requests(&run.runs[0]), [("quick", 10), ("slow", 9)]);
}

#[test]
fn the_bytes_are_the_same_on_any_number_of_processors() {
    let json = |policies: &[&str]| {
        let runs = densest(&["duration=2s", "seed=7"], policies);
        runs.iter().map(|run| serde_json::to_string(run).unwrap()).collect::<Vec<_>>()
    };
    let (side_by_side, one) = (json(&["cfq", "sptf"]), [json(&["cfq"]), json(&["sptf"])].concat());
    assert_eq!(side_by_side, one);
}

/// A folder of one test, gone when it ends.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("penstock-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn a_run_over_files_replays_alike() {
    let folder = Folder::new("files-records");
    let raid = "file.slow.device.array={}";
    let disks = ["file.quick.device=hdd-7200", "file.slow.device=hdd-10k"];
    let array = [
        disks[0],
        "file.slow.device.array.level=raid0",
        "file.slow.device.array.disks=3",
        "file.slow.device.depth=2",
    ];
    // A drive with a queue within an array is asked twice at one instant.
    let queued = [
        "file.quick.device=hdd-7200-ncq",
        "file.quick.device.array.level=raid0",
        "file.quick.device.array.disks=2",
        "file.slow.device=hdd-7200-ncq",
        "agent.0.copies=3",
        "agent.0.kind=fixed",
        "agent.0.rate=1000/s",
        "stop=last-arrival",
    ];
    assert!(refused(TWO, &[raid], &options(&["fcfs"])).contains("a table is not set at once"));
    for (number, changes) in
        [&disks[..], &array, &["file.quick.device.depth=8"], &queued].iter().enumerate()
    {
        for policy in ["fcfs", "sptf", "scan", "round-robin", "cfq", "fairio"] {
            let record = folder.0.join(format!("{number}-{policy}"));
            let recorded = Options { record: Some(record.clone()), ..options(&[policy]) };
            run(TWO, changes, &recorded).unwrap();
            let replayed = replay(&record, &[]).unwrap();
            assert!(replayed.first_difference.is_none(), "{changes:?} {policy}: {replayed:?}");
            assert!(replayed.alike > 50, "{changes:?} {policy}: {replayed:?}");
        }
    }
}

#[test]
fn what_files_cannot_be_on_is_refused() {
    let on = |place: &str| Options { target: TargetOptions::on(place), ..options(&["fcfs"]) };
    for place in ["./data.img", "emulated:flash", "emulated:flash:./data.img"] {
        let error = refused(TWO, &[], &on(place));
        let said =
            format!("error: the job has 2 files, each on a device of its own; {place} is one");
        assert!(error.starts_with(&said), "{error}");
    }
    assert!(!std::path::Path::new("data.img").exists());
    let each = ["level=raid0", "disks=2", "scheduler=each"];
    let each = each.map(|part| format!("file.slow.device.array.{part}"));
    let error = refused(TWO, &each.each_ref().map(String::as_str), &options(&["fcfs"]));
    assert!(error.contains("each device of files has one queue, and three"), "{error}");
    let small = ["agent.0.cache=buffered", "page_cache.memory=64KiB"];
    let error = refused(TWO, &small, &options(&["fcfs"]));
    assert!(error.contains("a page cache of 64KiB over 2 devices; at least 128KiB"), "{error}");
}

#[test]
fn one_file_is_on_one_target_as_a_job_without_files_is() {
    let null = Options { target: TargetOptions::on("null"), ..options(&["fcfs"]) };
    let text = TWO.replace("[\"quick\", \"slow\"]", "\"quick\"");
    let one = text[..text.find("[[file]]\nname = \"slow\"").unwrap()].to_owned()
        + &text[text.find("[[agent]]").unwrap()..];
    let result = run(&one, &["duration=10ms"], &null).unwrap();
    let [file] = &result.runs[0].files[..] else { panic!("one file") };
    assert_eq!((&file.name[..], file.device.as_deref()), ("quick", Some("null")));
    assert!(file.requests > 0 && file.device_stats.is_none());
}

#[test]
fn a_file_that_no_agent_works_on_is_remarked_on() {
    let remarks = |text: &str| run(text, &[], &options(&["fcfs"])).unwrap().remarks;
    assert_eq!(remarks(TWO), [""; 0]);
    let one = TWO.replace("[\"quick\", \"slow\"]", "\"slow\"");
    assert_eq!(remarks(&one), ["no agent works on file quick: its device stays idle"]);
    let few = one.replace("name = \"quick\"", "name = \"quick\"\ncount = 3");
    assert_eq!(
        remarks(&few),
        ["no agent works on 3 of the files, quick.0 to quick.2: their devices stay idle"]
    );
}
