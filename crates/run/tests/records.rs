//! Records that are damaged, foreign or changed: each is refused with a message, none panics.

use std::path::{Path, PathBuf};

use penstock_run::record::decisions_of;
use penstock_run::record::replay::replay;
use penstock_run::{Failure, Options, compare};
use serde_json::{Value, json};

const JOB: &str = r#"
duration = "300ms"
device = "hdd-7200"

[class.all]

[[agent]]
class = "all"
op = "read"
size = "256KiB"
pattern = "random"
arrivals = { kind = "closed", depth = 3 }

[[agent]]
class = "all"
op = "write"
size = "4KiB"
pattern = "sequential"
arrivals = { kind = "closed", depth = 8 }

[policy.size-priority]
split = "64KiB"
"#;

/// A folder of one test, gone when it ends.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("penstock-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    /// A record of a modelled run under `policy`.
    fn record(&self, policy: &str) -> PathBuf {
        let (job, record) = (self.0.join("job.toml"), self.0.join("run.record"));
        std::fs::write(&job, JOB).unwrap();
        run(&job, policy, &record).unwrap();
        record
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn run(job: &Path, policy: &str, record: &Path) -> Result<(), Failure> {
    let options = Options {
        policies: vec![policy.into()],
        record: Some(record.to_owned()),
        ..Options::default()
    };
    compare(job, &[], &options, &mut |_| true).map(|_| ())
}

#[test]
fn a_modelled_run_replays_alike() {
    let folder = Folder::new("records-alike");
    let replay = replay(&folder.record("size-priority"), &[]).unwrap();
    assert!(replay.first_difference.is_none() && replay.alike > 25, "{replay:?}");
}

/// A model says what a replay cannot count: how far away a place is, and that a disk of several is
/// full.
#[test]
fn a_run_over_a_disk_with_an_arm_or_several_disks_replays_alike() {
    let devices = [
        "model = \"hdd\"\ndrive = \"hdd-7200\"",
        "model = \"fixed\"\nbase = \"1ms\"\narray = { level = \"raid5\", disks = 3, stripe = \"4KiB\" }",
        "model = \"fixed\"\nbase = \"1ms\"\ndepth = 4\narray = { level = \"raid1\", disks = 2 }",
        "model = \"fixed\"\nbase = \"1ms\"\ndepth = 4\nfaults = { stalls = \"30%\", stall = \"5ms\" }",
    ];
    let folder = Folder::new("records-models");
    let job = folder.0.join("job.toml");
    for (number, device) in devices.iter().enumerate() {
        let text = JOB.replace("device = \"hdd-7200\"", "");
        std::fs::write(&job, format!("{text}[device]\n{device}\n")).unwrap();
        for policy in ["sptf", "scan", "fcfs", "size-priority"] {
            let record = folder.0.join(format!("{policy}-{number}.record"));
            run(&job, policy, &record).unwrap();
            let replay = replay(&record, &[]).unwrap();
            assert!(replay.first_difference.is_none(), "{policy} over {device}: {replay:?}");
            assert!(replay.alike > 20, "{policy} over {device}: {replay:?}");
        }
    }
}

/// The header of `record`, and what follows it.
/// Where every disk has a queue, a replay has them all, over one record.
#[test]
fn a_run_with_a_queue_before_each_disk_replays_alike() {
    let folder = Folder::new("records-queues");
    let job = folder.0.join("job.toml");
    let devices = [
        "model = \"linear\"\narray = { level = \"jbod\", disks = 3, scheduler = \"each\" }",
        "model = \"hdd\"\ndrive = \"hdd-7200\"\n\
         array = { level = \"raid0\", disks = 2, stripe = \"64KiB\", scheduler = \"each\" }",
        "model = \"fixed\"\nbase = \"1ms\"\ndepth = 4\n\
         array = { level = \"raid5\", disks = 3, stripe = \"4KiB\", scheduler = \"each\" }",
    ];
    for (number, device) in devices.iter().enumerate() {
        let text = JOB.replace("device = \"hdd-7200\"", "");
        std::fs::write(&job, format!("{text}[device]\n{device}\n")).unwrap();
        for policy in ["fcfs", "sptf", "scan", "round-robin", "size-priority", "cfq"] {
            let record = folder.0.join(format!("{number}-{policy}"));
            run(&job, policy, &record).unwrap();
            let replayed = replay(&record, &[]).unwrap();
            assert!(replayed.first_difference.is_none(), "{device} {policy}: {replayed:?}");
            assert_eq!(replayed.alike, replayed.decisions, "{device} {policy}");
            assert!(replayed.requests > 5 && replayed.alike > 5, "{device} {policy}: {replayed:?}");
        }
        // Another policy decides otherwise, if the disks have a choice.
        let record = folder.0.join(format!("{number}-sptf"));
        let mut changed = parts(&record).0;
        changed["policy"] = json!("fcfs");
        put(&record, &changed);
        assert!(replay(&record, &[]).unwrap().first_difference.is_some(), "{device}");
    }
}

#[test]
fn a_record_with_other_queues_than_its_device_is_refused() {
    let folder = Folder::new("records-other-queues");
    let job = folder.0.join("job.toml");
    let device =
        "model = \"linear\"\narray = { level = \"jbod\", disks = 3, scheduler = \"each\" }";
    let text = JOB.replace("device = \"hdd-7200\"", "");
    std::fs::write(&job, format!("{text}[device]\n{device}\n")).unwrap();
    let record = folder.0.join("run.record");
    run(&job, "fcfs", &record).unwrap();
    let (header, _) = parts(&record);
    assert_eq!(header["queues"].as_array().map(Vec::len), Some(3));
    for (queues, said) in [
        (json!([header["queues"][0]]), "as many disks as it has queues"),
        (
            json!(vec![json!({"room": 1, "capacity": u64::MAX}); 3]),
            "as many disks as it has queues",
        ),
        (json!([]), ", and its run had 1"),
    ] {
        let mut changed = header.clone();
        changed["queues"] = queues;
        put(&record, &changed);
        let message = replay(&record, &[]).unwrap_err().to_string();
        assert!(message.contains(said), "{message}");
        assert!(message.contains("hint: the file is damaged"), "{message}");
    }
}

fn parts(record: &Path) -> (Value, Vec<u8>) {
    let bytes = std::fs::read(record).unwrap();
    let begins = bytes.iter().position(|&byte| byte == b'\n').unwrap() + 1;
    let ends = begins + bytes[begins..].iter().position(|&byte| byte == b'\n').unwrap();
    (serde_json::from_slice(&bytes[begins..ends]).unwrap(), bytes[ends..].to_owned())
}

/// Puts another header before the events of `record`.
fn put(record: &Path, header: &Value) {
    let events = parts(record).1;
    std::fs::write(record, [format!("penstock-record 1\n{header}").as_bytes(), &events].concat())
        .unwrap();
}

#[test]
fn a_record_holds_what_the_policy_served_and_older_ones_do_without() {
    let folder = Folder::new("records-served");
    let (job, record) = (folder.0.join("job.toml"), folder.0.join("run.record"));
    let text = JOB.replace("[class.all]", "[class.all]\nweight = 250\nprio = 3\n[class.none]");
    let raid1 =
        "[device]\nmodel = \"fixed\"\nbase = \"1ms\"\narray = { level = \"raid1\", disks = 2 }\n";
    let text = text.replace("device = \"hdd-7200\"", "") + raid1;
    std::fs::write(&job, text).unwrap();
    run(&job, "deadline", &record).unwrap();
    let (mut header, _) = parts(&record);
    let all = json!({"name": "all", "weight": 250, "prio": 3});
    let none = json!({"name": "none", "weight": 100, "prio": 0});
    assert_eq!(header["served"], json!({"disks": 2, "classes": [all, none]}));
    assert!(replay(&record, &[]).unwrap().first_difference.is_none());

    let served = header.as_object_mut().unwrap().remove("served").unwrap();
    put(&record, &header);
    let older = replay(&record, &[]).unwrap();
    assert!(older.first_difference.is_none() && older.alike > 50, "{older:?}");

    for damage in ["/disks", "/classes/0/weight"] {
        let mut wrong = served.clone();
        *wrong.pointer_mut(damage).unwrap() = 0.into();
        header["served"] = wrong;
        put(&record, &header);
        let failure = replay(&record, &[]).unwrap_err();
        assert!(failure.to_string().contains("its header cannot be read"), "{failure}");
    }
}

#[test]
fn a_record_is_never_written_over() {
    let folder = Folder::new("records-over");
    let record = folder.record("noop");
    let before = std::fs::read(&record).unwrap();
    let refused = run(&folder.0.join("job.toml"), "noop", &record).unwrap_err();
    assert_eq!(refused.exit_code(), 2);
    assert!(refused.to_string().contains("nothing is overwritten"), "{refused}");
    assert_eq!(std::fs::read(&record).unwrap(), before);
}

/// Wherever a record is cut off, and whichever of its bytes is wrong, the replay ends: with a
/// message, or with a comparison.
#[test]
fn a_damaged_record_is_refused_and_never_panics() {
    let folder = Folder::new("records-damaged");
    let record = folder.record("noop");
    let whole = std::fs::read(&record).unwrap();
    let body = whole.windows(2).position(|w| w == b"}\n").unwrap() + 2;
    let cuts = (0..whole.len()).filter(|at| at % 97 == 0 || (body..body + 200).contains(at));
    for cut in cuts {
        std::fs::write(&record, &whole[..cut]).unwrap();
        let refused = replay(&record, &[]).unwrap_err();
        assert_eq!(refused.exit_code(), 2);
        assert!(refused.to_string().contains("run.record cannot be read: it"), "{cut}: {refused}");
    }
    for at in (body..whole.len()).step_by(13) {
        for wrong in [0, 0xff, whole[at] ^ 1] {
            let mut bytes = whole.clone();
            bytes[at] = wrong;
            std::fs::write(&record, &bytes).unwrap();
            // A changed time or byte may change nothing that the policy looks at.
            let _ = replay(&record, &[]);
        }
    }
}

#[test]
fn a_foreign_file_and_missing_decisions_are_refused() {
    let folder = Folder::new("records-foreign");
    let record = folder.record("noop");
    std::fs::remove_file(decisions_of(&record)).unwrap();
    let message = replay(&record, &[]).unwrap_err().to_string();
    assert!(message.contains("run.record.decisions cannot be read"), "{message}");
    assert!(message.contains("hint: a record needs the decisions"), "{message}");

    let foreign = folder.0.join("job.toml");
    let message = replay(&foreign, &[]).unwrap_err().to_string();
    assert!(message.contains("does not begin with \"penstock-record 1\""), "{message}");
}

/// Returns the message of a replay of `record` if the first arrival has other bytes at `offset`
/// after its tag.
fn replayed_with(record: &Path, offset: usize, wrong: &[u8]) -> String {
    let whole = std::fs::read(record).unwrap();
    let mut bytes = whole.clone();
    // A turn of 9 bytes comes first.
    let arrival = whole.windows(2).position(|w| w == b"}\n").unwrap() + 2 + 9;
    assert_eq!(bytes[arrival], b'A');
    bytes[arrival + 1 + offset..][..wrong.len()].copy_from_slice(wrong);
    std::fs::write(record, &bytes).unwrap();
    let message = replay(record, &[]).unwrap_err().to_string();
    std::fs::write(record, &whole).unwrap();
    let place = format!("(entry 2, at byte {arrival})\nhint: the file is damaged: record the run");
    assert!(message.contains(&place), "{message}");
    message
}

/// Offsets of an arrival's fields. When it was due comes first, its length before its stream.
const START: usize = 8;
const STREAM: usize = START + 8 + 4;
const CLASS: usize = STREAM + 4;

/// Above a page cache a request behind the device's end has no pages to go to.
#[test]
fn a_record_with_a_request_behind_its_devices_end_is_refused() {
    let folder = Folder::new("records-behind");
    let (job, record) = (folder.0.join("job.toml"), folder.0.join("run.record"));
    std::fs::write(&job, JOB.replace("size =", "cache = \"buffered\"\nsize =")).unwrap();
    run(&job, "noop", &record).unwrap();
    let message = replayed_with(&record, START, &(u64::MAX / 2).to_le_bytes());
    assert!(message.contains("it holds a request up to byte 9223372036"), "{message}");
}

/// A policy keeps an account of each class that a request names, however large its number.
#[test]
fn a_record_with_a_request_of_a_class_or_stream_that_its_run_had_not_is_refused() {
    let folder = Folder::new("records-class");
    let record = folder.record("fairio");
    for class in [1, 2, u16::MAX] {
        let message = replayed_with(&record, CLASS, &class.to_le_bytes());
        let said = format!("it holds a request of class {class}, and its run had no more than 1 (");
        assert!(message.contains(&said), "{message}");
    }
    let message = replayed_with(&record, STREAM, &2_u32.to_le_bytes());
    assert!(
        message.contains("it holds a request of stream 2, and its job has no more than 2 ("),
        "{message}"
    );

    // An older record does not say how many classes there were; its job does.
    let (mut header, _) = parts(&record);
    header.as_object_mut().unwrap().remove("served");
    put(&record, &header);
    let message = replayed_with(&record, CLASS, &2_u16.to_le_bytes());
    assert!(
        message.contains("it holds a request of class 2, and its run had no more than 2 ("),
        "{message}"
    );
}

/// Completions of commands that were never sent make no agreement, even if no decision differs.
#[test]
fn a_record_with_more_completions_than_commands_is_no_agreement() {
    let folder = Folder::new("records-more");
    let record = folder.record("fcfs");
    let mut bytes = std::fs::read(&record).unwrap();
    let end = bytes.pop().unwrap();
    // One turn more, and in it a completion of slot 77.
    bytes.push(b'T');
    bytes.extend(u64::MAX.to_le_bytes());
    bytes.push(b'D');
    bytes.extend(77_u32.to_le_bytes());
    bytes.extend([0; 20]);
    bytes.push(end);
    std::fs::write(&record, &bytes).unwrap();
    let replay = replay(&record, &[]).unwrap();
    assert!(replay.first_difference.is_some(), "{replay:?}");
}
