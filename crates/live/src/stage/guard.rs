//! Ends a live run early: a target does not answer, or is not what it was.
//!
//! A [`Guard`] is called on every turn and looks some times a second: at the oldest command in
//! flight, and at the length of the file. The caller that runs a stage ends the run when the guard
//! reports trouble. It also reports data that is not what was written, if that is verified.
//!
//! Invariants: a look makes a system call for each target and allocates nothing unless it finds
//! trouble; no wait for a command is longer than the stage's time-out. Resources that the kernel
//! still holds then are given up, not freed: the buffers, the ring, and the lock on the file.

use std::cell::{Cell, OnceCell, RefCell};
use std::rc::Rc;

use penstock_core::{Span, Time};

use crate::stage::hub::Hub;
use crate::stage::trouble::Trouble;

/// How often it looks.
const EVERY: Span = Span::from_ms(100);

/// Turns that are further apart than this mean that the process was stopped: no wait of the loop is
/// longer than a tenth of it.
const STOPPED: Span = Span::from_secs(1);

/// Watches the targets of a stage. [`LiveClock::guard`](crate::LiveClock::guard) makes it.
pub struct Guard {
    hub: Rc<RefCell<Hub>>,
    next: Cell<Time>,
    /// The last turn.
    seen: Cell<Time>,
    /// When the process last continued after it had been stopped, as by Ctrl-Z or with its machine.
    resumed: Cell<Time>,
    found: OnceCell<Trouble>,
}

impl Guard {
    /// A guard of the targets of `hub`.
    pub(crate) fn new(hub: Rc<RefCell<Hub>>) -> Self {
        let start = || Cell::new(Time::ZERO);
        Self { hub, next: start(), seen: start(), resumed: start(), found: OnceCell::new() }
    }

    /// Whether the run may go on at `now`. It looks if 100 ms have passed since it did.
    pub fn look(&self, now: Time) -> bool {
        if now.since(self.seen.replace(now)) > STOPPED {
            self.resumed.set(now);
        }
        if now >= self.next.get() {
            self.next.set(now + EVERY);
            self.check(now);
        }
        self.found.get().is_none()
    }

    /// The run ended at `at`: waits for commands in flight, no longer than `patience` or the
    /// stage's time-out, and looks once more. Returns the trouble found, now or before.
    pub fn end(&self, at: Time, patience: Option<Span>) -> Option<&Trouble> {
        let mut hub = self.hub.borrow_mut();
        let patience = [hub.timeout(), patience].into_iter().flatten().min();
        if self.found.get().is_none() && !hub.drain(patience) {
            let patience = patience.expect("without a limit it waits to the end");
            // The first trouble found is the one to report.
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

    /// The trouble found so far.
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
