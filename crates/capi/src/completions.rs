//! Completions of submitted requests, on their way to `pg_poll`.

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};
use std::sync::{Mutex, PoisonError};

use penstock_run::gate::GateError;
use rustix::event::{EventfdFlags, eventfd};

use super::memory::Buffer;

/// A completed request.
pub(crate) struct Completion {
    pub(crate) token: u64,
    /// The caller's buffer, of a read.
    pub(crate) buffer: Option<Buffer>,
    /// Bytes that were read or written.
    pub(crate) result: Result<Vec<u8>, GateError>,
}

/// Completions that were not taken yet, and an eventfd that is readable while there are any.
pub(crate) struct Completions {
    ready: Mutex<VecDeque<Completion>>,
    event: OwnedFd,
}

impl Completions {
    /// Creates an empty queue.
    pub(crate) fn new() -> io::Result<Self> {
        let event = eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)?;
        Ok(Self { ready: Mutex::default(), event })
    }

    pub(crate) fn event_fd(&self) -> RawFd {
        self.event.as_raw_fd()
    }

    /// Adds a completion.
    pub(crate) fn put(&self, completion: Completion) {
        let mut ready = self.ready.lock().unwrap_or_else(PoisonError::into_inner);
        ready.push_back(completion);
        if ready.len() == 1 {
            // Under the lock, as is the reset. It is at zero, so it cannot be full.
            let _ = rustix::io::write(self.event.as_fd(), &1_u64.to_ne_bytes());
        }
    }

    /// Takes the first completion.
    pub(crate) fn take(&self) -> Option<Completion> {
        let mut ready = self.ready.lock().unwrap_or_else(PoisonError::into_inner);
        let taken = ready.pop_front()?;
        if ready.is_empty() {
            let _ = rustix::io::read(self.event.as_fd(), &mut [0; 8]);
        }
        Some(taken)
    }
}
