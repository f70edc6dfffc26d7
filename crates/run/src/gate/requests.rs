//! Requests of the threads of a program to a gate.

use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::Duration;

use penstock_core::{ClassId, ClassInfo, Op, Prio, Time};
use penstock_jobs::diagnose::quote;
use penstock_jobs::nearest::suggest;
use penstock_live::Stopwatch;

use super::bounds::{LONGEST, parts};
use super::counters::Class;
use super::error::{Failed, GateError, RequestText};
use super::files::Files;
use super::inbox::{Answer, Callback, Closed, Inbox, Order, Reply};
use super::levels::Levels;

/// Interval at which a waiting thread checks whether it is interrupted.
pub(super) const BEAT: Duration = Duration::from_millis(100);

/// The desk of a gate at which requests are made.
pub(super) struct RequestDesk {
    pub(super) files: Files,
    pub(super) inbox: Arc<Inbox<Order>>,
    pub(super) stopwatch: Stopwatch,
    pub(super) levels: Levels,
    /// Declared classes; may be none.
    pub(super) classes: Vec<ClassInfo>,
    /// The longest request that counts as short, in bytes.
    pub(super) threshold: u32,
    pub(super) interrupted: Option<fn() -> bool>,
    /// The process that opened the gate. A fork has neither its thread nor its ring.
    pub(super) process: u32,
}

/// A gate as the work of one class uses it.
#[derive(Clone, Copy)]
pub struct GateClass<'a> {
    pub(super) requests: &'a RequestDesk,
    /// Its name; `None` where no classes are declared.
    pub(super) name: Option<&'a str>,
}

