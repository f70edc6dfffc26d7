//! Devices that files share: which files lie where, and what is refused.

use penstock_jobs::{Extent, Job};

const LOG_AND_BACKUP: &str = r#"
duration = "1s"
[device]
disk0 = "hdd-7200"
[device.disk1]
model = "fixed"
base = "1ms"
[class.a]
[[file]]
name = "log"
size = "1MiB"
device = "disk0"
[[file]]
name = "temp"
size = "1MiB"
device = "disk1"
[[file]]
name = "backup"
count = 2
size = "10000B"
device = "disk0"
[[agent]]
class = "a"
file = ["log", "backup", "temp"]
op = "read"
size = "4KiB"
pattern = "random"
arrivals = { kind = "fixed", rate = "1/s" }
"#;

fn parse(text: &str, sets: &[&str]) -> Job {
    let sets: Vec<String> = sets.iter().map(|&set| set.into()).collect();
    Job::parse("job.toml", text, &sets).unwrap_or_else(|error| panic!("{error}"))
}

fn refused(text: &str, sets: &[&str]) -> String {
    let sets: Vec<String> = sets.iter().map(|&set| set.into()).collect();
    Job::parse("job.toml", text, &sets).map(|_| ()).expect_err("a mistake").to_string()
}

/// Returns the name and the device of each lane.
fn lanes(job: &Job) -> Vec<(String, String)> {
    let devices = job.workload.lane_devices(job.device.as_ref()).unwrap();
    let names = devices.iter().map(|device| device.name.clone()).collect::<Vec<_>>();
    assert_eq!(names, job.workload.lane_names());
    devices.into_iter().map(|device| (device.name, device.spec.name)).collect()
}

/// Returns the first byte of each file in KiB, over devices of 2 MiB.
fn firsts(job: &Job) -> Result<Vec<u64>, String> {
    let device = |number| Extent { base: number << 21, capacity: 1 << 21, block: 512 };
    let lanes = job.workload.lane_names().len() as u64;
    let files = job.files_over(&(0..lanes).map(device).collect::<Vec<_>>());
    let files = files.map_err(|error| error.to_string())?;
    Ok(files.iter().map(|file| file.start >> 10).collect())
}

#[test]
fn files_that_name_a_device_lie_on_it_behind_each_other() {
    let job = parse(LOG_AND_BACKUP, &[]);
    assert_eq!(job.workload.file_names(), ["log", "temp", "backup.0", "backup.1"]);
    assert_eq!(job.workload.file_lanes(), [0, 1, 0, 0]);
    // A device with one file is that file's own.
    let found = [("disk0", "hdd-7200"), ("temp", "disk1")].map(|(a, b)| (a.into(), b.into()));
    assert_eq!(lanes(&job), found);
    // Begins of pages; the second device lies behind the first.
    assert_eq!(firsts(&job).unwrap(), [0, 2048, 1024, 1036]);
    let again = parse(&job.text(), &[]);
    assert_eq!((again.text(), again), (job.text(), job));
}

#[test]
fn a_file_may_say_where_it_begins_but_not_within_another() {
    assert_eq!(firsts(&parse(LOG_AND_BACKUP, &["file.log.at=40%"])).unwrap()[0], 816);
    let error = firsts(&parse(LOG_AND_BACKUP, &["file.backup.at=4KiB"])).unwrap_err();
    assert!(
        error.contains("file backup.0 begins within log, which is on the same device"),
        "{error}"
    );
    assert!(error.contains("leave `at` out"), "{error}");
    let error = firsts(&parse(LOG_AND_BACKUP, &["file.backup.size=1MiB"])).unwrap_err();
    let message = "file backup.1 begins at 2MiB and has 1MiB: it ends past its device";
    assert!(error.contains(message), "{error}");
}

