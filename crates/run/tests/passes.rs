//! Sessions of tests over files: what they report, refuse, keep and remove.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use penstock_live::CallForm;
use penstock_run::passes::{FileTestOptions, FileTestSession, PassSettings};
use penstock_run::result::FileTestResult;
use penstock_run::{Failure, TargetOptions};

const SIZE: u64 = 1 << 20;
const RECORD: u64 = 16 << 10;

/// A folder that is removed with its files.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("penstock-tests-{name}-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::create_dir(&path).unwrap();
        Self(path)
    }

    fn options(&self, tests: &[&str], threads: u32) -> FileTestOptions {
        FileTestOptions {
            tests: tests.iter().map(|&name| name.into()).collect(),
            threads,
            size: SIZE,
            records: vec![RECORD],
            files: (0..threads).map(|number| self.0.join(format!("file{number}"))).collect(),
            target: TargetOptions::default(),
            starts: Vec::new(),
            keep: false,
            read_percent: 50,
            scheduler: None,
            settings: PassSettings {
                form: CallForm::Calls,
                stride: 17,
                direct: false,
                sync: false,
                include_flush: true,
                include_close: false,
                stonewall: true,
                verify: true,
                drop_cache: false,
                seed: 42,
            },
        }
    }

    fn names(&self) -> Vec<String> {
        let name = |entry: std::io::Result<fs::DirEntry>| {
            entry.unwrap().file_name().into_string().unwrap()
        };
        let mut names: Vec<_> = fs::read_dir(&self.0).unwrap().map(name).collect();
        names.sort();
        names
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).unwrap();
    }
}

fn open(options: FileTestOptions) -> Result<FileTestSession, Failure> {
    FileTestSession::open(options, &mut || true)
}

fn run(session: &mut FileTestSession, test: &str, threads: u32) -> Result<FileTestResult, Failure> {
    session.run(test, threads, (RECORD, SIZE), &mut |_| true)
}

/// Checks that these options are refused with this exit code and these texts.
fn refused(options: FileTestOptions, code: u8, texts: &[&str]) {
    let failure = open(options).err().expect("a refusal");
    let message = failure.to_string();
    assert_eq!(failure.exit_code(), code, "{message}");
    for text in texts.iter().chain(&["error: ", "\nhint: "]) {
        assert!(message.contains(text), "{text:?} is not in {message:?}");
    }
}

#[test]
fn every_worker_is_reported_and_all_end_in_the_time_of_the_parent() {
    let folder = Folder::new("workers");
    let tests = ["write", "rewrite", "read", "random_read", "random_mix", "fwrite", "re_preadv"];
    let mut options = folder.options(&tests, 3);
    options.settings.stonewall = false;
    let mut session = open(options).unwrap();
    for test in tests {
        for threads in [3, 1, 2] {
            let result = run(&mut session, test, threads).unwrap();
            assert_eq!((result.test, result.threads), (test, threads));
            assert_eq!((result.record_bytes, result.file_bytes), (RECORD, SIZE));
            assert_eq!(result.workers.len() as u32, threads);
            for worker in &result.workers {
                assert_eq!((worker.bytes, worker.calls), (SIZE, SIZE / RECORD));
                assert!(worker.ns > 0 && worker.ns <= result.parent_ns);
            }
        }
    }
    assert_eq!(folder.names(), ["file0", "file1", "file2"]);
    session.finish().unwrap();
    assert_eq!(folder.names(), [""; 0]);
}

#[test]
fn with_stonewalling_one_worker_at_least_ends_and_later_tests_find_whole_files() {
    let folder = Folder::new("stonewall");
    let tests = ["write", "read", "random_write", "reread"];
    let mut session = open(folder.options(&tests, 8)).unwrap();
    for test in tests.into_iter().cycle().take(12) {
        let result = run(&mut session, test, 8).unwrap();
        assert!(result.workers.iter().any(|worker| worker.bytes == SIZE), "{test}");
        assert!(result.workers.iter().all(|worker| worker.bytes == worker.calls * RECORD));
        for number in 0..8 {
            let path = folder.0.join(format!("file{number}"));
            assert_eq!(fs::metadata(path).unwrap().len(), SIZE, "{test}");
        }
    }
}

