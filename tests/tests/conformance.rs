//! A policy makes the same decisions live as in virtual time.
//!
//! Each policy drives a real file with many thousand requests, short and long, adjacent and
//! scattered, 32 at the device. The record is replayed in virtual time and every decision compared.

use std::path::{Path, PathBuf};
use std::slice::from_ref;

use penstock_jobs::Job;
use penstock_policy::{Entry, Kind, POLICIES, Param, Value};
use penstock_run::record::replay::{Replay, replay};
use penstock_run::{Options, TargetOptions, compare};

/// More requests outstanding than the device takes, so that there is always a decision: random
/// reads, sequential writes that merge, long writes that are split.
const JOB: &str = r#"
duration = "1s"
stop = "drained"

[class.short]
weight = 100
ioprio = "rt:4"
[class.long]
weight = 300
ioprio = "idle"
prio = 1

[[agent]]
class = "short"
op = "read"
size = "4KiB"
pattern = "random"
arrivals = { kind = "closed", depth = 24 }

[[agent]]
class = "short"
op = "write"
size = "4KiB"
pattern = "sequential"
region = ["0%", "50%"]
arrivals = { kind = "closed", depth = 24 }

[[agent]]
class = "long"
op = "write"
size = "256KiB"
pattern = "sequential"
region = ["50%", "100%"]
arrivals = { kind = "closed", depth = 2, think = "20ms" }

[live]
depth = 32
"#;

/// Number of requests for each policy: 20,000, or the number that `make soak` sets.
fn requests() -> u64 {
    std::env::var("CONFORMANCE_REQUESTS").map_or(20_000, |text| text.parse().expect("a number"))
}

/// A folder of this test, removed when it ends.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("penstock-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a temporary folder");
        Self(path)
    }

    fn at(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Records a live run of `policy` that is long enough for [`requests`], whatever the disk's speed.
fn record(folder: &Folder, policy: &str, engine: &str) -> PathBuf {
    let job = folder.at("job.toml");
    std::fs::write(&job, JOB).expect("a job file");
    for ms in [400, 2_000, 5_000, 12_000, 30_000, 90_000] {
        let path = folder.at(&format!("{policy}-{ms}.record"));
        let options = Options {
            policies: vec![policy.into()],
            target: TargetOptions {
                create: Some("64MiB".into()),
                engine: Some(engine.into()),
                ..TargetOptions::on(folder.at("disk.img").display().to_string())
            },
            record: Some(path.clone()),
            ..Options::default()
        };
        let sets = [format!("duration={ms}ms")];
        let result = compare(&job, &sets, &options, &mut |_| true).expect("a live run");
        let done: u64 = result.runs[0].classes.iter().map(|class| class.requests).sum();
        let errors: u64 = result.runs[0].classes.iter().map(|class| class.errors).sum();
        assert_eq!(errors, 0, "{policy}");
        if done >= requests() {
            return path;
        }
    }
    panic!("this disk serves fewer than {} requests in 90 s under {policy}", requests());
}

fn replayed(path: &Path, sets: &[&str]) -> Replay {
    let sets: Vec<String> = sets.iter().map(|&set| set.into()).collect();
    replay(path, &sets).expect("a record that can be read")
}

#[test]
fn every_policy_decides_alike_live_and_in_virtual_time() {
    let folder = Folder::new("conformance");
    let (mut may_differ, mut differ) = (0, 0);
    for entry in POLICIES {
        let path = record(&folder, entry.name, "io_uring");
        let replay = replayed(&path, &[]);
        assert!(replay.requests >= requests(), "{}: {} requests", entry.name, replay.requests);
        assert!(replay.first_difference.is_none(), "{}: {replay:?}", entry.name);
        assert_eq!(replay.alike, replay.decisions, "{}", entry.name);
        // Merging makes fewer commands than requests, splitting more; neither makes only a few.
        assert!(replay.decisions > requests() / 20, "{}: {}", entry.name, replay.decisions);

        let differs = |changed: &String| {
            let other = replayed(&path, &[changed]);
            assert_eq!(other.first_difference.is_some(), other.alike < replay.alike, "{changed}");
            other.first_difference.is_some()
        };
        may_differ += u32::from(!entry.params.is_empty());
        differ += u32::from(changes(entry).iter().any(differs));
        std::fs::remove_file(&path).expect("the record was there");
    }
    // The comparison can fail: nearly every policy decides otherwise with another parameter.
    assert!(differ + 1 >= may_differ && differ > 3, "{differ} of {may_differ} decided otherwise");
}

/// The result does not depend on the engine.
#[test]
fn threads_are_no_different() {
    let folder = Folder::new("conformance-threads");
    let path = record(&folder, "size-priority", "threads");
    let replay = replayed(&path, &[]);
    assert!(replay.requests >= requests() && replay.alike == replay.decisions, "{replay:?}");
    assert!(replay.first_difference.is_none(), "{replay:?}");
}

/// Returns each parameter of a policy set to another value, the least where there is one, if that
/// fits the others.
fn changes(entry: &Entry) -> Vec<String> {
    let change = |param: &Param| {
        format!("{}.{}={}", entry.name, param.name, changed(&param.kind, &param.default))
    };
    let fits = |set: &String| Job::parse("job.toml", JOB, from_ref(set)).is_ok();
    entry.params.iter().map(change).filter(fits).collect()
}

/// Returns a value of `kind` other than `default`.
fn changed(kind: &Kind, default: &Value) -> String {
    match (kind, default) {
        (Kind::Size | Kind::SizeOr(_) | Kind::SizeOrGroup(..), _) => "8KiB".to_owned(),
        (Kind::Duration | Kind::DurationOr(_), _) => "0ms".to_owned(),
        (Kind::Count(least), Value::Count(count)) if count == least => (least + 1).to_string(),
        (Kind::Count(least) | Kind::CountIn(least, _) | Kind::CountOr(least, _), _) => {
            least.to_string()
        }
        (Kind::PositiveDurationOr(_), _) => "2ms".to_owned(),
        (Kind::Switch, default) => (*default != Value::Switch(true)).to_string(),
        (Kind::Choice(words), default) => {
            let other = words.iter().find(|&&word| *default != Value::Word(word));
            (*other.expect("a choice is of two words or more")).to_owned()
        }
        (Kind::Group(_) | Kind::GroupOrDevice(_), _) => "off".to_owned(),
        // A target of one class that no request meets.
        (Kind::PerClass(Kind::PositiveDurationOr(_)), _) => "1ns,off".to_owned(),
        (Kind::PerClass(each), _) => changed(each, default),
    }
}
