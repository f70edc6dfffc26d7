//! Passes over real files: every test in every form moves the bytes that it says; what is refused stays as it is.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::Path;

use penstock_live::{
    CallForm, EndedPass, FileTest, FirstUse, Pass, PassError, PassFile, PassHistory, PassPlace,
    PassSettings, PassSignals, RecordsMoved, Target, TargetError, User, half_made,
};

use super::common::Scratch;
use super::common::disk::{Disk, named_twice};

const RECORD: u64 = 8192;
const COUNT: u64 = 40;
const SIZE: u64 = RECORD * COUNT;

const SETTINGS: PassSettings = PassSettings {
    form: CallForm::Calls,
    stride: 7,
    direct: false,
    sync: false,
    include_flush: false,
    include_close: false,
    stonewall: true,
    verify: true,
    drop_cache: false,
    seed: 5,
};

const FORMS: [CallForm; 4] = [
    CallForm::Calls,
    CallForm::Mapped,
    CallForm::InFlight { depth: 1, copies: true },
    CallForm::InFlight { depth: 6, copies: false },
];

/// A file and what passes have done to it.
struct Worker {
    file: PassFile,
    history: PassHistory,
}

impl Worker {
    fn over(file: PassFile) -> Self {
        let history = PassHistory::of(&file);
        Self { file, history }
    }

    fn new(path: &Path) -> Self {
        Self::over(open(path, FirstUse::Creates).unwrap())
    }

    fn prepared(&self, name: &str) -> Pass<'_> {
        let Self { file, history } = self;
        Pass::prepare(file, history, &SETTINGS, test(name), (RECORD, COUNT)).unwrap()
    }

    /// Does `test`, and returns the number of records that it moved.
    fn does(&mut self, name: &str, settings: &PassSettings) -> Result<u64, PassError> {
        let test = test(name);
        let prepared = Pass::prepare(&self.file, &self.history, settings, test, (RECORD, COUNT));
        let (signals, moved) = (PassSignals::default(), RecordsMoved::default());
        let ended: EndedPass<'_> = prepared?.go(&signals, &moved)?;
        assert_eq!(ended.records, moved.get());
        assert!(ended.ended_ns > ended.began_ns);
        let (records, is_whole) = (ended.records, ended.finish(&signals)?);
        if test.writes() {
            self.history.written(is_whole);
        }
        Ok(records)
    }
}

fn test(name: &str) -> FileTest {
    FileTest::from_name(name).unwrap()
}

fn open(path: &Path, first: FirstUse) -> Result<PassFile, TargetError> {
    PassPlace::find(path, first, SIZE)?.open()
}

/// The passes that wrote the records of `bytes`, by the second word of each stamp.
fn passes(bytes: &[u8]) -> Vec<u32> {
    let pass = |record: &[u8]| u32::from_le_bytes(record[20..24].try_into().unwrap());
    bytes.chunks(RECORD as usize).map(pass).collect()
}

/// Whether direct I/O works among the temporary files, with a word on stderr if not.
fn has_direct_io(file: &PassFile) -> bool {
    match file.check_direct(&[RECORD]) {
        Ok(()) => true,
        Err(error) => {
            assert_eq!(error.exit_code(), 77, "{error}");
            eprintln!("skipped: {error}");
            false
        }
    }
}

#[test]
fn every_test_in_every_form_moves_every_record() {
    let scratch = Scratch::new("passes");
    for form in FORMS {
        for direct in [false, true] {
            let path = scratch.path("file");
            let mut worker = Worker::new(&path);
            if direct && (form == CallForm::Mapped || !has_direct_io(&worker.file)) {
                continue;
            }
            let settings = PassSettings { form, direct, ..SETTINGS };
            let mut written = 0;
            for test in FileTest::ALL {
                let name = format!("{} as {form:?}, direct: {direct}", test.name);
                assert_eq!(worker.does(test.name, &settings).expect(&name), COUNT, "{name}");
                let bytes = fs::read(&path).unwrap();
                assert_eq!(bytes.len() as u64, SIZE, "{name}");
                let last = passes(&bytes);
                written += u32::from(test.writes());
                let ours = last.iter().filter(|pass| **pass == written).count();
                match test.name {
                    "record_rewrite" => assert_eq!((last[0], ours), (written, 1), "{name}"),
                    _ if test.writes() => assert_eq!(ours as u64, COUNT, "{name}"),
                    _ => {}
                }
            }
            drop(worker);
            assert!(!path.exists(), "what was made is removed");
        }
    }
}

