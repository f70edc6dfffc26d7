//! Errors of requests to a gate.

use std::fmt;
use std::io;

use super::inbox::Closed;

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
    /// [`GateOptions::interrupted`](super::GateOptions::interrupted) returned `true`. Of a request that
    /// is not waited for, [`WouldBlock`](io::ErrorKind::WouldBlock) if too many are in flight.
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

/// Description of a request in messages.
#[derive(Clone)]
pub(super) struct RequestText(pub(super) String);

impl RequestText {
    pub(super) fn with(self, done: u64, error: io::Error) -> GateError {
        GateError { what: self.0, done, error }
    }
}

/// The failure of a part of a request.
pub(super) struct Failed {
    pub(super) done: u64,
    pub(super) error: io::Error,
}

impl Failed {
    /// The failure of a request before anything of it was done.
    pub(super) fn before(why: &Closed) -> Self {
        Self { done: 0, error: why.error() }
    }

    /// The error of the request `what`, of which `before` bytes were done before this part.
    pub(super) fn of(self, what: RequestText, before: u64) -> GateError {
        what.with(before + self.done, self.error)
    }
}
