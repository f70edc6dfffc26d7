//! The gate: exactly the bytes that are named change, everything is answered, and short ones go
//! first but not for ever.

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use penstock_run::Failure;
use penstock_run::gate::{Gate, GateFile, GateOptions};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;

const SIZE: u64 = 1 << 20;

/// A folder on a disk, which goes with it.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let folder = format!("penstock-gate-{name}-{}", std::process::id());
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(folder);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn owned(&self, name: &str) -> GateFile {
        let (path, create) = (self.0.join(name), Some(format!("{SIZE}B")));
        GateFile { path, create, ..GateFile::default() }
    }

    /// A file of an application, with `bytes` in it.
    fn adopted(&self, name: &str, bytes: &[u8]) -> GateFile {
        let path = self.0.join(name);
        std::fs::write(&path, bytes).unwrap();
        GateFile { path, adopt: true, ..GateFile::default() }
    }

    /// A device file with this table.
    fn device(&self, table: &str) -> String {
        let path = self.0.join("device.toml");
        std::fs::write(&path, format!("[device]\n{table}\n")).unwrap();
        path.display().to_string()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).unwrap();
    }
}

fn open(files: Vec<GateFile>, policy: &str, sets: &[&str]) -> Gate {
    let sets = sets.iter().map(|&set| set.into()).collect();
    let options = GateOptions { files, policy: policy.into(), sets, ..GateOptions::default() };
    Gate::open(&options).unwrap()
}

fn refused(options: &GateOptions) -> Failure {
    Gate::open(options).err().expect("it is refused")
}

/// Returns the contents at `path`, without the mark of an owned file.
fn contents(path: &Path) -> Vec<u8> {
    let mut bytes = std::fs::read(path).unwrap();
    bytes.truncate(usize::try_from(SIZE).unwrap());
    bytes
}

/// Bytes that encode `number` and their place.
fn pattern(number: usize, len: usize) -> Vec<u8> {
    (0..len).map(|at| (number * 31 + at * 7 + at / 251) as u8).collect()
}

/// A change: where, how long, durable or not.
fn changes() -> impl Strategy<Value = Vec<(usize, usize, bool)>> {
    let len = prop_oneof![1..20_usize, 1..5_000_usize, 1..200_000_usize];
    let change = (0..SIZE as usize, len, any::<bool>());
    let inside = |(at, len, sync): (usize, usize, bool)| (at, len.min(SIZE as usize - at), sync);
    proptest::collection::vec(change.prop_map(inside), 1..12)
}

/// Changes through a gate and in memory, and compares.
fn same_as_memory(gate: &Gate, path: &Path, changes: &[(usize, usize, bool)]) {
    let mut memory = contents(path);
    for (number, &(at, len, sync)) in changes.iter().enumerate() {
        let bytes = pattern(number, len);
        gate.write(0, at as u64, &bytes, sync).unwrap();
        memory.resize(memory.len().max(at + len), 0);
        memory[at..at + len].copy_from_slice(&bytes);
        let (from, long) = (at.saturating_sub(3), len + 6);
        let read = gate.read(0, from as u64, long).unwrap();
        assert!(read == memory[from..memory.len().min(from + long)], "{len} bytes at {at}");
    }
    assert!(contents(path) == memory, "after {changes:?}");
}

#[test]
fn exactly_the_bytes_that_are_named_change_whatever_policy_and_engine() {
    let mut runner = TestRunner::new(ProptestConfig { cases: 6, ..ProptestConfig::default() });
    for engine in ["io_uring", "threads"] {
        for (policy, set) in [("size-priority", "split=1000B"), ("fcfs", ""), ("cfq", "")] {
            let folder = Folder::new(&format!("bytes-{engine}-{policy}"));
            let sets = if set.is_empty() { Vec::new() } else { vec![set.into()] };
            for (name, file) in [
                ("owned", folder.owned("owned")),
                ("adopted", folder.adopted("adopted", &pattern(9, 5_000))),
            ] {
                let (files, sets, path) = (vec![file], sets.clone(), folder.0.join(name));
                let (policy, engine) = (policy.into(), Some(engine.into()));
                let options = GateOptions { files, policy, sets, engine, ..GateOptions::default() };
                let gate = match Gate::open(&options) {
                    Err(failure) if failure.exit_code() == 77 => continue,
                    gate => gate.unwrap(),
                };
                let check = |changes: Vec<_>| {
                    same_as_memory(&gate, &path, &changes);
                    Ok(())
                };
                runner.run(&changes(), check).unwrap();
            }
        }
    }
}

