//! A pass: a worker does one test over its file.

use std::io;
use std::ops::RangeInclusive;
use std::os::unix::ffi::OsStrExt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use rustix::fs::OFlags;

use crate::engine::error::EngineError;
use crate::filling::SECTOR;
use crate::passes::calls::BlockingCalls;
use crate::passes::data::PassData;
use crate::passes::error::{PassError, RecordFailed};
use crate::passes::file_test::{CallKind, FileTest, Moves};
use crate::passes::form::{Form, RecordBuffers};
use crate::passes::in_flight::RecordsInFlight;
use crate::passes::mapping::MappedCopies;
use crate::passes::order::{RecordOrder, Records};
use crate::passes::stream::{self, FileStream};
use crate::record::stamp::{self, Stamp, file_number};
use crate::stage::clock::monotonic;
use crate::targets::TargetError;
use crate::targets::pass_file::PassFile;

/// The form of the calls of tests that have no form of their own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CallForm {
    /// Plain calls.
    Calls,
    /// Copies from and to a mapping.
    Mapped,
    /// Asynchronous calls of POSIX.
    InFlight {
        /// The number of records in flight.
        depth: u32,
        /// Whether records are copied from and to memory of their own.
        copies: bool,
    },
}

/// The settings of all passes of a plan.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "options of a command")]
pub struct PassSettings {
    /// The form of the calls.
    pub form: CallForm,
    /// Records from one to the next of a strided read.
    pub stride: u64,
    /// Whether calls go past the page cache.
    pub direct: bool,
    /// Whether writes return when their data is on the device.
    pub sync: bool,
    /// Whether the time has the flush at the end.
    pub include_flush: bool,
    /// Whether the time has the close at the end.
    pub include_close: bool,
    /// Whether the first worker that ends stops the others.
    pub stonewall: bool,
    /// Whether data is verified.
    pub verify: bool,
    /// Whether the file's pages are dropped from the page cache before each pass.
    pub drop_cache: bool,
    /// The seed of orders and data.
    pub seed: u64,
}

/// Signals between the workers of a test.
#[derive(Debug, Default)]
pub struct PassSignals {
    /// Whether no worker is to make a further call.
    stopped: AtomicBool,
    /// Whether nothing more is to be done, also after the time.
    abandoned: AtomicBool,
}

impl PassSignals {
    /// Ends the test: its results are not wanted.
    pub fn abandon(&self) {
        self.abandoned.store(true, Ordering::Relaxed);
        self.stopped.store(true, Ordering::Relaxed);
    }
}

/// The number of records that a worker has moved, on a cache line of its own.
#[derive(Debug, Default)]
#[repr(align(128))]
pub struct RecordsMoved(AtomicU64);

impl RecordsMoved {
    /// Returns the number.
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// The passes whose data may be in a file.
#[derive(Clone, Debug)]
pub struct PassHistory {
    data: RangeInclusive<u32>,
    /// The number of the next pass that writes.
    next: u32,
}

impl Default for PassHistory {
    /// Returns the history of a file of which nothing is known.
    fn default() -> Self {
        Self { data: 1..=u32::MAX, next: 1 }
    }
}

impl PassHistory {
    /// Returns the history of `file`, which this run has not written yet, from its first block.
    pub fn of(file: &PassFile) -> Self {
        let mut block = [0; SECTOR];
        let stamped = file.begins(&mut block).then(|| stamp::read(&block)).flatten();
        let next = stamped.map_or(1, |stamped| stamped.version.saturating_add(1));
        Self { next, ..Self::default() }
    }

    /// Notes a pass that has written to all of the file, or to a part of it.
    pub fn written(&mut self, is_whole: bool) {
        self.data = if is_whole {
            self.next..=self.next
        } else {
            *self.data.start()..=(*self.data.end()).max(self.next)
        };
        self.next = self.next.saturating_add(1);
    }

