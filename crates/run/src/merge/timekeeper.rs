//! The time of the events of merges: real time, or the time of models.

use std::rc::Rc;

use penstock_core::Time;
use penstock_live::{Answers, Stopwatch};

/// Tells the time of the events of merges.
#[derive(Debug)]
pub(super) enum Timekeeper {
    /// Real time, which passes while records are merged.
    Real(Stopwatch),
    /// The time of the model of each disk, in which merging takes no time.
    Models(Vec<Rc<Answers>>),
}

impl Timekeeper {
    /// Returns the time of a completion of `disk` that is handled at `now`. Of a model this is the time at
    /// which its last completion was due.
    pub(super) fn of_completion(&self, disk: u32, now: Time) -> Time {
        match self {
            Self::Real(_) => now,
            Self::Models(answers) => answers[disk as usize].last().min(now),
        }
    }

    /// Returns the time at which work that began at `now` has ended.
    pub(super) fn after(&self, now: Time) -> Time {
        match self {
            Self::Real(stopwatch) => stopwatch.now(),
            Self::Models(_) => now,
        }
    }
}