/// A request that is not waited for.
#[derive(Clone, Copy, Debug)]
pub enum Submission<'a> {
    /// Reads so many bytes, or as many as there are.
    Read(usize),
    /// Writes these bytes.
    Write(&'a [u8]),
    /// Writes these bytes; they are on stable media when it is done.
    WriteSync(&'a [u8]),
    /// Flushes answered writes to stable media.
    Flush,
}

/// A request, or a part of one.
struct RequestPart {
    op: Op,
    file: u32,
    offset: u64,
    /// The bytes to write, or the buffer to read into.
    bytes: Vec<u8>,
    sync: bool,
}

impl GateClass<'_> {
    /// Most bytes of a [`Submission`].
    pub const LONGEST: usize = LONGEST as usize;

    /// Writes `bytes` from byte `offset` of the file numbered `file` on. With `sync` they are on
    /// stable media when it returns.
    ///
    /// # Errors
    /// The system's error with the number of bytes done, a range outside the file, a class that the
    /// gate does not have, or a closed gate.
    pub fn write(self, file: u32, offset: u64, bytes: &[u8], sync: bool) -> Result<(), GateError> {
        let this = self.requests;
        let what = || this.named("write", file, bytes.len() as u64, offset);
        let checked = self.check(file, offset, bytes.len() as u64);
        let class = checked.map_err(|error| what().with(0, error))?;
        let mut done = 0;
        for bytes in parts(bytes.len()).map(|part| bytes[part].to_vec()) {
            let part = RequestPart { op: Op::Write, file, offset: offset + done, bytes, sync };
            done += this.ask(class, part).map_err(|failed| failed.of(what(), done))?.done;
        }
        Ok(())
    }

    /// Reads `len` bytes from byte `offset` of the file numbered `file` on, or as many as there
    /// are.
    ///
    /// # Errors
    /// The system's error, a class that the gate does not have, or a gate that is closed or stands
    /// before a model without a file.
    pub fn read(self, file: u32, offset: u64, len: usize) -> Result<Vec<u8>, GateError> {
        let this = self.requests;
        let what = || this.named("read", file, len as u64, offset);
        let (class, len) =
            self.readable(file, offset, len).map_err(|error| what().with(0, error))?;
        let mut read = Vec::new();
        read.try_reserve_exact(len).map_err(|_| {
            what().with(0, io::Error::new(io::ErrorKind::OutOfMemory, "no memory for that"))
        })?;
        for part in parts(len) {
            let (at, bytes) = (read.len() as u64, vec![0; part.len()]);
            let part = RequestPart { op: Op::Read, file, offset: offset + at, bytes, sync: false };
            read.extend(this.ask(class, part).map_err(|failed| failed.of(what(), at))?.bytes);
        }
        Ok(read)
    }

    /// Flushes answered writes to the file numbered `file` to stable media.
    ///
    /// # Errors
    /// The system's error, a class that the gate does not have, or a closed gate.
    pub fn flush(self, file: u32) -> Result<(), GateError> {
        let what = || self.requests.named("flush", file, 0, 0);
        let class = self.check(file, 0, 0).map_err(|error| what().with(0, error))?;
        let asked = RequestPart { op: Op::Flush, file, offset: 0, bytes: Vec::new(), sync: false };
        self.requests.ask(class, asked).map(drop).map_err(|failed| failed.of(what(), 0))
    }

    /// Makes a request of at most [`LONGEST`](Self::LONGEST) bytes without waiting for it. `then` gets
    /// its result, with the bytes that were read or written; the gate's thread calls it, and must not
    /// be held up.
    ///
    /// # Errors
    /// Errors of [`read`](Self::read), [`write`](Self::write) and [`flush`](Self::flush) that are known
    /// at once, too many bytes, or too many requests in flight. Then nothing is done, and `then` is not
    /// called.
    pub fn submit(
        self,
        file: u32,
        offset: u64,
        submission: Submission<'_>,
        then: impl FnOnce(Result<Vec<u8>, GateError>) + Send + 'static,
    ) -> Result<(), GateError> {
        let this = self.requests;
        let (verb, op, len) = match submission {
            Submission::Read(len) => ("read", Op::Read, len),
            Submission::Write(bytes) | Submission::WriteSync(bytes) => {
                ("write", Op::Write, bytes.len())
            }
            Submission::Flush => ("flush", Op::Flush, 0),
        };
        let text = this.named(verb, file, len as u64, offset);
        let checked = self.check_submission(file, offset, submission, len);
        let (class, bytes) = match checked {
            Ok(checked) => checked,
            Err(error) => return Err(text.with(0, error)),
        };
        if bytes.is_empty() && op != Op::Flush {
            then(Ok(bytes));
            return Ok(());
        }
        let sync = matches!(submission, Submission::WriteSync(_));
        let inbox = Arc::clone(&this.inbox);
        let described = text.clone();
        let callback = move |answer: Option<Answer>| {
            let answer = answer.ok_or_else(|| Failed::before(&inbox.closed()));
            let answer = answer.and_then(result);
            then(answer.map(|answer| answer.bytes).map_err(|failed| failed.of(described, 0)));
        };
        let (book, of_class) = this.books(class, op, bytes.len() as u32);
        let asked = RequestPart { op, file, offset, bytes, sync };
        let order = || this.order(class, asked, Reply::Function(Callback::new(callback)));
        this.inbox.try_put(this.now(), order).map_err(|closed| {
            let full = || {
                let message = "too many requests are in flight\nhint: take completions first";
                io::Error::new(io::ErrorKind::WouldBlock, message)
            };
            text.with(0, closed.map_or_else(full, |why| why.error()))
        })?;
        this.levels.arrived(book, of_class);
        Ok(())
    }

    /// Checks a submission of `len` bytes. Returns its class, with the bytes to write or the buffer to
    /// read into.
    fn check_submission(
        self,
        file: u32,
        offset: u64,
        submission: Submission<'_>,
        len: usize,
    ) -> io::Result<(Option<ClassId>, Vec<u8>)> {
        if len > Self::LONGEST {
            let error = format!(
                "more than the {} bytes that one submission may have\nhint: submit it in parts",
                Self::LONGEST
            );
            return Err(io::Error::new(io::ErrorKind::InvalidInput, error));
        }
        match submission {
            Submission::Read(_) => {
                let (class, len) = self.readable(file, offset, len)?;
                Ok((class, vec![0; len]))
            }
            Submission::Write(bytes) | Submission::WriteSync(bytes) => {
                Ok((self.check(file, offset, len as u64)?, bytes.to_vec()))
            }
            Submission::Flush => Ok((self.check(file, 0, 0)?, Vec::new())),
        }
    }

    /// Checks that the gate takes requests of the class, and that a range lies in the file. Returns the
    /// class.
    fn check(self, file: u32, offset: u64, len: u64) -> io::Result<Option<ClassId>> {
        self.requests.takes_requests()?;
        let class = self.class()?;
        let capacity = self.requests.files.capacity(file)?;
        if offset.checked_add(len).is_none_or(|end| end > capacity) {
            return Err(invalid(format!("outside its {capacity} bytes")));
        }
        Ok(class)
    }

    /// Checks that the gate takes requests of the class. Returns the class, and how many of `len` bytes
    /// can be read.
    fn readable(self, file: u32, offset: u64, len: usize) -> io::Result<(Option<ClassId>, usize)> {
        self.requests.takes_requests()?;
        let class = self.class()?;
        let left = self.requests.files.readable(file)?.saturating_sub(offset);
        Ok((class, len.min(usize::try_from(left).unwrap_or(usize::MAX))))
    }

    /// Returns the declared class; `None` if none are declared.
    fn class(self) -> io::Result<Option<ClassId>> {
        let classes = &self.requests.classes;
        let names = || classes.iter().map(|class| class.name.as_str());
        let Some(name) = self.name else {
            let names = || names().collect::<Vec<_>>().join(", ");
            return match classes.len() {
                0 => Ok(None),
                _ => Err(invalid(format!("found no class\nhint: name one of {}", names()))),
            };
        };
        let number = names().position(|known| known == name).ok_or_else(|| {
            let hint = match classes.len() {
                0 => "the options of the gate declare no class: name none".into(),
                _ => suggest(name, names()),
            };
            invalid(format!("unknown class {}\nhint: {hint}", quote(name)))
        })?;
        Ok(Some(ClassId(number as u16)))
    }
}

