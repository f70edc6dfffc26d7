//! Gates compared with memory: exactly the named bytes change, and an error says how far its
//! request came.

use std::fs;
use std::io::ErrorKind;
use std::path::PathBuf;
use std::sync::Mutex;

use penstock_run::gate::{Gate, GateError, GateFile, GateOptions};

use crate::generate::{Asked, GateCase, Order, Owner};
use crate::scratch::Scratch;

/// Time after which a gate is considered not to answer.
const PATIENCE: &str = "20s";
/// The error of a failing model.
const EIO: i32 = 5;

/// Returns the case that `bytes` encode, as text.
pub fn gate_text(bytes: &[u8]) -> String {
    format!("{:#?}", GateCase::of(bytes))
}

/// Compares the gate that `bytes` encode, and all requests to it, with memory.
pub fn gate(bytes: &[u8]) {
    let case = GateCase::of(bytes);
    if std::env::var_os("PENSTOCK_SHOW").is_some() {
        eprintln!("{case:#?}");
    }
    let folder = Scratch::on_disk();
    let Some((gate, mut files)) = open(&case, &folder) else { return };
    match &case.asked {
        Asked::InTurn(orders) => {
            for (number, &order) in orders.iter().enumerate() {
                in_turn(&case, &gate, &mut files, order, number as u64);
            }
        }
        &Asked::SideBySide { each, count, threads } => {
            side_by_side(&case, &gate, &mut files[0], each, count, threads);
        }
    }
    gate.close();
    let refused = gate.write(0, 0, b"late", false).expect_err("it is closed");
    assert_eq!((refused.error.kind(), refused.done), (ErrorKind::BrokenPipe, 0), "{refused}");
    files.iter().for_each(File::same);
    super::run::count(1);
}

/// A file with its expected content.
struct File {
    path: PathBuf,
    owner: Owner,
    bytes: Vec<u8>,
}

impl File {
    /// Returns the present content; a file that Penstock made has its mark behind its bytes.
    fn found(&self) -> Vec<u8> {
        let mut bytes = fs::read(&self.path).unwrap();
        if self.owner == Owner::Penstock {
            assert!(bytes.len() >= self.bytes.len());
            bytes.truncate(self.bytes.len());
        }
        bytes
    }

    fn same(&self) {
        assert!(self.found() == self.bytes, "{} is not as in memory", self.path.display());
    }

    /// Takes over the content after a failed write of `new` at `at`. The first `done` bytes are
    /// written. Each byte within `loose` bytes behind them is as before or as written, and all
    /// others are as before.
    fn after_failure(&mut self, at: usize, new: &[u8], done: usize, loose: usize) {
        let (found, before) = (self.found(), std::mem::take(&mut self.bytes));
        let old = |place: usize| before.get(place).copied().unwrap_or(0);
        assert!(found.len() <= before.len().max(at + new.len()), "it grew by more than was asked");
        assert!(found.len() >= before.len().max(at + done).min(found.len().max(before.len())));
        for (place, &byte) in found.iter().enumerate() {
            let behind = place.checked_sub(at).filter(|&behind| behind < new.len());
            let holds = match behind {
                Some(behind) if behind < done => byte == new[behind],
                Some(behind) if behind < done.saturating_add(loose) => {
                    byte == new[behind] || byte == old(place)
                }
                _ => byte == old(place),
            };
            assert!(holds, "byte {place} after {done} of {} at {at} were done", new.len());
        }
        self.bytes = found;
    }
}

/// Returns bytes that identify `number` and their place.
fn pattern(number: u64, len: usize) -> Vec<u8> {
    (0..len).map(|at| (number * 31 + at as u64 * 7 + at as u64 / 251 + 1) as u8).collect()
}

fn open(case: &GateCase, folder: &Scratch) -> Option<(Gate, Vec<File>)> {
    let mut files = Vec::new();
    let mut asked = Vec::new();
    for (number, &(size, owner)) in case.files.iter().enumerate() {
        let path = folder.path(&format!("{number}.img"));
        let create = (owner == Owner::Penstock).then(|| format!("{size}B"));
        if owner == Owner::Application {
            fs::write(&path, pattern(90 + number as u64, size as usize)).unwrap();
        }
        let adopt = owner == Owner::Application;
        asked.push(GateFile { path: path.clone(), create, adopt, ..GateFile::default() });
        files.push(File { path, owner, bytes: vec![0; size as usize] });
    }
    let model = case.model.as_ref().map(|keys| {
        folder.write("model.toml", format!("[device]\n{keys}").as_bytes()).display().to_string()
    });
    let options = GateOptions {
        files: asked,
        policy: case.policy.clone(),
        sets: case.split.map(|split| format!("split={split}B")).into_iter().collect(),
        emulate: model,
        engine: case.threads.then(|| "threads".into()),
        depth: case.depth,
        timeout: Some(PATIENCE.into()),
        ..GateOptions::default()
    };
    let gate = match Gate::open(&options) {
        Ok(gate) => gate,
        Err(failure) => {
            // This machine has no such engine.
            assert_eq!(failure.exit_code(), 77, "{failure}");
            return None;
        }
    };
    for file in &mut files {
        file.bytes = file.found();
    }
    Some((gate, files))
}