#[test]
fn options_of_the_time_change_no_data() {
    let scratch = Scratch::new("passes-options");
    for form in FORMS {
        let settings = PassSettings {
            form,
            sync: form != CallForm::Mapped,
            include_flush: true,
            include_close: true,
            drop_cache: true,
            ..SETTINGS
        };
        let mut worker = Worker::new(&scratch.path("file"));
        for name in ["write", "rewrite", "read", "fwrite", "fread", "random_write", "stride_read"] {
            assert_eq!(worker.does(name, &settings).unwrap(), COUNT, "{name} as {form:?}");
        }
        let bytes = fs::read(scratch.path("file")).unwrap();
        assert_eq!(passes(&bytes), [4; COUNT as usize]);
    }
}

#[test]
fn unverified_data_is_that_of_a_run() {
    let scratch = Scratch::new("passes-plain");
    let path = scratch.path("file");
    let mut worker = Worker::new(&path);
    for form in FORMS {
        let settings = PassSettings { form, verify: false, ..SETTINGS };
        worker.does("write", &settings).unwrap();
        worker.does("read", &settings).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().len(), SIZE);
        assert_eq!(half_made(&path), [path.as_path()], "recognised should this process be killed");
    }
    worker.file.keep().unwrap();
    assert!(half_made(&path).is_empty());
    assert_eq!(Target::open(&path, None).unwrap().capacity(), SIZE, "it is an owned file now");
}

#[test]
fn one_flipped_bit_is_found_by_every_test_that_reads() {
    let scratch = Scratch::new("passes-bit");
    let path = scratch.path("file");
    let mut worker = Worker::new(&path);
    for form in FORMS {
        let settings = PassSettings { form, ..SETTINGS };
        worker.does("write", &settings).unwrap();
        let file = File::options().read(true).write(true).open(&path).unwrap();
        let (at, mut byte) = (RECORD * 17 + 1003, [0]);
        file.read_exact_at(&mut byte, at).unwrap();
        file.write_all_at(&[byte[0] ^ 16], at).unwrap();
        let reads = FileTest::ALL.into_iter().filter(|test| !test.writes());
        for test in reads {
            let error = worker.does(test.name, &settings).unwrap_err();
            assert_eq!(error.exit_code(), 4, "{}: {error}", test.name);
            let PassError::Different { offset, expected, actual, .. } = &error else {
                panic!("{error}")
            };
            assert_eq!((*offset, (expected ^ actual).count_ones()), (at / 8 * 8, 1));
            let message = error.to_string();
            assert!(message.starts_with(&format!("{}: found 0x", path.display())), "{message}");
            assert!(message.contains("; expected 0x") && message.contains("\nhint: "), "{message}");
        }
    }
}

#[test]
fn a_write_that_never_reached_the_file_is_found() {
    let scratch = Scratch::new("passes-lost");
    let path = scratch.path("file");
    let mut worker = Worker::new(&path);
    worker.does("write", &SETTINGS).unwrap();
    let file = File::options().read(true).write(true).open(&path).unwrap();
    let mut old = vec![0; RECORD as usize];
    file.read_exact_at(&mut old, RECORD * 3).unwrap();
    worker.does("rewrite", &SETTINGS).unwrap();
    file.write_all_at(&old, RECORD * 3).unwrap();
    let message = worker.does("read", &SETTINGS).unwrap_err().to_string();
    assert!(message.contains(", which is data of another pass or place; "), "{message}");
    worker.does("random_write", &SETTINGS).unwrap();
    worker.does("read", &SETTINGS).unwrap();
}

