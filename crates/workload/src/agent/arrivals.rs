//! When an agent issues requests.

use std::num::NonZeroU32;

use penstock_core::Span;

use super::think::Think;

/// When an agent issues requests.
#[derive(Clone, PartialEq, Debug)]
pub enum Arrivals {
    /// On a schedule.
    Open {
        /// Requests a second.
        rate: f64,
        /// How arrivals are spaced.
        pace: Pace,
        /// Factors of the rate over equal parts of the active time; empty: constant.
        curve: Vec<f64>,
        /// Requests in flight at most, if there is a bound: the next is then due as scheduled, and
        /// issued when one has completed.
        buffers: Option<NonZeroU32>,
    },
    /// When an earlier one has finished.
    Closed {
        /// Requests outstanding.
        depth: u32,
        /// Pause between a completion and the next request.
        think: Think,
    },
    /// In turn with all other agents that take turns: one request at a time, and each agent once in
    /// a round, in a random order for each round. Sequential ones share one position. After its
    /// last request an agent takes part in no further round.
    Turns,
}

impl Arrivals {
    /// On a schedule without a curve, whatever is in flight.
    pub const fn open(rate: f64, pace: Pace) -> Self {
        Self::Open { rate, pace, curve: Vec::new(), buffers: None }
    }

    /// A closed loop that pauses for `think` each time.
    pub const fn closed(depth: u32, think: Span) -> Self {
        Self::Closed { depth, think: Think::Fixed(think) }
    }
}

/// How arrivals of an open loop are spaced.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pace {
    /// Evenly.
    Fixed,
    /// At random, independently of one another.
    Poisson,
}
