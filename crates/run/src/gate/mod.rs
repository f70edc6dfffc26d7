//! The gate: an application's own writes, short ones first.
//!
//! Use it where a program has both online work, whose writes are short and waited for, and batch
//! work, whose writes are long. All requests go through one policy, the same that jobs run, and one
//! thread per gate sends what the policy decides. Any thread may call the gate, and waits for its
//! answer.
//!
//! Always true: exactly the named bytes change, at any place and of any length. A request that
//! fails says how many bytes from its first on are certainly done, and no further piece of it is
//! sent. Requests made before the gate is closed are carried out, unless a disk does not answer:
//! that ends the gate, and every waiting or later call fails with that error. No order is promised
//! between concurrent requests, and a long one is not atomic against short ones: a caller must not
//! write one place twice at a time.
//!
//! Source: Tanabe and others, "Disk I/O Control Mechanism for Online and Batch Processing" (2019),
//! section IV, which has it in the kernel.

mod block_node;
mod bounds;
mod by_class;
mod carrier;
mod counters;
mod dispatcher;
mod files;
mod inbox;
mod levels;
mod locks;
mod open;
mod register;
mod served;
mod served_target;

use std::fmt;
use std::io;
use std::mem;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use penstock_core::{ClassId, Op, Prio, Time};
use penstock_live::{Handover, Stopwatch, Target, User};

use self::bounds::{LONGEST, MOST};
use self::counters::{Class, Counters};
pub use self::counters::{GateStats, LengthStats};
use self::files::Files;
use self::inbox::{Answer, Closed, Inbox, Order, Reply};
use self::levels::Levels;
use self::locks::lock;
pub use self::open::{GateFile, GateOptions};
use self::open::{Kinds, Opened, open};
pub use self::served::{ServedDevice, ServedOptions};
pub use self::served_target::{
    ServedTarget, ServedTargetOptions, ServedTargetReport, VolumeReport, VolumeWindow,
};
use crate::failure::Failure;

/// Interval at which a waiting thread checks whether it is interrupted.
const BEAT: Duration = Duration::from_millis(100);

/// A gate. Any thread of the process that opened it may use it; dropping it closes it.
pub struct Gate {
    files: Files,
    inbox: Arc<Inbox<Order>>,
    stopwatch: Stopwatch,
    counters: Arc<Mutex<Counters>>,
    levels: Levels,
    /// The longest request that counts as short, in bytes.
    threshold: u32,
    dispatcher: Mutex<Option<Handover<()>>>,
    interrupted: Option<fn() -> bool>,
    /// The process that opened it. A fork has neither its thread nor its ring.
    process: u32,
}

/// The error of a request to a gate.
#[derive(Debug)]
pub struct GateError {
    what: String,
    /// Bytes from the first on that are certainly done.
    pub done: u64,
    /// The system's error. Its kind is [`TimedOut`](io::ErrorKind::TimedOut) if a command to the
    /// disk had no answer within the time-out, [`BrokenPipe`](io::ErrorKind::BrokenPipe) if the
    /// gate is closed, [`Unsupported`](io::ErrorKind::Unsupported) in another process than the one
    /// that opened it, and [`Interrupted`](io::ErrorKind::Interrupted) if
    /// [`GateOptions::interrupted`] returned `true`.
    pub error: io::Error,
}

impl fmt::Display for GateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let said = self.error.to_string();
        // A hint goes last.
        let (said, hint) = said.split_at(said.find('\n').unwrap_or(said.len()));
        write!(f, "{}: {said}; {} bytes are done{hint}", self.what, self.done)
    }
}

impl std::error::Error for GateError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.error)
    }
}

impl Gate {
    /// Opens a gate: one policy, and one thread that carries out what it decides.
    ///
    /// # Errors
    /// [`Failure`]: an unknown policy or parameter, a file that is refused, an engine that does
    /// not work here.
    pub fn open(options: &GateOptions) -> Result<Self, Failure> {
        Self::over(options, options.targets(User::Application)?)
    }

    /// Opens a gate over `targets`, the [targets](GateOptions::targets) of `options`.
    pub(crate) fn over(options: &GateOptions, targets: Vec<Target>) -> Result<Self, Failure> {
        let classes = Class::all().into();
        let (books, longest, most) = (3, LONGEST, MOST);
        let kinds = Kinds { classes, books, longest, most, by_class: None, record: None };
        let opened = open(options, targets, kinds)?;
        let Opened { files, inbox, stopwatch, counters, levels, threshold, dispatcher } = opened;
        let (dispatcher, interrupted) = (Mutex::new(Some(dispatcher)), options.interrupted);
        let process = std::process::id();
        Ok(Self {
            files,
            inbox,
            stopwatch,
            counters,
            levels,
            threshold,
            dispatcher,
            interrupted,
            process,
        })
    }