    /// Returns the passes whose data a pass may read, and which ends with its own if it writes.
    fn during(&self, test: FileTest) -> RangeInclusive<u32> {
        match test.moves {
            Moves::Reads => self.data.clone(),
            _ => *self.data.start()..=self.next,
        }
    }
}

/// A pass that has ended, and its figures.
pub struct EndedPass<'a> {
    file: &'a PassFile,
    settings: &'a PassSettings,
    test: FileTest,
    record: u64,
    count: u64,
    data: PassData,
    /// Records that were moved in its time.
    pub records: u64,
    /// The machine's clock before its first call, in nanoseconds.
    pub began_ns: u64,
    /// The machine's clock at its end.
    pub ended_ns: u64,
}

/// A pass whose file is open and whose memory is there.
pub struct Pass<'a> {
    file: &'a PassFile,
    settings: &'a PassSettings,
    test: FileTest,
    record: u64,
    count: u64,
    records: Records,
    data: PassData,
    form: Box<dyn Form>,
}

impl<'a> Pass<'a> {
    /// Prepares `test` over the first `count` records of `record` bytes of `file`, whose history is `history`.
    ///
    /// # Errors
    /// [`PassError`]: the file cannot be opened, is too short, or has been emptied by another program; there is
    /// not enough memory.
    pub fn prepare(
        file: &'a PassFile,
        history: &PassHistory,
        settings: &'a PassSettings,
        test: FileTest,
        (record, count): (u64, u64),
    ) -> Result<Self, PassError> {
        let size = record * count;
        if test.is_initial {
            file.empty()?;
            if settings.form == CallForm::Mapped && test.calls == CallKind::Plain {
                file.extend(size)?;
            }
        } else {
            file.check_length(size)?;
        }
        if settings.drop_cache {
            file.drop_cached(size)
                .map_err(|error| TargetError::system(file.path(), "drop its pages", error))?;
        }
        let data = if settings.verify {
            let name = file.path().file_name().unwrap_or_default();
            let stamp = Stamp { file: file_number(name.as_bytes()), seed: settings.seed };
            PassData::stamped(stamp, history.during(test))
        } else {
            PassData::any()
        };
        let form = form(file, settings, test, record, size)?;
        let records = Records::new(test.order, count, settings.stride, settings.seed);
        Ok(Self { file, settings, test, record, count, records, data, form })
    }

    /// Moves the records, until another worker stops it.
    ///
    /// # Errors
    /// [`PassError`]: a call failed; data differs from what was written.
    pub fn go(
        mut self,
        signals: &PassSignals,
        moved: &RecordsMoved,
    ) -> Result<EndedPass<'a>, PassError> {
        let Self { file, settings, test, record, count, .. } = self;
        let began_ns = monotonic();
        let records = if test.writes() {
            self.all(signals, moved, |form, at, data| form.write(at, data))
        } else {
            self.all(signals, moved, |form, at, data| form.read(at, data))
        };
        let records = records.map_err(|failed| failed.of(file.path(), record))?;
        if settings.stonewall && records == count {
            signals.stopped.store(true, Ordering::Relaxed);
        }
        let Self { mut form, data, .. } = self;
        if settings.include_flush && test.writes() {
            form.flush().map_err(|error| TargetError::system(file.path(), "flush it", error))?;
        }
        // Dropping it closes the file.
        let open = (!settings.include_close).then_some(form);
        let ended_ns = monotonic();
        drop(open);
        Ok(EndedPass { file, settings, test, record, count, data, records, began_ns, ended_ns })
    }

    /// Moves records until none is left or another worker has stopped it, and returns their number.
    #[inline]
    fn all(
        &mut self,
        signals: &PassSignals,
        moved: &RecordsMoved,
        call: impl Fn(&mut dyn Form, u64, &mut PassData) -> Result<(), RecordFailed>,
    ) -> Result<u64, RecordFailed> {
        let Self { form, data, records, record, file, .. } = self;
        let (start, mut number) = (file.start(), 0);
        for place in records {
            if signals.stopped.load(Ordering::Relaxed) {
                break;
            }
            let at = start + place * *record;
            call(&mut **form, at, data)?;
            number += 1;
            moved.0.store(number, Ordering::Relaxed);
        }
        form.settle(data)?;
        Ok(number)
    }
}