#[test]
fn the_first_worker_that_ends_stops_the_others_and_files_become_whole() {
    let scratch = Scratch::new("passes-wall");
    let [mut first, mut second] = ["a", "b"].map(|name| Worker::new(&scratch.path(name)));
    let (signals, counts) = (PassSignals::default(), [(); 2].map(|()| RecordsMoved::default()));
    // One after the other: the second is stopped before its first record.
    let (a, b) = (first.prepared("write"), second.prepared("write"));
    let ended = a.go(&signals, &counts[0]).unwrap();
    let stopped = b.go(&signals, &counts[1]).unwrap();
    assert_eq!((ended.records, stopped.records), (COUNT, 0));
    assert_eq!(fs::metadata(scratch.path("b")).unwrap().len(), 0);
    assert!(ended.finish(&signals).unwrap() && stopped.finish(&signals).unwrap());
    assert_eq!(fs::metadata(scratch.path("b")).unwrap().len(), SIZE, "tests that follow read it");
    for worker in [&mut first, &mut second] {
        worker.history.written(true);
        worker.does("read", &SETTINGS).unwrap();
    }
    let settings = PassSettings { stonewall: false, ..SETTINGS };
    let signals = PassSignals::default();
    for worker in [&first, &second] {
        let Worker { file, history } = worker;
        let pass = Pass::prepare(file, history, &settings, test("reread"), (RECORD, COUNT));
        assert_eq!(pass.unwrap().go(&signals, &counts[0]).unwrap().records, COUNT);
    }
    signals.abandon();
    let Worker { file, history } = &first;
    let pass = Pass::prepare(file, history, &settings, test("write"), (RECORD, COUNT)).unwrap();
    let abandoned = pass.go(&signals, &counts[0]).unwrap();
    abandoned.finish(&signals).unwrap();
    assert_eq!(fs::metadata(scratch.path("a")).unwrap().len(), 0, "nothing more is written");
}

#[test]
fn what_is_in_the_way_is_refused_and_left_as_it_is() {
    let scratch = Scratch::new("passes-refused");
    let refused = |path: &Path, first, code: u8, texts: &[&str]| {
        let before = fs::read(path).ok();
        let error = open(path, first).err().expect("a refusal");
        assert_eq!(error.exit_code(), code, "{error}");
        let message = error.to_string();
        for text in texts.iter().chain(&["expected ", "\nhint: "]) {
            assert!(message.contains(text), "{text:?} is not in {message:?}");
        }
        assert_eq!(fs::read(path).ok(), before);
    };
    let path = scratch.path("theirs");
    fs::write(&path, vec![7; SIZE as usize]).unwrap();
    refused(
        &path,
        FirstUse::Creates,
        5,
        &["327680 bytes without Penstock's mark", "remove this one"],
    );
    refused(&path, FirstUse::Writes, 5, &["without Penstock's mark"]);
    drop(open(&path, FirstUse::Reads).unwrap());
    assert!(path.exists(), "a file that is read is not removed");
    fs::write(&path, "short").unwrap();
    refused(&path, FirstUse::Reads, 2, &["found 5 bytes", "at least 327680", "-i 0 -w"]);
    let missing = scratch.path("missing");
    refused(&missing, FirstUse::Reads, 2, &["found no file", "write it first: -i 0 -w"]);
    refused(&missing, FirstUse::Writes, 2, &["found no file", "write it first: -i 0 -w"]);
    refused(&scratch.path("."), FirstUse::Creates, 2, &["found a directory"]);
    refused(Path::new("/dev/null"), FirstUse::Creates, 5, &["found a character device"]);
    refused(Path::new("/proc/penstock"), FirstUse::Creates, 5, &["kernel's own (proc)"]);
    let of_an_application = scratch.path("gate");
    let go_on = &mut |_, _| std::ops::ControlFlow::Continue(());
    drop(Target::open_with(&of_an_application, Some(SIZE), User::Application, go_on).unwrap());
    refused(&of_an_application, FirstUse::Creates, 5, &["with an application's data"]);
    let left = scratch.path("left");
    let mut worker = Worker::new(&left);
    worker.does("write", &PassSettings { verify: false, ..SETTINGS }).unwrap();
    fs::copy(&left, scratch.path("killed")).unwrap();
    refused(&left, FirstUse::Creates, 5, &["that a run which was killed seems to have left"]);
    drop(worker);
    refused(&scratch.path("killed"), FirstUse::Creates, 5, &["was killed", "remove this one"]);
    std::os::unix::fs::symlink("nothing", scratch.path("link")).unwrap();
    refused(&scratch.path("link"), FirstUse::Creates, 2, &["symbolic link to nothing"]);
}

#[test]
fn a_kept_file_is_used_again_and_locked_meanwhile() {
    let scratch = Scratch::new("passes-kept");
    let path = scratch.path("file");
    let mut worker = Worker::new(&path);
    worker.does("write", &SETTINGS).unwrap();
    worker.does("rewrite", &SETTINGS).unwrap();
    worker.file.keep().unwrap();
    let mut reader = Worker::over(open(&path, FirstUse::Reads).unwrap());
    reader.does("backward_read", &SETTINGS).unwrap();
    drop(reader);
    let mut writer = Worker::over(open(&path, FirstUse::Writes).unwrap());
    assert!(matches!(open(&path, FirstUse::Creates), Err(TargetError::InUse { .. })));
    for name in ["random_write", "read", "rewrite", "reread"] {
        writer.does(name, &SETTINGS).unwrap();
    }
    let marked = Target::open_reading(&path).unwrap().capacity();
    assert_eq!(marked, SIZE, "the mark behind its data is whole");
    drop(writer);
    assert!(path.exists(), "it was not made here");
    let unused = open(&path, FirstUse::Creates).unwrap();
    drop(unused);
    assert!(path.exists(), "it was not emptied");
    let mut emptied = Worker::over(open(&path, FirstUse::Creates).unwrap());
    emptied.does("write", &SETTINGS).unwrap();
    drop(emptied);
    assert!(!path.exists());
    let error = PassFile::check_size(&path, 5000).unwrap_err();
    assert!(matches!(error, TargetError::BadSize { size: 5000, grain: 4096, .. }));
}

