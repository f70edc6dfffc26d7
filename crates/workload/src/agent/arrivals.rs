//! The arrivals of an agent's requests.

use std::num::NonZeroU32;

use penstock_core::Span;

use super::think::Think;

/// The rule for the times at which an agent issues requests.
#[derive(Clone, PartialEq, Debug)]
pub enum Arrivals {
    /// An open loop: requests arrive on a schedule.
    Open {
        /// Requests per second.
        rate: f64,
        /// Spacing of the arrivals.
        pace: Pace,
        /// Factors on the rate over equal parts of the active time; empty for a constant rate.
        curve: Vec<f64>,
        /// Most requests in flight, if bounded. At the bound the next request is still due as
        /// scheduled, but is issued when one has completed.
        buffers: Option<NonZeroU32>,
    },
    /// A closed loop: a request arrives when an earlier one has finished.
    Closed {
        /// Number of outstanding requests.
        depth: u32,
        /// Pause between a completion and the next request.
        think: Think,
        /// Number of requests of a burst, if requests come in bursts: they follow each other without
        /// a pause, and when all have completed, the pause comes before the next burst.
        burst: Option<NonZeroU32>,
    },
    /// In turn with all other agents that take turns: one request at a time, and each agent once in
    /// a round, in a random order for each round. Sequential agents share one position. After its
    /// last request an agent leaves the rounds.
    Turns,
}

impl Arrivals {
    /// An open loop with a constant rate and no bound on requests in flight.
    pub const fn open(rate: f64, pace: Pace) -> Self {
        Self::Open { rate, pace, curve: Vec::new(), buffers: None }
    }

    /// A closed loop with a fixed think time.
    pub const fn closed(depth: u32, think: Span) -> Self {
        Self::Closed { depth, think: Think::Fixed(think), burst: None }
    }
}

/// The spacing of the arrivals of an open loop.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pace {
    /// Evenly spaced.
    Fixed,
    /// Random and independent of each other.
    Poisson,
}
