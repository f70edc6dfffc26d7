//! A session of tests over the same files.

use penstock_live::queue_settings::{self, Held};
use penstock_live::{
    EndedPass, FileTest, FirstUse, Pass, PassFile, PassHistory, PassPlace, PassSignals,
    RecordsMoved,
};

use super::options::{FileTestOptions, check_record, test};
use crate::failure::Failure;
use crate::place::target::{self, Identity, Named};
use crate::pool::{self, Message, Reports, StartLine, Ticket};
use crate::result::{FileTestResult, WorkerResult};

/// Open files, on which tests run one after another. Files that were made for it are removed when it is dropped.
pub struct FileTestSession {
    options: FileTestOptions,
    workers: Vec<WorkerFile>,
    /// Gives the disk below its own scheduler back.
    _held: Option<Held>,
}

/// The file of a worker.
struct WorkerFile {
    file: PassFile,
    history: PassHistory,
    /// The bytes that tests may read.
    bytes: u64,
}

impl FileTestSession {
    /// Checks `options` and all files, and creates those that are missing. `go_on` is called while the file of a loop
    /// device is made.
    ///
    /// # Errors
    /// [`Failure`]: options that do not go together; a file that is in the way, missing or too short; not enough room;
    /// records that direct I/O cannot move. Nothing is written, and no file that was made is left.
    pub fn open(
        options: FileTestOptions,
        go_on: &mut dyn FnMut() -> bool,
    ) -> Result<Self, Failure> {
        let first = options.check()?;
        let (files, held) = match &options.target.on {
            Some(on) => on_device(on, first, &options, go_on)?,
            None => (files(first, &options)?, None),
        };
        if options.settings.direct {
            files.iter().try_for_each(|file| file.check_direct(&options.records))?;
        }
        let worker = |file: PassFile| {
            // A block that was read for nothing would be in the page cache.
            let verify = options.settings.verify;
            let history = if verify { PassHistory::of(&file) } else { PassHistory::default() };
            WorkerFile { file, history, bytes: options.size }
        };
        let workers = files.into_iter().map(worker).collect();
        Ok(Self { options, workers, _held: held })
    }

