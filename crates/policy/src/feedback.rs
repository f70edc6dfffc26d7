//! How many bytes long requests may have at a real device, found by feedback.
//!
//! Additive increase, multiplicative decrease, as TCP finds what a path bears: what a device does
//! with much in flight is not known beforehand and changes while it runs. The signal is the latency
//! of the short requests. A request that stays within the target lets the bound grow by a small
//! part of a piece. A request that misses it cuts the bound by a quarter, and requests that were
//! already under way do not cut it again. So about one short request in a hundred misses where the
//! bound settles: the target is nearly their 99th percentile. The size of a miss does not count:
//! the longest latencies are stalls that no bound causes. A bound that is much too wide is cut by
//! one request after another.
//!
//! While no short request has come for [`QUIET`] there is no request to protect, and no bound.
//!
//! Source: Jacobson, "Congestion Avoidance and Control" (1988), for increase, decrease and the
//! first growth by doubling; the constants are ours.

use penstock_core::{Span, Time};

/// A request within the target increases the bound by a piece divided by this. So at a bound of `L`
/// pieces, `L · GROWTH / 4` such requests make up for one miss.
const GROWTH: u64 = 128;

/// After this long without a short request none is waiting.
const QUIET: Span = Span::from_ms(1000);

/// More in flight makes no device faster.
const MOST: u64 = 64 << 20;

/// The bound and what moves it.
#[derive(Debug)]
pub(crate) struct Feedback {
    target: Span,
    /// The bound never falls below one piece, so that long requests move.
    piece: u64,
    bound: u64,
    /// Until the first miss each good request adds a whole piece.
    first: bool,
    /// Requests that were due by then do not count: the bound has changed since.
    cut: Option<Time>,
    /// When a short request last arrived or finished.
    last_short: Option<Time>,
}

impl Feedback {
    /// Keeps the latency of short requests near `target`, with long ones in pieces of `piece`
    /// bytes.
    pub(crate) fn new(target: Span, piece: u32) -> Self {
        let piece = u64::from(piece).min(MOST);
        Self { target, piece, bound: piece, first: true, cut: None, last_short: None }
    }

    /// Bytes that long requests may have in flight now.
    pub(crate) fn bound(&self, now: Time) -> u64 {
        match self.last_short {
            Some(last) if now.since(last) < QUIET => self.bound,
            _ => u64::MAX,
        }
    }

    /// A short request has arrived.
    pub(crate) fn arrived(&mut self, now: Time) {
        if self.bound(now) == u64::MAX {
            // It meets commands that were sent while there was no bound, so it does not count.
            self.cut = Some(now);
        }
        self.last_short = Some(now);
    }

    /// A short request that was due at `due` has finished. `pressed`: long requests are waiting, so
    /// the bound is what holds them back.
    pub(crate) fn finished(&mut self, now: Time, due: Time, pressed: bool) {
        self.last_short = Some(now);
        let latency = now.since(due);
        if latency <= self.target {
            if pressed {
                let step = if self.first { self.piece } else { self.piece / GROWTH };
                self.bound = (self.bound + step).min(MOST);
            }
            return;
        }
        if self.cut.is_some_and(|cut| due <= cut) {
            return;
        }
        self.bound = (self.bound - self.bound / 4).max(self.piece);
        (self.first, self.cut) = (false, Some(now));
    }
}