#[test]
fn a_record_that_does_not_divide_the_file_leaves_a_rest() {
    let folder = Folder::new("rest");
    let record = 12 << 10;
    let options =
        FileTestOptions { records: vec![record], ..folder.options(&["write", "read"], 1) };
    let mut session = open(options).unwrap();
    for test in ["write", "read"] {
        let result = session.run(test, 1, (record, SIZE), &mut |_| true).unwrap();
        assert_eq!(result.file_bytes, SIZE / record * record);
        assert_eq!(result.workers[0].bytes, result.file_bytes);
    }
}

#[test]
fn kept_files_are_read_and_written_by_later_sessions() {
    let folder = Folder::new("kept");
    let keep = FileTestOptions { keep: true, ..folder.options(&["write", "rewrite"], 2) };
    let mut session = open(keep).unwrap();
    run(&mut session, "write", 2).unwrap();
    run(&mut session, "rewrite", 2).unwrap();
    session.finish().unwrap();
    let mut reading = open(folder.options(&["random_read"], 2)).unwrap();
    run(&mut reading, "random_read", 2).unwrap();
    reading.finish().unwrap();
    assert_eq!(folder.names(), ["file0", "file1"], "it only read them");
    let file = File::options().read(true).write(true).open(folder.0.join("file1")).unwrap();
    file.write_all_at(&[0x5a], 70_000).unwrap();
    let mut whole = folder.options(&["read"], 2);
    whole.settings.stonewall = false;
    let mut reading = open(whole).unwrap();
    let failure = run(&mut reading, "read", 2).unwrap_err();
    assert_eq!(failure.exit_code(), 4, "{failure}");
    assert!(failure.to_string().contains("file1: found 0x"), "{failure}");
    drop(reading);
    let mut session = open(folder.options(&["write"], 2)).unwrap();
    run(&mut session, "write", 2).unwrap();
    session.finish().unwrap();
    assert_eq!(folder.names(), [""; 0], "they were written anew, and not kept");
}

#[test]
fn a_test_that_is_ended_or_fails_leaves_no_file() {
    let folder = Folder::new("ended");
    let mut session = open(folder.options(&["write"], 2)).unwrap();
    let failure = session.run("write", 2, (RECORD, SIZE), &mut |_| false).unwrap_err();
    assert_eq!(failure.to_string(), "error: write was ended");
    drop(session);
    assert_eq!(folder.names(), [""; 0]);
    let mut session = open(folder.options(&["write", "read"], 2)).unwrap();
    run(&mut session, "write", 2).unwrap();
    File::options().write(true).open(folder.0.join("file0")).unwrap().set_len(5).unwrap();
    let failure = run(&mut session, "read", 2).unwrap_err();
    assert!(failure.to_string().contains("file0: found 5 bytes; expected at least"), "{failure}");
    drop(session);
    assert_eq!(folder.names(), [""; 0]);
}

#[test]
fn progress_goes_from_nothing_to_all() {
    let folder = Folder::new("progress");
    let mut session = open(folder.options(&["write"], 1)).unwrap();
    let mut fractions = Vec::new();
    let each = &mut |fraction| {
        fractions.push(fraction);
        true
    };
    session.run("write", 1, (RECORD, SIZE), each).unwrap();
    assert!(fractions.is_sorted() && fractions.last() == Some(&1.0), "{fractions:?}");
}