    /// Runs the test called `name` on the first `threads` files, with records of `record` bytes and files of at most
    /// `size`. `progress` is called several times a second with the fraction that is done; `false` ends the test.
    ///
    /// # Errors
    /// [`Failure`]: a test or a size that the session was not opened for; a call that failed; data that differs from
    /// what was written; the end by `progress`.
    pub fn run(
        &mut self,
        name: &str,
        threads: u32,
        (record, size): (u64, u64),
        progress: &mut dyn FnMut(f64) -> bool,
    ) -> Result<FileTestResult, Failure> {
        let test = self.known(name, threads, record, size)?;
        let (count, signals) = (size / record, PassSignals::default());
        let ended = self.passes(test, threads as usize, (record, count), &signals, progress)?;
        let worker = |pass: &EndedPass<'_>| WorkerResult {
            bytes: pass.records * record,
            calls: pass.records,
            ns: pass.ended_ns - pass.began_ns,
        };
        let result = FileTestResult {
            test: test.name,
            threads,
            record_bytes: record,
            file_bytes: count * record,
            parent_ns: parent_ns(&ended),
            workers: ended.iter().map(worker).collect(),
        };
        // What is written after the time would take the disk from workers that are still measured.
        let are_whole = finish(test, &ended, &signals, progress)?;
        let readers = self.readers(threads as usize);
        for (number, (worker, is_whole)) in self.workers.iter_mut().zip(are_whole).enumerate() {
            worker.passed(test.of_worker(number, readers), result.file_bytes, is_whole);
        }
        Ok(result)
    }

    /// Ends the session: keeps the files that were made for it, if the options say so, or removes them.
    ///
    /// # Errors
    /// [`Failure`]: a file cannot be marked as kept.
    pub fn finish(self) -> Result<(), Failure> {
        if self.options.keep {
            for worker in self.workers {
                worker.file.keep()?;
            }
        }
        Ok(())
    }

    /// Returns the test called `name`, if the session was opened for it.
    fn known(&self, name: &str, threads: u32, record: u64, size: u64) -> Result<FileTest, Failure> {
        let (options, test) = (&self.options, test(name)?);
        check_record(record, size)?;
        let is_known = options.tests.iter().any(|known| known == name)
            && (1..=options.threads).contains(&threads)
            && options.records.contains(&record)
            && size <= options.size;
        if is_known {
            return Ok(test);
        }
        let message = format!(
            "the files were not opened for {name} with {threads} threads, records of {record} bytes \
             and files of {size} bytes"
        );
        Err(Failure::wrong(message, "name every test, record and the largest size beforehand"))
    }

    /// Returns how many of `threads` workers read in a mix.
    fn readers(&self, threads: usize) -> usize {
        (threads * self.options.read_percent as usize + 50) / 100
    }

    /// Lets each of the first `threads` workers do `test` over `count` records of `record` bytes.
    fn passes(
        &self,
        test: FileTest,
        threads: usize,
        (record, count): (u64, u64),
        signals: &PassSignals,
        progress: &mut dyn FnMut(f64) -> bool,
    ) -> Result<Vec<EndedPass<'_>>, Failure> {
        let (line, settings) = (StartLine::default(), &self.options.settings);
        let moved: Vec<RecordsMoved> = (0..threads).map(|_| RecordsMoved::default()).collect();
        let work =
            |number: usize, start: Ticket<'_>, reports: &Reports<'_, (), PassOutcome<'_>>| {
                let WorkerFile { file, history, .. } = &self.workers[number];
                let test = test.of_worker(number, self.readers(threads));
                let pass = Pass::prepare(file, history, settings, test, (record, count));
                // Before its ticket arrives, so that no other worker begins.
                let pass = pass.inspect_err(|_| signals.abandon())?;
                start.wait();
                if reports.stopped() {
                    signals.abandon();
                }
                Ok(pass.go(signals, &moved[number])?)
            };
        let refused = |error| Err(Failure::here("start a thread for each worker", &error));
        let mut ended: Vec<_> = (0..threads).map(|_| None).collect();
        let (mut failed, mut goes_on) = (None, true);
        pool::one_each(threads, &line, work, refused, |message| {
            match message {
                Message::Done(number, Ok(pass)) => ended[number] = Some(pass),
                Message::Done(_, Err(failure)) => drop(failed.get_or_insert(failure)),
                Message::Progress(..) | Message::Beat => {}
            }
            let records: u64 = moved.iter().map(RecordsMoved::get).sum();
            goes_on &= progress(records as f64 / (count * threads as u64) as f64);
            if !goes_on || failed.is_some() {
                signals.abandon();
            }
            goes_on
        });
        match failed {
            Some(failure) => Err(failure),
            None if goes_on => Ok(ended.into_iter().flatten().collect()),
            None => Err(was_ended(test)),
        }
    }
}

/// A pass that has ended, or the reason why it did not.
type PassOutcome<'a> = Result<EndedPass<'a>, Failure>;

impl WorkerFile {
    /// Notes that `test` went over its first `bytes`, and whether all of them have the data of that test.
    fn passed(&mut self, test: FileTest, bytes: u64, is_whole: bool) {
        if test.is_initial() {
            self.bytes = bytes;
        }
        if test.writes() {
            self.history.written(is_whole && bytes >= self.bytes);
        }
    }
}

