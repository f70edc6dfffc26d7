//! Budgets: the bytes that a queue may send in one service, derived from the rate of the disk.

use penstock_core::Span;

use crate::think_time::DecayingMean;

/// The largest budget in bytes while the rate of the disk is not known.
const FIRST: u64 = 8 << 20;

/// The smallest budget in bytes: with less, a seek would serve only a few blocks.
const LEAST: u64 = 64 << 10;

/// Shortest service from which a rate is measured: a shorter one is mostly a seek.
const SHORTEST: Span = Span::from_ms(20);

/// The reason why a queue's service ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum EndOfService {
    /// Its budget is too small for its next command.
    Exhausted,
    /// It has no request.
    Emptied,
    /// Its time is over.
    TimedOut,
    /// A queue that goes first got a request.
    Preempted,
}

/// The largest budget, fixed or by the rate that sequential queues reach.
#[derive(Debug)]
pub(super) struct Budgets {
    fixed: Option<u64>,
    timeout: Span,
    /// Rate of sequential queues in bytes a second.
    rate: DecayingMean,
}

impl Budgets {
    /// Creates budgets of at most `fixed` bytes; without it, the rate of the disk sets the limit.
    pub(super) fn new(fixed: Option<u64>, timeout: Span) -> Self {
        Self { fixed, timeout, rate: DecayingMean::default() }
    }

    /// The largest budget: the bytes that the disk serves in `timeout_sync` at its rate.
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

    /// A sequential queue was served: `bytes` in the time `took`.
    pub(super) fn served(&mut self, bytes: u64, took: Span) {
        if took >= SHORTEST {
            self.rate.add(rate(bytes, took));
        }
    }

    /// Whether a queue was served at less than half of the disk's rate. `false` if the service was
    /// too short to tell.
    pub(super) fn is_slow(&self, bytes: u64, took: Span) -> bool {
        took >= SHORTEST && self.rate.get().is_some_and(|most| rate(bytes, took) < most / 2)
    }

    /// Bytes that the disk would have served in this time: the charge of a slow queue.
    pub(super) fn charge_of_time(&self, took: Span) -> u64 {
        let bytes = u128::from(self.most()) * u128::from(took.ns());
        u64::try_from(bytes / u128::from(self.timeout.ns())).unwrap_or(u64::MAX)
    }

    /// The next budget of a queue that used `used` of `budget`: twice as much if it was exhausted;
    /// `used` if the queue has no more requests, so that it is served soon when it gets one.
    pub(super) fn next(&self, end: EndOfService, budget: u64, used: u64) -> u64 {
        let next = match end {
            EndOfService::Exhausted => budget.saturating_mul(2),
            EndOfService::Emptied | EndOfService::TimedOut => used,
            EndOfService::Preempted => budget,
        };
        next.clamp(LEAST, self.most())
    }
}

/// Returns the rate of `bytes` in the time `took`, in bytes a second.
fn rate(bytes: u64, took: Span) -> u64 {
    let rate = u128::from(bytes) * u128::from(Span::from_secs(1).ns()) / u128::from(took.ns());
    u64::try_from(rate).unwrap_or(u64::MAX)
}

/// Returns the bytes served in `time` at `rate` bytes a second.
fn amount(rate: u64, time: Span) -> u64 {
    let bytes = u128::from(rate) * u128::from(time.ns()) / u128::from(Span::from_secs(1).ns());
    u64::try_from(bytes).unwrap_or(u64::MAX)
}