    /// Writes `bytes` from byte `offset` of the file numbered `file` on. With `sync` they are on
    /// stable media when it returns.
    ///
    /// # Errors
    /// The system's error with the number of bytes done, a range outside the file, or a closed
    /// gate.
    pub fn write(&self, file: u32, offset: u64, bytes: &[u8], sync: bool) -> Result<(), GateError> {
        let what = || self.named("write", file, bytes.len() as u64, offset);
        self.check(file, offset, bytes.len() as u64).map_err(|error| what().with(0, error))?;
        let mut done = 0;
        for part in parts(bytes.len()).map(|part| &bytes[part]) {
            let answer = self.ask(Op::Write, file, offset + done, part.to_vec(), sync);
            done += answer.map_err(|failed| failed.of(what(), done))?.done;
        }
        Ok(())
    }

    /// Reads `len` bytes from byte `offset` of the file numbered `file` on, or as many as there
    /// are.
    ///
    /// # Errors
    /// The system's error, or a gate that is closed or stands before a model without a file.
    pub fn read(&self, file: u32, offset: u64, len: usize) -> Result<Vec<u8>, GateError> {
        let what = || self.named("read", file, len as u64, offset);
        let readable = self.takes_requests().and_then(|()| self.files.readable(file));
        let left = readable.map_err(|error| what().with(0, error))?.saturating_sub(offset);
        let len = len.min(usize::try_from(left).unwrap_or(usize::MAX));
        let mut read = Vec::new();
        read.try_reserve_exact(len).map_err(|_| {
            what().with(0, io::Error::new(io::ErrorKind::OutOfMemory, "no memory for that"))
        })?;
        for part in parts(len) {
            let (at, room) = (read.len() as u64, vec![0; part.len()]);
            let answer = self.ask(Op::Read, file, offset + at, room, false);
            read.extend(answer.map_err(|failed| failed.of(what(), at))?.bytes);
        }
        Ok(read)
    }

    /// Flushes answered writes to the file numbered `file` to stable media.
    ///
    /// # Errors
    /// The system's error, or a closed gate.
    pub fn flush(&self, file: u32) -> Result<(), GateError> {
        let what = || self.named("flush", file, 0, 0);
        self.check(file, 0, 0).map_err(|error| what().with(0, error))?;
        let answer = self.ask(Op::Flush, file, 0, Vec::new(), false);
        answer.map(drop).map_err(|failed| failed.of(what(), 0))
    }

    /// The statistics so far.
    ///
    /// # Errors
    /// Another process opened the gate.
    pub fn stats(&self) -> Result<GateStats, GateError> {
        let what = || RequestText("statistics of the gate".into());
        self.check_same_process().map_err(|error| what().with(0, error))?;
        Ok(GateStats::new(&lock(&self.counters), self.threshold, self.now()))
    }

    /// Bytes of its first file, or of its model.
    pub(crate) fn capacity(&self) -> u64 {
        self.files.capacity(0).expect("it is open")
    }

    /// Nanoseconds since the gate was opened.
    pub(crate) fn now(&self) -> Time {
        self.stopwatch.now()
    }

    /// Carries out earlier requests, ends, and releases the files. Later requests get an error. If
    /// a disk does not answer, it waits no longer than the gate's time-out. In a process that did
    /// not open the gate it does nothing.
    pub fn close(&self) {
        self.close_unless(self.interrupted);
    }

    fn close_unless(&self, interrupted: Option<fn() -> bool>) {
        if self.check_same_process().is_err() {
            return;
        }
        self.inbox.close();
        loop {
            let mut dispatcher = lock(&self.dispatcher);
            // If it panicked, it has written the panic to stderr, and its callers have their
            // errors.
            let ended = dispatcher.as_mut().is_none_or(|it| !matches!(it.wait(BEAT), Ok(None)));
            if ended {
                *dispatcher = None;
                break;
            }
            drop(dispatcher);
            if interrupted.is_some_and(|interrupted| interrupted()) {
                return;
            }
        }
        self.files.release();
    }