/// Finishes the passes of `test`, and returns whether the file of each has its data only.
fn finish(
    test: FileTest,
    ended: &[EndedPass<'_>],
    signals: &PassSignals,
    progress: &mut dyn FnMut(f64) -> bool,
) -> Result<Vec<bool>, Failure> {
    let finished = pool::map(ended, |pass| pass.finish(signals), &mut || {
        let goes_on = progress(1.0);
        if !goes_on {
            signals.abandon();
        }
        goes_on
    });
    let finished = finished.map_err(|error| Failure::here("start a thread", &error))?;
    if finished.len() < ended.len() {
        return Err(was_ended(test));
    }
    finished.into_iter().map(|is_whole| Ok(is_whole?)).collect()
}

fn was_ended(test: FileTest) -> Failure {
    Failure::run(format_args!("{} was ended", test.name))
}

/// Returns the nanoseconds from the first begin of a worker to the last end.
fn parent_ns(ended: &[EndedPass<'_>]) -> u64 {
    let began = ended.iter().map(|pass| pass.began_ns).min();
    let last = ended.iter().map(|pass| pass.ended_ns).max();
    last.zip(began).map_or(0, |(last, began)| last - began)
}

/// Opens a file for each worker, after all are checked.
fn files(first: FirstUse, options: &FileTestOptions) -> Result<Vec<PassFile>, Failure> {
    let (paths, size) = (&options.files[..options.threads as usize], options.size);
    if let Some((path, _)) = paths.iter().enumerate().find_map(|(number, path)| {
        let identity = Identity::of(path);
        let other = paths[..number].iter().find(|other| Identity::of(other) == identity);
        other.map(|other| (path, other))
    }) {
        let message =
            format!("{} is the file of two workers; expected one for each", path.display());
        return Err(Failure::wrong(message, "name another file with -F"));
    }
    if options.keep && first == FirstUse::Creates {
        for record in &options.records {
            PassFile::check_size(&paths[0], size / record * record)?;
        }
    }
    let place = |path| PassPlace::find(path, first, size);
    let places = paths.iter().map(|path| place(path)).collect::<Result<Vec<_>, _>>()?;
    if first == FirstUse::Creates {
        PassPlace::check_room(&places, size)?;
    }
    Ok(places.into_iter().map(PassPlace::open).collect::<Result<_, _>>()?)
}

/// Opens the device `on` and gives each worker a range of it.
fn on_device(
    on: &str,
    first: FirstUse,
    options: &FileTestOptions,
    go_on: &mut dyn FnMut() -> bool,
) -> Result<(Vec<PassFile>, Option<Held>), Failure> {
    let (_, is_looped) = target::unlooped(on);
    if !is_looped && !target::is_device(on) {
        let message = format!("--on {on} is no block device");
        let hint = "name files with -F, or a device: its path, or loop: and the path of a file";
        return Err(Failure::wrong(message, hint));
    }
    if options.keep {
        return Err(Failure::wrong("-w does not go with a device", "what was written stays there"));
    }
    if options.target.read_only && first != FirstUse::Reads {
        return Err(Failure::wrong(
            "--read-only does not go with tests that write",
            "leave it out",
        ));
    }
    let Named { target, .. } = target::open(on, &[], &options.target, &mut |_, _| go_on())?;
    let (threads, size) = (u64::from(options.threads), options.size);
    let starts: Vec<u64> = match &options.starts[..] {
        [] => (0..threads).map(|number| number * size).collect(),
        starts => starts[..threads as usize].to_vec(),
    };
    let mut in_order = starts.clone();
    in_order.sort_unstable();
    let overlap = in_order.windows(2).find(|pair| pair[0].saturating_add(size) > pair[1]);
    if let Some(&[first, second, ..]) = overlap {
        let message =
            format!("{on}: ranges of {size} bytes from {first} and from {second} overlap");
        return Err(Failure::wrong(message, "put them further apart, or use a smaller -s"));
    }
    let block = u64::from(target.unit());
    if let Some(odd) = starts.iter().find(|start| !start.is_multiple_of(block)) {
        let message =
            format!("{on}: found a range from byte {odd}; expected a multiple of {block}");
        return Err(Failure::wrong(message, "let it begin with a block"));
    }
    let needed = in_order.last().map_or(0, |last| last.saturating_add(size));
    if needed > target.capacity() {
        let message = format!("{on}: found {} bytes; expected {needed}", target.capacity());
        return Err(Failure::wrong(message, "use a smaller -s, or fewer threads"));
    }
    let step = options.scheduler.as_slice();
    let held = if step.is_empty() { None } else { Some(queue_settings::hold(&[&target], step)?) };
    Ok((starts.into_iter().map(|start| PassFile::on_device(&target, start)).collect(), held))
}