#[test]
fn what_cannot_run_is_refused_before_anything_is_written() {
    let folder = Folder::new("refused");
    let options = || folder.options(&["write", "read"], 2);
    let with = |change: &dyn Fn(&mut FileTestOptions)| {
        let mut options = options();
        change(&mut options);
        options
    };
    refused(with(&|o| o.tests = vec![]), 2, &["found no test"]);
    refused(with(&|o| o.tests = vec!["wirte".into()]), 2, &["unknown test wirte", "write"]);
    refused(with(&|o| o.threads = 0), 2, &["found 0 threads"]);
    refused(with(&|o| o.threads = 3), 2, &["found 2 files for 3 threads", "name 3 files"]);
    refused(with(&|o| o.records = vec![2 << 20]), 2, &["2097152 bytes in files of 1048576"]);
    refused(with(&|o| o.records = vec![0]), 2, &["records of 0 bytes"]);
    refused(with(&|o| o.records = vec![1000]), 2, &["verified records of 1000 bytes", "-+d"]);
    refused(with(&|o| o.files[1] = o.files[0].clone()), 2, &["the file of two workers"]);
    let other_name = folder.0.join("./file0");
    refused(with(&|o| o.files[1] = other_name.clone()), 2, &["the file of two workers"]);
    refused(with(&|o| o.files[1] = folder.0.clone()), 2, &["found a directory"]);
    let nowhere = open(with(&|o| o.files[1] = "/none/file".into())).err().unwrap();
    assert_eq!((nowhere.exit_code(), nowhere.to_string().contains("/none/file")), (2, true));
    refused(with(&|o| o.tests = vec!["read".into()]), 2, &["write it first: -i 0 -w"]);
    refused(with(&|o| o.tests = vec!["rewrite".into()]), 2, &["write it first: -i 0 -w"]);
    refused(with(&|o| o.size = 1 << 60), 1, &["bytes free on", "expected 2305843009213702144"]);
    refused(
        with(&|o| {
            (o.keep, o.records) = (true, vec![1536]);
            o.settings.verify = false;
        }),
        2,
        &["multiple of 4096"],
    );
    let form = |form, direct, sync| {
        with(&move |o: &mut FileTestOptions| {
            o.settings = PassSettings { form, direct, sync, ..o.settings };
        })
    };
    refused(form(CallForm::Mapped, true, false), 2, &["page cache", "leave out -I or -B"]);
    refused(form(CallForm::Mapped, false, true), 2, &["O_SYNC", "-e in place of -o"]);
    let in_flight = |depth| CallForm::InFlight { depth, copies: true };
    refused(form(in_flight(0), false, false), 2, &["found 0 records in flight"]);
    refused(form(in_flight(1025), false, false), 2, &["found 1025 records in flight"]);
    refused(with(&|o| o.settings.stride = 0), 2, &["stride of 0"]);
    refused(with(&|o| o.read_percent = 101), 2, &["101 %"]);
    refused(with(&|o| o.target = TargetOptions::on("/dev/null")), 2, &["one or the other"]);
    let on = |on: &str, keep| {
        let (target, files) = (TargetOptions::on(on), Vec::new());
        FileTestOptions { target, files, keep, ..options() }
    };
    refused(on("/dev/null", false), 2, &["is no block device", "-F"]);
    refused(on("loop:", false), 2, &["names no file"]);
    refused(on("loop:./x", true), 2, &["-w does not go with a device"]);
    assert_eq!(folder.names(), [""; 0]);
    let theirs = folder.0.join("file1");
    fs::write(&theirs, "theirs").unwrap();
    refused(options(), 5, &["file1: found a file of 6 bytes without Penstock's mark"]);
    assert_eq!(
        (fs::read(theirs).unwrap(), folder.names()),
        (b"theirs".into(), vec!["file1".into()])
    );
}

#[test]
fn a_session_runs_only_what_its_files_were_opened_for() {
    let folder = Folder::new("known");
    let mut session = open(folder.options(&["write"], 1)).unwrap();
    for (test, threads, record, size) in [
        ("read", 1, RECORD, SIZE),
        ("write", 2, RECORD, SIZE),
        ("write", 1, 2 * RECORD, SIZE),
        ("write", 1, RECORD, 2 * SIZE),
    ] {
        let failure = session.run(test, threads, (record, size), &mut |_| true).unwrap_err();
        assert!(failure.to_string().contains("the files were not opened for"), "{failure}");
    }
}

/// Runs `body` with a loop device of 4096-byte blocks over a file of zeros, where one can be made.
fn on_a_loop_device(folder: &Folder, bytes: u64, body: impl Fn(&Path)) {
    let file = folder.0.join("disk");
    File::create(&file).unwrap().set_len(bytes).unwrap();
    let made = Command::new("losetup")
        .args(["--find", "--show", "--sector-size", "4096"])
        .arg(&file)
        .output();
    let Some(made) = made.ok().filter(|made| made.status.success()) else {
        return eprintln!("skipped: no loop device can be made here (it needs root and losetup)");
    };
    let node = PathBuf::from(String::from_utf8(made.stdout).unwrap().trim());
    body(&node);
    assert!(Command::new("losetup").arg("--detach").arg(&node).status().unwrap().success());
}

