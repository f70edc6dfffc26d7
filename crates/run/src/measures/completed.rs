//! Requests that completed without error, and the time over which their rates are taken.

use penstock_core::{Request, Time};

use crate::measures::subject::Subject;
use crate::measures::values::ratio;

/// Requests that completed without error.
#[derive(Default)]
pub(crate) struct Completed {
    pub(crate) requests: u64,
    pub(crate) bytes: u64,
    pub(crate) discarded: u64,
    /// When the last of them completed.
    last: Time,
}

impl Completed {
    pub(crate) fn add(&mut self, at: Time, req: &Request) {
        self.requests += 1;
        self.bytes += req.moved();
        self.discarded += u64::from(req.len) - req.moved();
        self.last = at;
    }

    pub(crate) fn join(&mut self, other: &Self) {
        self.requests += other.requests;
        self.bytes += other.bytes;
        self.discarded += other.discarded;
        self.last = self.last.max(other.last);
    }
}

/// The time over which rates are taken.
#[derive(Clone, Copy)]
pub(crate) struct Rated {
    warmup: Time,
    /// When the load stops asking, as far as that is known; never in a durable run.
    asks_until: Time,
}

impl Rated {
    /// Returns the rated time of `subject`.
    pub(crate) fn of(subject: &Subject<'_>) -> Self {
        let asks_until =
            subject.load.asks_until.filter(|_| !subject.durable).unwrap_or(Time::NEVER);
        Self { warmup: subject.warmup, asks_until }
    }

    /// Returns the seconds over which the rates of `completed` are taken in a run that ended at
    /// `end`: as long as the load asks, or until the last completion if that is later.
    pub(crate) fn seconds(self, completed: &Completed, end: Time) -> f64 {
        let rated = self.asks_until.max(completed.last).min(end);
        rated.since(self.warmup).ns() as f64 / 1e9
    }

    /// Returns `amount` a second over that time.
    pub(crate) fn rate(self, amount: u64, completed: &Completed, end: Time) -> f64 {
        ratio(amount as f64, self.seconds(completed, end))
    }
}
