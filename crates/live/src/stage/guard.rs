//! Guards: they end a live run early whose target does not answer or has changed.
//!
//! A [`Guard`] is called on every turn and checks some times a second: the oldest command in flight, and
//! the length of the file. The caller that runs a stage ends the run when the guard reports trouble. It
//! also reports verified data that is not what was written.
//!
//! Invariants: a check makes a system call for each target and allocates nothing unless it finds
//! trouble; no wait for a command is longer than the stage's time-out. Resources that the kernel
//! still uses then are leaked: the buffers, the ring, and the lock on the file.

use std::cell::{Cell, OnceCell, RefCell};
use std::rc::Rc;

use penstock_core::{Span, Time};

use crate::stage::hub::Hub;
use crate::stage::trouble::Trouble;

/// The time between two checks.
const EVERY: Span = Span::from_ms(100);

/// Turns that are further apart mean that the process was stopped: no wait of the loop is longer than a
/// tenth of this.
const STOPPED: Span = Span::from_secs(1);

/// Watches the targets of a stage. [`LiveClock::guard`](crate::LiveClock::guard) creates it.
pub struct Guard {
    hub: Rc<RefCell<Hub>>,
    next: Cell<Time>,
    /// When the last turn was.
    last: Cell<Time>,
    /// When the process last continued after it was stopped, as by Ctrl-Z or with its machine.
    resumed: Cell<Time>,
    found: OnceCell<Trouble>,
}

impl Guard {
    /// Creates a guard of the targets of `hub`.
    pub(crate) fn new(hub: Rc<RefCell<Hub>>) -> Self {
        let start = || Cell::new(Time::ZERO);
        Self { hub, next: start(), last: start(), resumed: start(), found: OnceCell::new() }
    }

    /// Returns whether the run may go on at `now`. Checks if the last check was at least 100 ms ago.
    pub fn look(&self, now: Time) -> bool {
        if now.since(self.last.replace(now)) > STOPPED {
            self.resumed.set(now);
        }
        if now >= self.next.get() {
            self.next.set(now + EVERY);
            self.check(now);
        }
        self.found.get().is_none()
    }

    /// Ends the run at `at`: waits for commands in flight, no longer than `patience` or the stage's time-out,
    /// and checks once more. Returns the first trouble found, now or before.
    pub fn end(&self, at: Time, patience: Option<Span>) -> Option<&Trouble> {
        let mut hub = self.hub.borrow_mut();
        let patience = [hub.timeout(), patience].into_iter().flatten().min();
        if self.found.get().is_none() && !hub.drain(patience) {
            let patience = patience.expect("without a limit it waits to the end");
            // The first trouble found is reported.
            let _ = self.found.set(hub.silent(at + patience, patience).expect("it did not drain"));
        }
        let silent = matches!(self.found.get(), Some(Trouble::Silent { .. }));
        if silent {
            hub.abandon();
        }
        drop(hub);
        if !silent {
            self.check(at);
        }
        self.found.get()
    }

    /// Returns the trouble found so far.
    pub fn found(&self) -> Option<&Trouble> {
        self.found.get()
    }

    fn check(&self, now: Time) {
        let mut hub = self.hub.borrow_mut();
        let late = hub.timeout().and_then(|timeout| hub.late(now, timeout, self.resumed.get()));
        if let Some(trouble) = late.or_else(|| hub.differs()).or_else(|| hub.resized()) {
            let _ = self.found.set(trouble);
        }
    }
}

#[cfg(test)]
mod tests;