    /// Sends one request, and waits for its answer.
    fn ask(
        &self,
        op: Op,
        file: u32,
        offset: u64,
        bytes: Vec<u8>,
        sync: bool,
    ) -> Result<Answer, Failed> {
        let (reply, answer) = sync_channel(1);
        let (len, reply) = (bytes.len() as u32, Reply::Thread(reply));
        let class = Class::new(op, len, self.threshold);
        let (class, prio, book) = (ClassId(class as u16), Prio::default(), class as usize);
        let order = Order { op, file, offset, bytes, len, sync, class, prio, book, reply };
        let put = self.inbox.put(self.now(), order, BEAT, || self.is_interrupted());
        put.map_err(|why| Failed::before(&why))?;
        self.levels.arrived(book);
        let answer = self.answer(&answer)?;
        match answer.error {
            None => Ok(answer),
            Some(errno) => {
                let error = io::Error::from_raw_os_error(errno.code());
                Err(Failed { done: answer.done, error })
            }
        }
    }

    /// Waits for the answer of a request.
    fn answer(&self, answer: &Receiver<Answer>) -> Result<Answer, Failed> {
        loop {
            match answer.recv_timeout(BEAT) {
                Ok(answer) => return Ok(answer),
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(Failed::before(&self.inbox.closed()));
                }
                Err(RecvTimeoutError::Timeout) if self.is_interrupted() => {
                    return Err(Failed::before(&Closed::interrupted()));
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }

    fn is_interrupted(&self) -> bool {
        self.interrupted.is_some_and(|interrupted| interrupted())
    }

    /// Checks that this process opened the gate.
    fn check_same_process(&self) -> io::Result<()> {
        let (opened, process) = (self.process, std::process::id());
        if process == opened {
            return Ok(());
        }
        let message = format!(
            "the gate was opened by process {opened}, and this is process {process}\n\
             hint: open a gate of its own after the fork"
        );
        Err(io::Error::new(io::ErrorKind::Unsupported, message))
    }

    /// Checks that the gate is not closed, and that this process opened it.
    fn takes_requests(&self) -> io::Result<()> {
        self.check_same_process()?;
        self.inbox.why_closed().map_or(Ok(()), |why| Err(why.error()))
    }

    /// Checks that the gate takes requests and that a range lies in the file.
    fn check(&self, file: u32, offset: u64, len: u64) -> io::Result<()> {
        self.takes_requests()?;
        let capacity = self.files.capacity(file)?;
        if offset.checked_add(len).is_none_or(|end| end > capacity) {
            let error = format!("outside its {capacity} bytes");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, error));
        }
        Ok(())
    }

    fn named(&self, verb: &str, file: u32, len: u64, offset: u64) -> RequestText {
        let path = self.files.name(file);
        RequestText(match len {
            0 => format!("{verb} of {path}"),
            _ => format!("{verb} of {len} bytes at byte {offset} of {path}"),
        })
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        if self.check_same_process().is_ok() {
            return self.close_unless(None);
        }
        // Its parts are those of another process, which may have been using them at the fork.
        mem::forget(self.dispatcher.get_mut().map(Option::take));
    }
}

/// Description of a request in messages.
struct RequestText(String);

impl RequestText {
    fn with(self, done: u64, error: io::Error) -> GateError {
        GateError { what: self.0, done, error }
    }
}

/// The failure of a part of a request.
struct Failed {
    done: u64,
    error: io::Error,
}

impl Failed {
    /// The failure of a request before anything of it was done.
    fn before(why: &Closed) -> Self {
        Self { done: 0, error: why.error() }
    }

    /// The error of the request `what`, of which `before` bytes were done before this part.
    fn of(self, what: RequestText, before: u64) -> GateError {
        what.with(before + self.done, self.error)
    }
}

/// Splits `len` bytes into equal parts of at most [`LONGEST`] bytes, so that the last is not short.
fn parts(len: usize) -> impl Iterator<Item = std::ops::Range<usize>> {
    let each = len.div_ceil(len.div_ceil(LONGEST as usize).max(1)).max(1);
    (0..len).step_by(each).map(move |from| from..len.min(from + each))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_write_has_no_short_end() {
        let longest = LONGEST as usize;
        let lens = |len| parts(len).map(|part| part.len()).collect::<Vec<_>>();
        assert_eq!(lens(0), [0_usize; 0]);
        assert_eq!(lens(longest), [longest]);
        assert_eq!(lens(longest + 2), [longest / 2 + 1, longest / 2 + 1]);
        assert_eq!(lens(1_000), [1_000]);
    }
}
