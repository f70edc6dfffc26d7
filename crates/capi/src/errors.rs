//! Errors of calls: a number for `errno`, and a text.

use std::collections::VecDeque;
use std::ffi::c_int;
use std::fmt;
use std::io::ErrorKind;
use std::sync::{Mutex, PoisonError};
use std::thread::{self, ThreadId};

use penstock_run::Failure;
use penstock_run::gate::GateError;

/// The error of a call.
#[derive(Clone, Default, Debug)]
pub(crate) struct CallError {
    pub(crate) errno: c_int,
    pub(crate) text: String,
    /// Bytes from the first on that are certainly done.
    pub(crate) done: u64,
}

impl CallError {
    pub(crate) fn new(errno: c_int, text: impl Into<String>) -> Self {
        Self { errno, text: text.into(), done: 0 }
    }

    /// A wrong argument.
    pub(crate) fn invalid(text: &str) -> Self {
        Self::new(libc::EINVAL, text)
    }

    /// A null pointer in place of `what`.
    pub(crate) fn null(what: &str) -> Self {
        Self::invalid(&format!("found a null pointer for {what}"))
    }

    /// A defect of the library.
    pub(crate) fn defect(what: &impl fmt::Display) -> Self {
        Self::new(libc::EIO, format!("a defect of the library: {what}"))
    }

    /// A panic, whose message is on stderr.
    pub(crate) fn panicked() -> Self {
        Self::defect(&"it panicked, with the reason on stderr")
    }
}

impl From<GateError> for CallError {
    fn from(error: GateError) -> Self {
        let errno = match (error.error.raw_os_error(), error.error.kind()) {
            (Some(errno), _) => errno,
            (None, ErrorKind::InvalidInput) => libc::EINVAL,
            (None, ErrorKind::NotFound) => libc::ENOENT,
            (None, ErrorKind::BrokenPipe) => libc::ESHUTDOWN,
            (None, ErrorKind::WouldBlock) => libc::EAGAIN,
            (None, ErrorKind::TimedOut) => libc::ETIMEDOUT,
            (None, ErrorKind::OutOfMemory) => libc::ENOMEM,
            (None, _) => libc::EIO,
        };
        Self { errno, text: error.to_string(), done: error.done }
    }
}

impl From<Failure> for CallError {
    fn from(failure: Failure) -> Self {
        let errno = match failure.exit_code() {
            2 => libc::EINVAL,
            5 => libc::EBUSY,
            77 => libc::EOPNOTSUPP,
            _ => libc::EIO,
        };
        Self::new(errno, failure.to_string())
    }
}

/// Most threads whose last error is kept; those that failed longest ago are forgotten.
const THREADS: usize = 1024;

/// The last error of each thread, the latest at the end.
#[derive(Default)]
pub(crate) struct Errors(Mutex<VecDeque<(ThreadId, CallError)>>);

impl Errors {
    /// Keeps the error of this thread.
    pub(crate) fn keep(&self, error: CallError) {
        let thread = thread::current().id();
        let mut errors = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        errors.retain(|(other, _)| *other != thread);
        if errors.len() == THREADS {
            errors.pop_front();
        }
        errors.push_back((thread, error));
    }

    /// Returns the last error of this thread; number 0 if there was none.
    pub(crate) fn last(&self) -> CallError {
        let thread = thread::current().id();
        let errors = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let last = errors.iter().find(|(other, _)| *other == thread);
        last.map_or_else(CallError::default, |(_, error)| error.clone())
    }
}