/// Returns the answer to a request that succeeded.
fn result(answer: Answer) -> Result<Answer, Failed> {
    match answer.error {
        None => Ok(answer),
        Some(errno) => {
            let error = io::Error::from_raw_os_error(errno.code());
            Err(Failed { done: answer.done, error })
        }
    }
}

fn invalid(message: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, message)
}

impl RequestDesk {
    /// Nanoseconds since the gate was opened.
    pub(super) fn now(&self) -> Time {
        self.stopwatch.now()
    }

    /// Checks that this process opened the gate.
    pub(super) fn check_same_process(&self) -> io::Result<()> {
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

    fn order(&self, class: Option<ClassId>, asked: RequestPart, reply: Reply) -> Order {
        let RequestPart { op, file, offset, bytes, sync } = asked;
        let len = bytes.len() as u32;
        let prio = class.map_or(Prio::default(), |class| self.classes[usize::from(class.0)].prio);
        let (book, class) = self.books(class, op, len);
        Order { op, file, offset, bytes, len, sync, class, prio, book, reply }
    }

    /// Returns the book of a request by its length, and its class for the policy.
    fn books(&self, class: Option<ClassId>, op: Op, len: u32) -> (usize, ClassId) {
        let kind = Class::new(op, len, self.threshold);
        (kind as usize, class.unwrap_or(ClassId(kind as u16)))
    }

    /// Sends one request, and waits for its answer.
    fn ask(&self, class: Option<ClassId>, asked: RequestPart) -> Result<Answer, Failed> {
        let (reply, answer) = sync_channel(1);
        let order = self.order(class, asked, Reply::Thread(reply));
        let (book, class) = (order.book, order.class);
        let put = self.inbox.put(self.now(), order, BEAT, || self.is_interrupted());
        put.map_err(|why| Failed::before(&why))?;
        self.levels.arrived(book, class);
        result(self.answer(&answer)?)
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

    fn named(&self, verb: &str, file: u32, len: u64, offset: u64) -> RequestText {
        let path = self.files.name(file);
        RequestText(match len {
            0 => format!("{verb} of {path}"),
            _ => format!("{verb} of {len} bytes at byte {offset} of {path}"),
        })
    }
}