#[test]
fn threads_that_write_side_by_side_in_one_block_undo_nothing() {
    const EACH: usize = 700;
    let folder = Folder::new("neighbours");
    let path = folder.0.join("data");
    // Pieces that begin and end inside blocks, many of them in flight.
    let gate = open(vec![folder.owned("data")], "size-priority", &["split=300B"]);
    let mut memory = contents(&path);
    std::thread::scope(|scope| {
        for number in 0..8 {
            let gate = &gate;
            scope.spawn(move || {
                for round in 0..4 {
                    let at = (round * 8 + number) * EACH;
                    gate.write(0, at as u64, &pattern(round * 8 + number, EACH), false).unwrap();
                }
            });
        }
    });
    for number in 0..32 {
        memory[number * EACH..][..EACH].copy_from_slice(&pattern(number, EACH));
    }
    assert!(contents(&path) == memory);
    let stats = gate.stats().unwrap();
    assert_eq!((stats.long.requests, stats.long.bytes), (32, 32 * EACH as u64));
    assert_eq!(stats.long.pieces, 32 * EACH.div_ceil(300) as u64);
}

#[test]
fn what_was_asked_for_before_the_end_is_carried_out_and_what_comes_later_is_refused() {
    let folder = Folder::new("drain");
    let path = folder.0.join("data");
    let device = folder.device("model = \"fixed\"\nbase = \"2ms\"");
    let mut options = GateOptions { files: vec![folder.owned("data")], ..GateOptions::default() };
    options.emulate = Some(device);
    let gate = Gate::open(&options).unwrap();
    let asked = AtomicU32::new(0);
    let written = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for number in 0..16_usize {
            let (gate, asked, written) = (&gate, &asked, &written);
            scope.spawn(move || {
                for round in 0.. {
                    let at = (number * 64 + round % 64) * 1000;
                    asked.fetch_add(1, Ordering::Relaxed);
                    match gate.write(0, at as u64, &pattern(at, 1000), false) {
                        Ok(()) => written.lock().unwrap().push(at),
                        Err(error) => {
                            assert_eq!(error.error.kind(), std::io::ErrorKind::BrokenPipe);
                            assert!(error.to_string().contains("the gate is closed"), "{error}");
                            return;
                        }
                    }
                }
            });
        }
        while asked.load(Ordering::Relaxed) < 40 {
            std::thread::yield_now();
        }
        gate.close();
    });
    let written = written.into_inner().unwrap();
    assert_eq!(gate.stats().unwrap().short.requests, written.len() as u64, "each answer arrived");
    let bytes = contents(&path);
    assert!(written.iter().all(|&at| bytes[at..at + 1000] == pattern(at, 1000)));
    assert!(gate.read(0, 0, 10).is_err() && gate.flush(0).is_err());
}

#[test]
fn a_piece_that_fails_ends_its_request_with_what_is_done() {
    const PIECE: usize = 4096;
    let folder = Folder::new("errors");
    let path = folder.0.join("data");
    let device =
        folder.device("model = \"fixed\"\nbase = \"0.1ms\"\nfaults = { errors = \"10%\" }");
    let mut options = GateOptions { files: vec![folder.owned("data")], ..GateOptions::default() };
    (options.emulate, options.sets) = (Some(device), vec!["split=4KiB".into()]);
    options.depth = 1;
    let gate = Gate::open(&options).unwrap();
    let (before, new) = (contents(&path), pattern(1, 100 * PIECE));
    let error = gate.write(0, 0, &new, true).unwrap_err();
    assert_eq!(error.error.raw_os_error(), Some(5));
    let done = usize::try_from(error.done).unwrap();
    assert!(done < new.len() && done.is_multiple_of(PIECE), "{error}");
    let what = format!("write of {} bytes at byte 0 of {}: ", new.len(), path.display());
    assert!(error.to_string().starts_with(&what), "{error}");
    let after = contents(&path);
    assert!(after[..done] == new[..done]);
    assert!(after[done + PIECE..] == before[done + PIECE..], "nothing is sent after an error");
    assert_eq!(gate.stats().unwrap().long.errors, 1);
}

