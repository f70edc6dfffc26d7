//! The handle of a gate: all state that belongs to it.

use std::ffi::c_int;
use std::iter;
use std::sync::Arc;

use penstock_run::gate::{Gate, GateOptions, Submission};

use super::completions::{Completion, Completions};
use super::errors::{CallError, Errors};
use super::memory::Buffer;

/// An open gate, as `pg_gate`.
pub struct Handle {
    pub(crate) gate: Gate,
    completions: Arc<Completions>,
    errors: Errors,
}

impl Handle {
    /// Opens a gate by the text of its options.
    pub(crate) fn open(options: &str) -> Result<Self, CallError> {
        let completions = Completions::new().map_err(|error| {
            let errno = error.raw_os_error().unwrap_or(libc::EIO);
            CallError::new(errno, format!("error: cannot make an eventfd: {error}"))
        })?;
        let gate = Gate::open(&GateOptions::parse(options)?)?;
        Ok(Self { gate, completions: Arc::new(completions), errors: Errors::default() })
    }

    /// Checks that this process opened the gate. In another one no lock may be taken: a thread that
    /// there is not may have held it at the fork.
    pub(crate) fn check_process(&self) -> Result<(), CallError> {
        let checked = self.gate.check_same_process();
        checked.map_err(|error| CallError::new(libc::EOPNOTSUPP, error.to_string()))
    }

    /// Submits a request at an offset of a file.
    pub(crate) fn submit(
        &self,
        class: Option<&str>,
        (file, offset): (u32, u64),
        submission: Submission<'_>,
        buffer: Option<Buffer>,
        token: u64,
    ) -> Result<c_int, CallError> {
        let completions = Arc::clone(&self.completions);
        let then = move |result| completions.put(Completion { token, buffer, result });
        self.gate.of_class(class).submit(file, offset, submission, then)?;
        Ok(0)
    }

    /// Takes up to `most` completions.
    pub(crate) fn take(&self, most: usize) -> impl Iterator<Item = Completion> {
        iter::from_fn(|| self.completions.take()).take(most)
    }

    /// Returns the file that is readable while there are completions.
    pub(crate) fn event_fd(&self) -> c_int {
        self.completions.event_fd()
    }

    /// Keeps an error of this thread.
    pub(crate) fn keep(&self, error: CallError) {
        if self.check_process().is_ok() {
            self.errors.keep(error);
        }
    }

    /// Returns the last error of this thread; number 0 if there was none.
    pub(crate) fn last_error(&self) -> CallError {
        self.check_process().map_or_else(|refused| refused, |()| self.errors.last())
    }
}