#[test]
fn there_is_no_room_for_more_than_there_is() {
    let scratch = Scratch::new("passes-room");
    let place = |name| PassPlace::find(&scratch.path(name), FirstUse::Creates, 1 << 60).unwrap();
    let error = PassPlace::check_room(&[place("a"), place("b")], 1 << 60).unwrap_err();
    assert!(matches!(error, TargetError::NoSpace { needed, .. } if needed == (1 << 61) + 8192));
    PassPlace::check_room(&[place("a"), place("b")], SIZE).unwrap();
    assert_eq!(fs::read_dir(scratch.path(".")).unwrap().count(), 0);
}

#[test]
fn a_file_that_is_cut_during_a_pass_is_an_error_of_its_record() {
    let scratch = Scratch::new("passes-cut");
    for form in FORMS {
        let path = scratch.path("file");
        let mut worker = Worker::new(&path);
        let settings = PassSettings { form, ..SETTINGS };
        worker.does("write", &settings).unwrap();
        let Worker { file, history } = &worker;
        let pass = Pass::prepare(file, history, &settings, test("read"), (RECORD, COUNT)).unwrap();
        File::options().write(true).open(&path).unwrap().set_len(RECORD * 9).unwrap();
        let error = pass.go(&PassSignals::default(), &RecordsMoved::default()).err().unwrap();
        assert_eq!(error.exit_code(), 1, "{error}");
        let PassError::Call { at, .. } = error else { panic!("{error} as {form:?}") };
        assert_eq!(at, RECORD * 9, "{form:?}");
        let error = worker.does("reread", &settings).unwrap_err();
        assert!(matches!(error, PassError::Target(TargetError::TooShort { .. })), "{error}");
    }
}

/// A loop device with blocks of `block` bytes, if one can be made here.
fn disk(name: &str, block: u32) -> Option<(Disk, Target)> {
    let disk = Disk::new(name, &["--sector-size", &block.to_string()])?;
    let target = named_twice(&disk.node).unwrap();
    Some((disk, target))
}

#[test]
fn records_that_do_not_fit_the_block_are_refused_with_the_nearest() {
    for (block, fits) in [(512, true), (4096, false)] {
        let Some((_disk, target)) = disk(&format!("passes-block-{block}"), block) else { return };
        let file = PassFile::on_device(&target, 0);
        match file.check_direct(&[4096, 5120]) {
            Ok(()) => assert!(fits),
            Err(error) => {
                assert!(!fits && error.exit_code() == 2, "{error}");
                let message = error.to_string();
                for text in
                    ["records of 5120 bytes", "multiple of 4096", "EINVAL", "-r 4k or -r 8k"]
                {
                    assert!(message.contains(text), "{text:?} is not in {message:?}");
                }
            }
        }
    }
}

#[test]
fn workers_share_a_device_by_ranges() {
    let Some((disk, target)) = disk("passes-device", 512) else { return };
    for form in FORMS {
        for direct in [false, true] {
            if direct && form == CallForm::Mapped {
                continue;
            }
            let settings = PassSettings { form, direct, ..SETTINGS };
            let starts = [SIZE, 3 * SIZE];
            let mut workers = starts.map(|start| Worker::over(PassFile::on_device(&target, start)));
            for name in ["write", "read", "fwrite", "fread", "random_write", "stride_read"] {
                for worker in &mut workers {
                    worker.does(name, &settings).unwrap_or_else(|error| panic!("{name}: {error}"));
                }
            }
            let bytes = fs::read(&disk.node).unwrap();
            for (range, is_used) in
                bytes.chunks(SIZE as usize).zip([false, true, false, true, false])
            {
                assert_eq!(range.iter().any(|byte| *byte != 0), is_used);
            }
        }
    }
}