/// A long write among short ones that never pause; how many of those ended before it did, and how
/// many of its pieces went while one of them waited.
fn during_a_flood(guard: &str) -> (u32, u64) {
    const MOST: u32 = 600;
    let folder = Folder::new(&format!("flood-{guard}").replace('=', "-"));
    // Long enough that five of the six wait whenever a request ends, also on a busy machine.
    let device = folder.device("model = \"fixed\"\nbase = \"1ms\"");
    let sets = ["split=10000B".into(), guard.into()].into();
    let emulate = Some(device);
    let gate = Gate::open(&GateOptions { sets, emulate, ..GateOptions::default() }).unwrap();
    let (short, over) = (AtomicU32::new(0), AtomicBool::new(false));
    std::thread::scope(|scope| {
        for number in 0..6 {
            let (gate, short, over) = (&gate, &short, &over);
            scope.spawn(move || {
                while !over.load(Ordering::Relaxed) && short.load(Ordering::Relaxed) < MOST {
                    gate.write(0, number * 1000, &[7; 1000], true).unwrap();
                    short.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        // On a busy machine the long write would be over before the first short one.
        while short.load(Ordering::Relaxed) < 6 {
            std::thread::yield_now();
        }
        gate.write(0, 1_000_000, &vec![8; 400_000], true).unwrap();
        over.store(true, Ordering::Relaxed);
    });
    (short.into_inner(), gate.stats().unwrap().long_first)
}

#[test]
fn a_flood_of_short_writes_stops_a_long_one_only_without_the_guard() {
    let (_, passed) = during_a_flood("guard=off");
    assert_eq!(passed, 0, "no piece of a long one goes before a short one");
    let (short, passed) = during_a_flood("guard.after=4");
    assert!(passed > 0, "the guard lets some by");
    assert!(short < 600, "{short} short ones ended before 40 pieces, four for each at most");
}

#[test]
fn what_does_not_fit_is_refused_with_its_reason() {
    let folder = Folder::new("refused");
    let gate = open(vec![folder.owned("data")], "size-priority", &[]);
    let beyond = gate.write(0, SIZE - 1, &[1, 2], false).unwrap_err();
    assert_eq!(beyond.error.kind(), std::io::ErrorKind::InvalidInput);
    assert!(beyond.to_string().contains("outside its 1048576 bytes; 0 bytes are done"), "{beyond}");
    assert_eq!(
        gate.write(1, 0, &[1], false).unwrap_err().error.kind(),
        std::io::ErrorKind::NotFound
    );
    assert_eq!(gate.read(0, SIZE - 2, 10).unwrap().len(), 2, "there is no more to read");
    gate.write(0, 0, &[], true).unwrap();
    drop(gate);

    let own = folder.adopted("own", b"an application's");
    let with = |options: GateOptions, said: &str, code: u8| {
        let failure = refused(&options);
        assert!(failure.to_string().contains(said), "{failure}");
        assert_eq!(failure.exit_code(), code, "{failure}");
    };
    let none = GateOptions::default;
    with(none(), "a gate without a file", 2);
    let not_ours = GateFile { adopt: false, ..own.clone() };
    with(GateOptions { files: vec![not_ours], ..none() }, "without Penstock's mark", 5);
    let both = GateFile { create: Some("1MiB".into()), ..own.clone() };
    with(GateOptions { files: vec![both], ..none() }, "adopt does not go with create", 2);
    let files = vec![own];
    let (policy, sets) = ("size-prio".into(), vec!["splt=1KiB".into()]);
    with(GateOptions { files: files.clone(), policy, ..none() }, "unknown policy", 2);
    with(GateOptions { files: files.clone(), sets, ..none() }, "splt", 2);
    let timeout = Some("0s".into());
    with(GateOptions { files: files.clone(), timeout, ..none() }, "a length of time above zero", 2);
    for engine in ["libaio", "posix-aio"] {
        let (files, engine) = (files.clone(), Some(engine.into()));
        with(GateOptions { files, engine, ..none() }, "other threads cannot wake", 77);
    }
    for engine in ["psync", "vsync", "mmap"] {
        let (files, engine) = (files.clone(), Some(engine.into()));
        with(GateOptions { files, engine, ..none() }, "its calls block the thread", 77);
    }
}

#[test]
fn several_files_have_one_policy_and_keep_their_own_bytes() {
    let folder = Folder::new("several");
    let files = vec![folder.adopted("a", b""), folder.adopted("b", b"bbbb")];
    let gate = open(files, "size-priority", &[]);
    gate.write(0, 2, b"xy", true).unwrap();
    gate.write(1, 1, b"zz", false).unwrap();
    gate.flush(1).unwrap();
    assert_eq!(std::fs::read(folder.0.join("a")).unwrap(), b"\0\0xy");
    assert_eq!(std::fs::read(folder.0.join("b")).unwrap(), b"bzzb");
    let stats = gate.stats().unwrap();
    assert_eq!((stats.short.requests, stats.flush.requests), (2, 1));
}