#[test]
fn workers_have_ranges_of_a_device_that_is_named_twice() {
    let folder = Folder::new("device");
    on_a_loop_device(&folder, 4 * SIZE, |node| {
        let on = node.to_str().unwrap();
        let options = |starts: &[u64], record| {
            let mut options = folder.options(&["write", "read"], 2);
            (options.files, options.starts) = (Vec::new(), starts.into());
            options.records = vec![record];
            options.target =
                TargetOptions { i_will_lose_data: vec![on.into()], ..TargetOptions::on(on) };
            options.settings.direct = true;
            options
        };
        refused(options(&[0, SIZE], 5 << 10), 2, &["records of 5120", "EINVAL", "-r 4k or -r 8k"]);
        refused(options(&[0, SIZE / 2], RECORD), 2, &["from 0 and from 524288 overlap"]);
        refused(options(&[0, 3 * SIZE + 4096], RECORD), 2, &["expected 4198400"]);
        refused(options(&[0, SIZE + 512], RECORD), 2, &["from byte 1049088", "multiple of 4096"]);
        refused(options(&[0], RECORD), 2, &["found 1 starts for 2 threads"]);
        let once = TargetOptions::on(on);
        refused(FileTestOptions { target: once, ..options(&[], RECORD) }, 5, &["named twice"]);
        assert!(fs::read(node).unwrap().iter().all(|byte| *byte == 0), "nothing is written so far");
        let mut session = open(options(&[SIZE, 3 * SIZE], RECORD)).unwrap();
        for test in ["write", "read"] {
            let result = run(&mut session, test, 2).unwrap();
            assert!(result.workers.iter().any(|worker| worker.bytes == SIZE));
        }
        session.finish().unwrap();
        let used = |bytes: &[u8]| bytes.iter().any(|byte| *byte != 0);
        let bytes = fs::read(node).unwrap();
        let ranges: Vec<_> = bytes.chunks(SIZE as usize).map(used).collect();
        assert_eq!(ranges, [false, true, false, true]);
    });
}

#[test]
fn a_loop_device_over_an_owned_file_is_made_for_a_session() {
    let folder = Folder::new("loop");
    let image = folder.0.join("disk.img");
    let mut options = folder.options(&["write", "read"], 2);
    options.files = Vec::new();
    options.target = TargetOptions {
        create: Some("2MiB".into()),
        ..TargetOptions::on(format!("loop:{}", image.display()))
    };
    let mut session = match open(options) {
        Err(failure) if failure.exit_code() == 77 => return eprintln!("skipped: {failure}"),
        opened => opened.unwrap(),
    };
    run(&mut session, "write", 2).unwrap();
    run(&mut session, "read", 2).unwrap();
    session.finish().unwrap();
    assert_eq!(folder.names(), ["disk.img"], "it is an owned file");
}

#[test]
fn a_file_system_without_direct_io_is_named_and_no_file_is_left() {
    let folder = Folder::new("ramfs");
    let point = folder.0.join("mounted");
    fs::create_dir(&point).unwrap();
    let mounted = Command::new("mount").args(["-t", "ramfs", "ramfs"]).arg(&point).status();
    if !mounted.is_ok_and(|status| status.success()) {
        return eprintln!("skipped: no ramfs can be mounted here (it needs root)");
    }
    let mut options = folder.options(&["write"], 1);
    options.files = vec![point.join("file")];
    options.settings.direct = true;
    let failure = open(options).err().map(|failure| (failure.exit_code(), failure.to_string()));
    let left = fs::read_dir(&point).unwrap().count();
    assert!(Command::new("umount").arg(&point).status().unwrap().success());
    let (exit_code, message) = failure.expect("a refusal");
    assert_eq!((exit_code, left), (77, 0), "{message}");
    assert!(message.contains("found that ramfs refuses O_DIRECT"), "{message}");
}
