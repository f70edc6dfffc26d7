//! Arrivals of the tasks of a program.

use std::ops::Range;

use penstock_core::{Rng, Span, Time};
use rand_distr::{Distribution, Exp1};

/// The rule for the arrival times of a program's tasks.
#[derive(Clone, PartialEq, Debug)]
pub enum Starts {
    /// A group of tasks every `period`, each task at one of the `offsets` from the beginning of the
    /// group.
    Groups {
        /// Offsets in ascending order, all shorter than the period.
        offsets: Vec<Span>,
        /// Time from the beginning of a group to that of the next.
        period: Span,
    },
    /// Random arrivals, independent of each other.
    Poisson {
        /// Mean number of arrivals per second.
        rate: f64,
    },
    /// A fixed number of tasks.
    Once {
        /// Number of tasks.
        count: u32,
        /// Time from an arrival to the next.
        stagger: Span,
    },
}

/// The arrivals of a program, of which the next one is known.
#[derive(Debug)]
pub(super) struct Calendar {
    starts: Starts,
    active: Range<Time>,
    rng: Rng,
    /// Number of tasks that have arrived.
    arrived: u64,
    /// Time of the next arrival; [`Time::NEVER`] after the last.
    next: Time,
    /// Unrounded time of the next random arrival, in nanoseconds.
    at: f64,
}

impl Calendar {
    pub(super) fn new(starts: Starts, active: Range<Time>, rng: Rng) -> Self {
        let at = active.start.ns() as f64;
        let mut calendar = Self { starts, active, rng, arrived: 0, next: Time::NEVER, at };
        calendar.plan();
        calendar
    }

    /// Time of the next arrival; [`Time::NEVER`] if none remains.
    pub(super) fn next(&self) -> Time {
        self.next
    }

    /// Counts the next task as arrived, and plans the one after it.
    pub(super) fn advance(&mut self) {
        self.arrived += 1;
        self.plan();
    }

    fn plan(&mut self) {
        let start = self.active.start;
        let at = match &self.starts {
            Starts::Groups { offsets, .. } if offsets.is_empty() => Time::NEVER,
            Starts::Groups { offsets, period } => {
                let group = self.arrived / offsets.len() as u64;
                let offset = offsets[(self.arrived % offsets.len() as u64) as usize];
                start + period.share(group, 1) + offset
            }
            Starts::Poisson { rate } => {
                let gap: f64 = Exp1.sample(&mut self.rng);
                self.at += gap * 1e9 / rate;
                Time::from_ns(self.at.round() as u64)
            }
            Starts::Once { count, .. } if self.arrived >= u64::from(*count) => Time::NEVER,
            Starts::Once { stagger, .. } => start + stagger.share(self.arrived, 1),
        };
        self.next = if at < self.active.end { at } else { Time::NEVER };
    }
}