/// Returns the number of bytes from the first failed one on that may be written all the same. Where
/// pieces go one at a time these are at most the bytes of one piece, as no piece is sent after it.
/// With several in flight the others may be answered, and followed by more, before the failure is.
fn loose(case: &GateCase) -> usize {
    case.split.filter(|_| case.depth == 1).map_or(usize::MAX, |split| split as usize)
}

fn in_turn(case: &GateCase, gate: &Gate, files: &mut [File], order: Order, number: u64) {
    let (Order::Write(file, ..) | Order::Read(file, ..) | Order::Flush(file)) = order;
    let Some(known) = files.get_mut(file as usize) else {
        let found = match order {
            Order::Write(_, at, len, sync) => {
                gate.write(file, at, &vec![1; len as usize], sync).map(drop)
            }
            Order::Read(_, at, len) => gate.read(file, at, len as usize).map(drop),
            Order::Flush(_) => gate.flush(file),
        };
        assert_eq!(found.expect_err("no such file").error.kind(), ErrorKind::NotFound);
        return;
    };
    match order {
        Order::Write(_, at, len, sync) => {
            let new = pattern(number, len as usize);
            write(case, gate, file, known, (at as usize, &new, sync));
        }
        Order::Read(_, at, len) => {
            let (at, len) = (at as usize, len as usize);
            match gate.read(file, at as u64, len) {
                Ok(read) => {
                    let from = at.min(known.bytes.len());
                    let to = (from + len).min(known.bytes.len());
                    assert!(read == known.bytes[from..to], "{len} bytes at {at}");
                }
                Err(error) => failed_as_the_model(case, &error),
            }
        }
        // Models never fail a flush.
        Order::Flush(_) => gate.flush(file).unwrap_or_else(|error| panic!("{error}")),
    }
    files.iter().for_each(File::same);
}

fn write(
    case: &GateCase,
    gate: &Gate,
    number: u32,
    file: &mut File,
    (at, new, sync): (usize, &[u8], bool),
) {
    let behind = file.owner == Owner::Penstock && at + new.len() > file.bytes.len();
    match gate.write(number, at as u64, new, sync) {
        Ok(()) => {
            assert!(!behind, "{} bytes at {at} do not fit", new.len());
            if !new.is_empty() {
                let end = (at + new.len()).max(file.bytes.len());
                file.bytes.resize(end, 0);
                file.bytes[at..at + new.len()].copy_from_slice(new);
            }
        }
        Err(error) if behind => {
            assert_eq!((error.error.kind(), error.done), (ErrorKind::InvalidInput, 0), "{error}");
        }
        Err(error) => {
            failed_as_the_model(case, &error);
            assert!(error.done < new.len() as u64, "all is done: {error}");
            file.after_failure(at, new, error.done as usize, loose(case));
        }
    }
}

fn failed_as_the_model(case: &GateCase, error: &GateError) {
    let fails = case.model.as_ref().is_some_and(|model| !model.contains("errors = \"0%\""));
    assert!(fails && error.error.raw_os_error() == Some(EIO), "{error}");
}

/// Writes the places of one file from several threads in turn, neighbours in one block among them.
fn side_by_side(
    case: &GateCase,
    gate: &Gate,
    file: &mut File,
    each: u64,
    count: u64,
    threads: u64,
) {
    let failed = Mutex::new(Vec::new());
    let place = |number: u64| number * each;
    let fits = |number: &u64| {
        file.owner == Owner::Application || place(number + 1) <= file.bytes.len() as u64
    };
    let all: Vec<u64> = (0..count).filter(fits).collect();
    std::thread::scope(|scope| {
        for thread in 0..threads {
            let (failed, all) = (&failed, &all);
            scope.spawn(move || {
                for &number in all.iter().filter(|&number| number % threads == thread) {
                    let new = pattern(number, each as usize);
                    if let Err(error) = gate.write(0, place(number), &new, number % 2 == 0) {
                        failed_as_the_model(case, &error);
                        failed.lock().unwrap().push((number, error.done));
                    }
                }
            });
        }
    });
    let failed = failed.into_inner().unwrap();
    let found = file.found();
    let old = std::mem::replace(&mut file.bytes, found);
    for number in all {
        let (from, new) = (place(number) as usize, pattern(number, each as usize));
        let failure = failed.iter().find(|(other, _)| *other == number);
        let done = failure.map_or(each, |(_, done)| *done) as usize;
        for (behind, &byte) in new.iter().enumerate() {
            let found = file.bytes.get(from + behind).copied();
            let before = old.get(from + behind).copied().unwrap_or(0);
            let holds = match found {
                Some(found) if behind < done => found == byte,
                Some(found) => found == byte || found == before,
                None => behind >= done,
            };
            assert!(holds, "byte {behind} of the write numbered {number}, {done} done");
        }
    }
    let written = (count * each) as usize;
    assert!(file.bytes.len() <= old.len().max(written));
    let rest = old.len().min(written)..old.len();
    assert!(file.bytes[rest.clone()] == old[rest], "nothing behind them changes");
}
