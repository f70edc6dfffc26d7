//! When tasks of a program arrive.

use std::ops::Range;

use penstock_core::{Rng, Span, Time};
use rand_distr::{Distribution, Exp1};

/// When tasks of a program arrive.
#[derive(Clone, PartialEq, Debug)]
pub enum Starts {
    /// In groups, one every `period`: a task at each of `offsets` from its group's beginning.
    Groups {
        /// Ascending, all shorter than the period.
        offsets: Vec<Span>,
        /// From the beginning of a group to that of the next.
        period: Span,
    },
    /// At random, independently of one another.
    Poisson {
        /// How many a second.
        rate: f64,
    },
    /// A fixed number, one after the other.
    Once {
        /// How many.
        count: u32,
        /// From one to the next.
        stagger: Span,
    },
}

/// The arrivals of one program, one ahead.
#[derive(Debug)]
pub(super) struct Calendar {
    starts: Starts,
    active: Range<Time>,
    rng: Rng,
    /// Tasks that have arrived.
    arrived: u64,
    /// When the next task arrives; [`Time::NEVER`] after the last.
    next: Time,
    /// The present point of random arrivals, in nanoseconds.
    at: f64,
}

impl Calendar {
    pub(super) fn new(starts: Starts, active: Range<Time>, rng: Rng) -> Self {
        let at = active.start.ns() as f64;
        let mut calendar = Self { starts, active, rng, arrived: 0, next: Time::NEVER, at };
        calendar.plan();
        calendar
    }

    /// When the next task arrives; [`Time::NEVER`] if none remains.
    pub(super) fn next(&self) -> Time {
        self.next
    }

    /// The next task has arrived.
    pub(super) fn pass(&mut self) {
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