#[test]
fn arguments_change_the_devices() {
    let devices = |sets: &[&str]| {
        let lanes = lanes(&parse(LOG_AND_BACKUP, sets)).into_iter();
        lanes.map(|(name, device)| format!("{name}={device}")).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(devices(&["device.disk0=flash"]), "disk0=flash temp=disk1");
    let changed = devices(&["device.disk0.queue.depth=4", "device.disk1.base=2ms"]);
    assert_eq!(changed, "disk0=hdd-7200, changed temp=disk1");
    assert_eq!(devices(&["file.temp.device=disk0"]), "disk0=hdd-7200");
    let apart = devices(&["file.backup.device=flash"]);
    assert_eq!(apart, "log=hdd-7200 temp=disk1 backup.0=flash backup.1=flash");
    assert_eq!(devices(&["file.backup.on.1=disk1"]), "disk0=hdd-7200 disk1=disk1");
    let error = refused(LOG_AND_BACKUP, &["device=flash"]);
    assert!(error.contains("the job names its devices, and files share them"), "{error}");
}

#[test]
fn files_share_a_device_of_a_machine_that_they_name() {
    let text = LOG_AND_BACKUP.replace(
        "[device]\ndisk0 = \"hdd-7200\"\n[device.disk1]\nmodel = \"fixed\"\nbase = \"1ms\"\n",
        "device = \"openpower-710\"\n",
    );
    let text = text.replace("disk0", "disk.3").replace("disk1", "disk");
    let job = parse(&text, &[]);
    assert_eq!(job.workload.file_lanes(), [0, 1, 0, 0]);
    assert_eq!(job.workload.lane_names(), ["disk.3", "temp"]);
    let again = parse(&job.text(), &[]);
    assert_eq!((again.text(), again), (job.text(), job));
}

#[test]
fn files_with_one_path_share_the_target() {
    let job = parse(
        LOG_AND_BACKUP,
        &["file.log.path=./a", "file.temp.path=./b", "file.backup.path=./b,./a"],
    );
    assert_eq!(job.workload.file_lanes(), [0, 1, 1, 0]);
    assert_eq!(job.workload.lane_names(), ["log", "temp"]);
    assert_eq!(firsts(&job).unwrap(), [0, 2048, 3072, 1024]);
}

#[test]
fn devices_without_files_and_files_without_devices_are_refused() {
    let no_files = "duration = \"1s\"\n[device]\ndisk0 = \"flash\"\n[class.a]\n[[agent]]\nclass = \"a\"\nop = \
                    \"read\"\nsize = \"4KiB\"\npattern = \"random\"\narrivals = { kind = \"fixed\", rate = \"1/s\" }\n";
    let error = refused(no_files, &[]);
    assert!(error.contains("the job names devices for files, disk0, and has no files"), "{error}");
    let unnamed =
        LOG_AND_BACKUP.replacen("device = \"disk0\"\n", "", 1).replace("\"disk1\"", "\"disk0\"");
    let error = refused(&unnamed, &["file.log.count=2"]);
    let message = "file log.1 has no device of its own: the job has 2 devices, each taken";
    assert!(error.contains(message), "{error}");
    let error = refused(LOG_AND_BACKUP, &["file.log.device=disk2"]);
    assert!(error.contains("the job has disk0, disk1; or name a device"), "{error}");
    let error = refused(&LOG_AND_BACKUP.replace("disk0 =", "\"a disk\" ="), &[]);
    assert!(error.contains("`a disk` is no name of a device"), "{error}");
}

#[test]
fn files_apart_are_noticed_if_one_device_is_named() {
    let apart = |text: &str, sets: &[&str]| parse(text, sets).workload.apart();
    assert_eq!(apart(LOG_AND_BACKUP, &[]), None);
    let twice = LOG_AND_BACKUP.replace("\"disk0\"", "\"flash\"");
    assert_eq!(apart(&twice, &[]), Some(["log", "backup.0"].map(Into::into)));
    let start = LOG_AND_BACKUP.find("[class.a]").unwrap();
    let head = "device = \"flash\"\nduration = \"1s\"\n";
    let none = LOG_AND_BACKUP[start..]
        .replace("device = \"disk0\"\n", "")
        .replace("device = \"disk1\"\n", "");
    assert_eq!(apart(&format!("{head}{none}"), &[]), Some(["log", "temp"].map(Into::into)));
    let machine = head.replace("flash", "openpower-710");
    assert_eq!(apart(&format!("{machine}{none}"), &[]), None, "it has a disk for each");
}
