//! How many bytes a queue may have at a turn, and what the disk can do at best.

use penstock_core::Span;

use crate::think_time::DecayingMean;

/// The largest budget as long as the disk's rate is not known.
const FIRST: u64 = 8 << 20;

/// No budget is less: a small one would be a seek for a few blocks.
const LEAST: u64 = 64 << 10;

/// A service that took less says nothing of a rate: it is mostly a seek.
const SHORTEST: Span = Span::from_ms(20);

/// Why a queue's service ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum EndOfService {
    /// Its budget does not hold its next command.
    Exhausted,
    /// It has nothing to do.
    Emptied,
    /// Its time is over.
    TimedOut,
    /// One that goes first has come.
    Preempted,
}

/// The largest budget, fixed or by the rate that sequential queues reach.
#[derive(Debug)]
pub(super) struct Budgets {
    fixed: Option<u64>,
    timeout: Span,
    /// Bytes a second.
    rate: DecayingMean,
}

impl Budgets {
    /// `fixed` is the largest budget, if the rate does not make it.
    pub(super) fn new(fixed: Option<u64>, timeout: Span) -> Self {
        Self { fixed, timeout, rate: DecayingMean::default() }
    }

    /// The largest budget: what the disk serves in `timeout_sync` at its rate.
    pub(super) fn most(&self) -> u64 {
        let by_rate = |rate| amount(rate, self.timeout);
        self.fixed.or_else(|| self.rate.get().map(by_rate)).unwrap_or(FIRST).max(LEAST)
    }

    /// The first budget of a queue.
    pub(super) fn first(&self) -> u64 {
        (self.most() / 2).max(LEAST)
    }

    /// The rate that sequential queues reach, in bytes a second.
    pub(super) fn rate(&self) -> Option<u64> {
        self.rate.get()
    }

    /// A sequential queue has been served.
    pub(super) fn served(&mut self, bytes: u64, took: Span) {
        if took >= SHORTEST {
            self.rate.add(rate(bytes, took));
        }
    }

    /// Whether a queue is served at less than half of the disk's rate, as far as that can be seen.
    pub(super) fn is_slow(&self, bytes: u64, took: Span) -> bool {
        took >= SHORTEST && self.rate.get().is_some_and(|most| rate(bytes, took) < most / 2)
    }

    /// What the disk would have served in this time, in bytes: the charge of a slow queue.
    pub(super) fn charge_of_time(&self, took: Span) -> u64 {
        let bytes = u128::from(self.most()) * u128::from(took.ns());
        u64::try_from(bytes / u128::from(self.timeout.ns())).unwrap_or(u64::MAX)
    }

    /// The next budget of a queue that used `used` of `budget`: twice as much if it could use it;
    /// what it used if it has nothing more to do, so that it is served soon when it comes again.
    pub(super) fn next(&self, end: EndOfService, budget: u64, used: u64) -> u64 {
        let next = match end {
            EndOfService::Exhausted => budget.saturating_mul(2),
            EndOfService::Emptied | EndOfService::TimedOut => used,
            EndOfService::Preempted => budget,
        };
        next.clamp(LEAST, self.most())
    }
}

/// Bytes a second.
fn rate(bytes: u64, took: Span) -> u64 {
    let rate = u128::from(bytes) * u128::from(Span::from_secs(1).ns()) / u128::from(took.ns());
    u64::try_from(rate).unwrap_or(u64::MAX)
}

/// Bytes in `time` at a rate.
fn amount(rate: u64, time: Span) -> u64 {
    let bytes = u128::from(rate) * u128::from(time.ns()) / u128::from(Span::from_secs(1).ns());
    u64::try_from(bytes).unwrap_or(u64::MAX)
}