impl EndedPass<'_> {
    /// Ends the pass once all workers have their figures. An initial test writes the rest of its file, which later
    /// tests read, and all that was written goes to the device. Returns whether the whole file has its data.
    ///
    /// # Errors
    /// [`PassError`]: a call failed.
    pub fn finish(&self, signals: &PassSignals) -> Result<bool, PassError> {
        let Self { file, test, .. } = self;
        if test.is_initial {
            self.write_rest(signals)?;
        }
        if test.writes() {
            file.flush().map_err(|error| TargetError::system(file.path(), "flush it", error))?;
        }
        let is_over_all = test.writes() && test.order != RecordOrder::OneSpot;
        Ok(test.is_initial || (is_over_all && self.records == self.count))
    }

    /// Writes the records that an initial test has left.
    fn write_rest(&self, signals: &PassSignals) -> Result<(), PassError> {
        let Self { file, settings, record, .. } = self;
        if self.records == self.count {
            return Ok(());
        }
        let mut flags = OFlags::WRONLY;
        flags.set(OFlags::DIRECT, settings.direct);
        let opened = file.reopen(flags);
        let opened = opened.map_err(|error| TargetError::system(file.path(), "open it", error))?;
        let buffers = RecordBuffers::new(1, *record, settings.seed)?;
        let mut calls = BlockingCalls::new(opened, CallKind::Positioned, buffers);
        let mut data = self.data.clone();
        for number in self.records..self.count {
            if signals.abandoned.load(Ordering::Relaxed) {
                break;
            }
            let written = calls.write(file.start() + number * record, &mut data);
            written.map_err(|failed| failed.of(file.path(), *record))?;
        }
        Ok(())
    }
}

/// Opens `file` for `test`, with the form of calls that it has.
fn form(
    file: &PassFile,
    settings: &PassSettings,
    test: FileTest,
    record: u64,
    size: u64,
) -> Result<Box<dyn Form>, PassError> {
    let is_mapped = settings.form == CallForm::Mapped && test.calls == CallKind::Plain;
    let mut flags = match test.moves {
        Moves::Reads => OFlags::RDONLY,
        // Pages that are written can be read too.
        Moves::Writes if !is_mapped => OFlags::WRONLY,
        _ => OFlags::RDWR,
    };
    flags.set(OFlags::DIRECT, settings.direct);
    flags.set(OFlags::SYNC, settings.sync && test.writes());
    let open = || {
        let opened = file.reopen(flags);
        opened.map_err(|error| TargetError::system(file.path(), "open it", error))
    };
    let buffers = |count| RecordBuffers::new(count, record, settings.seed);
    let is_only_read = test.moves == Moves::Reads;
    Ok(match (test.calls, settings.form) {
        (CallKind::Plain, CallForm::Mapped) => {
            let range = (file.start(), file.start() + size);
            Box::new(MappedCopies::new(file.path(), open()?, range, is_only_read, buffers(1)?)?)
        }
        (CallKind::Plain, CallForm::InFlight { depth, copies }) => {
            Box::new(RecordsInFlight::new(open()?, buffers(depth)?, depth, copies))
        }
        (CallKind::Stream, _) => {
            let buffers = buffers(stream::BUFFERS)?;
            let stream = FileStream::new(open()?, is_only_read, settings.direct, buffers);
            Box::new(stream.map_err(no_stream)?)
        }
        (kind, _) => Box::new(BlockingCalls::new(open()?, kind, buffers(1)?)),
    })
}

fn no_stream(source: io::Error) -> EngineError {
    EngineError::System { doing: "open a stream", source }
}
