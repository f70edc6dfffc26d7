//! A bound on the bytes of long requests at a real device, regulated by feedback.
//!
//! Additive increase, multiplicative decrease, as TCP uses to find the capacity of a path: how a
//! device behaves with much in flight is not known beforehand and changes while it runs. The signal
//! is the latency of the short requests. A request within the target lets the bound grow by a small
//! part of a piece. A request that misses the target cuts the bound by a quarter, and requests that
//! were already under way do not cut it again. So the bound settles where about one short request
//! in a hundred misses: the target is nearly their 99th percentile. The size of a miss does not
//! count: the longest latencies are stalls that no bound causes. A bound that is much too wide is
//! cut by one request after another.
//!
//! Holding back is worth its price only if it helps. The latency of short requests while one piece
//! of a long one is in flight is the best that any bound can reach: the baseline. If twice the
//! baseline's median exceeds the configured target, it is the target instead: with as many bytes in
//! flight as double the latency, a device that is far away is just full. If short requests miss the
//! target at a certain rate at the baseline, the same rate of misses is excused anywhere. Both may
//! change, so if either is in use the bound returns to one piece from time to time, and at once if
//! pieces are half as long as when the target was taken from them.
//!
//! The bytes that the device transfers between the baseline's median and the configured target do
//! not make a short request late. So misses at such a bound have other reasons, and no cut takes
//! these bytes away. For this the device time of a piece must be known.
//!
//! If no short request has come for [`QUIET`] there is no request to protect, and no bound.
//!
//! Source: Jacobson, "Congestion Avoidance and Control" (1988), for increase, decrease and the
//! first growth by doubling; Kleinrock, "Power and Deterministic Rules of Thumb" (1979), for twice the
//! time alone; what one piece reaches, and the other constants, are ours.

use penstock_core::{Span, Time};

/// A request within the target increases the bound by a piece divided by this. So at a bound of `L`
/// pieces, `L · GROWTH / 4` such requests make up for one miss.
const GROWTH: u64 = 128;

/// Time without a short request after which the bound is lifted.
const QUIET: Span = Span::from_ms(1000);

/// Largest bound in bytes: more in flight makes no device faster.
const BOUND_MOST: u64 = 64 << 20;

/// Number of short requests in a median of the baseline.
const BASELINE_SAMPLES: usize = 32;

/// Number of short requests after which the baseline is measured again.
const BASELINE_STALE: u32 = 1024;

/// Number of requests after which the counts of baseline requests and misses are halved.
const MISSES_COUNTED: u32 = 256;

/// Most misses that may be excused in a row.
const CREDITS_MOST: u64 = 4;

/// The credit that excuses one miss.
const CREDIT: u64 = 1 << 16;

/// The bound, and the state that regulates it.
#[derive(Debug)]
pub(crate) struct Feedback {
    target: Span,
    /// The bound never falls below one piece, so that long requests move.
    piece: u64,
    /// Device time of a piece; zero while it is not known.
    piece_time: Span,
    bound: u64,
    /// Until the first miss each request within the target adds a whole piece.
    slow_start: bool,
    /// The bound stays at one piece until the baseline has a median.
    probing: bool,
    /// Time of the last cut: requests due by then do not count, because the bound has changed
    /// since.
    cut: Option<Time>,
    /// Time at which a short request last arrived or finished.
    last_short: Option<Time>,
    baseline: Baseline,
    /// Short requests since the baseline was last measured.
    since_baseline: u32,
    /// Excused misses, in units of [`CREDIT`] each.
    credit: u64,
}

/// Latencies of short requests while one piece of a long one is in flight.
#[derive(Debug, Default)]
struct Baseline {
    latencies: [u64; BASELINE_SAMPLES],
    filled: usize,
    /// The median of the last [`BASELINE_SAMPLES`] latencies.
    median: Option<Span>,
    /// The length of a piece when the measurement began.
    piece: u64,
    requests: u32,
    misses: u32,
    /// Time since which the bound is one piece; requests due by then may have met more in flight.
    since: Option<Time>,
}

impl Baseline {
    /// Begins a measurement anew.
    fn restart(&mut self) {
        (self.filled, self.piece, self.since) = (0, 0, None);
        (self.requests, self.misses) = (0, 0);
    }

    /// Adds a latency with pieces of `piece` bytes. Returns whether this completes a median.
    fn add(&mut self, latency: Span, piece: u64) -> bool {
        if self.filled == 0 {
            self.piece = piece;
        }
        self.latencies[self.filled] = latency.ns();
        self.filled += 1;
        if self.filled < BASELINE_SAMPLES {
            return false;
        }
        self.filled = 0;
        self.latencies.sort_unstable();
        if self.median.is_none() {
            // These misses were counted against a target that may be out of reach.
            (self.requests, self.misses) = (0, 0);
        }
        self.median = Some(Span::from_ns(self.latencies[BASELINE_SAMPLES / 2]));
        true
    }

    fn count(&mut self, missed: bool) {
        if self.requests == MISSES_COUNTED {
            (self.requests, self.misses) = (self.requests / 2, self.misses / 2);
        }
        self.requests += 1;
        self.misses += u32::from(missed);
    }

    /// The rate of misses, as a part of [`CREDIT`]; two misses or fewer count as none.
    fn miss_rate(&self) -> u64 {
        u64::from(self.misses.saturating_sub(2)) * CREDIT / u64::from(self.requests.max(1))
    }
}

impl Feedback {
    /// Keeps the latency of short requests near `target`, with long ones in pieces of `piece`
    /// bytes.
    pub(crate) fn new(target: Span, piece: u32) -> Self {
        let piece = u64::from(piece).min(BOUND_MOST);
        Self {
            target,
            piece,
            piece_time: Span::ZERO,
            bound: piece,
            slow_start: true,
            probing: true,
            cut: None,
            last_short: None,
            baseline: Baseline::default(),
            since_baseline: 0,
            credit: 0,
        }
    }

    /// Sets the length of pieces from now on, and the device time of each.
    pub(crate) fn set_piece(&mut self, piece: u32, time: Span) {
        self.try_piece(piece, time);
        if self.is_relative() && self.piece < self.baseline.piece / 2 {
            // Short requests waited for longer ones when the baseline was measured.
            self.baseline.restart();
            self.probing = true;
        }
        if self.probing {
            // Pieces may have become shorter since the measurement began.
            self.bound = self.piece;
        }
    }

    /// Sets the length of pieces for a trial of some, and the device time of each.
    pub(crate) fn try_piece(&mut self, piece: u32, time: Span) {
        self.piece = u64::from(piece).min(BOUND_MOST);
        self.piece_time = time;
        self.bound = self.bound.max(self.piece);
    }

    /// The target in force.
    fn target(&self) -> Span {
        self.baseline.median.map_or(self.target, |median| self.target.max(median.share(2, 1)))
    }

    /// Whether the target in force is that of the baseline.
    fn is_relative(&self) -> bool {
        self.target() > self.target
    }

    /// The least bound: the bytes that the device transfers between the baseline's median and the
    /// configured target; and half a piece, because half of the requests of the baseline waited for
    /// that much.
    fn least(&self) -> u64 {
        let Some(median) = self.baseline.median else { return self.piece };
        let spare = self.target.ns().saturating_sub(median.ns());
        let bytes = self.piece.saturating_mul(spare).checked_div(self.piece_time.ns());
        let least = bytes.map_or(0, |bytes| bytes.saturating_add(self.piece / 2));
        least.clamp(self.piece, BOUND_MOST)
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
            // It waits behind commands that were sent without a bound, so it does not count.
            self.cut = Some(now);
        }
        self.last_short = Some(now);
    }

    /// A short request that was due at `due` has finished. `pressed`: long requests are waiting, so
    /// the bound holds them back.
    pub(crate) fn finished(&mut self, now: Time, due: Time, pressed: bool) {
        self.last_short = Some(now);
        let latency = now.since(due);
        let counts = self.cut.is_none_or(|cut| due > cut);
        let missed = latency > self.target();
        // No bound prevents a miss that happens with one piece in flight.
        let at_one_piece = self.bound < 2 * self.piece;
        if counts && pressed {
            self.learn(now, due, missed);
        }
        if !missed {
            if pressed && !self.probing {
                let step = if self.slow_start { self.piece } else { self.piece / GROWTH };
                self.bound = (self.bound + step).min(BOUND_MOST);
            }
            return;
        }
        if !counts {
            return;
        }
        self.cut = Some(now);
        if at_one_piece {
            return;
        }
        if self.credit >= CREDIT {
            self.credit -= CREDIT;
            return;
        }
        self.bound = (self.bound - self.bound / 4).max(self.least());
        self.slow_start = false;
    }

    /// Measures the baseline while the bound is one piece. Otherwise adds credit, and returns to
    /// one piece if a baseline that is in use is stale.
    fn learn(&mut self, now: Time, due: Time, missed: bool) {
        if self.bound < 2 * self.piece {
            self.since_baseline = 0;
            if due > *self.baseline.since.get_or_insert(now) {
                self.baseline.count(missed);
                if self.baseline.add(now.since(due), self.piece) && self.probing {
                    (self.probing, self.slow_start) = (false, true);
                    self.bound = self.least();
                }
            }
            return;
        }
        self.baseline.since = None;
        self.credit = (self.credit + self.baseline.miss_rate()).min(CREDITS_MOST * CREDIT);
        self.since_baseline += 1;
        let in_use = self.is_relative() || self.baseline.miss_rate() > 0;
        if self.since_baseline >= BASELINE_STALE && in_use {
            (self.bound, self.probing) = (self.piece, true);
        }
    }
}

#[cfg(test)]
mod tests {
    use core::ops::Range;

    use super::*;

    #[test]
    fn pieces_that_become_shorter_while_the_baseline_is_measured_do_not_hold_the_bound() {
        let mut feedback = Feedback::new(Span::from_us(500), 64 << 10);
        feedback.try_piece(256 << 10, Span::ZERO);
        feedback.set_piece(32 << 10, Span::ZERO);
        for request in 1..=100 {
            let due = Time::ZERO + Span::from_ms(request);
            feedback.arrived(due);
            feedback.finished(due + Span::from_us(200), due, true);
        }
        let bound = feedback.bound(Time::ZERO + Span::from_ms(101));
        assert!(bound > 256 << 10, "{bound}");
    }

    /// Feeds the short requests numbered `requests`, one every ten milliseconds, that take
    /// `latency` each.
    fn feed(feedback: &mut Feedback, requests: Range<u64>, latency: Span) {
        for request in requests {
            let due = Time::ZERO + Span::from_ms(10 * request);
            feedback.arrived(due);
            feedback.finished(due + latency, due, true);
        }
    }

    #[test]
    fn misses_leave_as_much_as_passes_between_the_baseline_and_the_target() {
        let mut feedback = Feedback::new(Span::from_us(500), 32 << 10);
        feedback.set_piece(32 << 10, Span::from_us(100));
        feed(&mut feedback, 1..41, Span::from_us(200));
        feed(&mut feedback, 41..241, Span::from_us(900));
        // 300 us of transfers, and half a piece.
        assert_eq!(feedback.bound, (3 * 32 + 16) << 10);
    }

    #[test]
    fn a_target_from_a_baseline_of_long_pieces_does_not_hold_for_short_ones() {
        let mut feedback = Feedback::new(Span::from_us(500), 512 << 10);
        feedback.set_piece(512 << 10, Span::from_us(2_000));
        feed(&mut feedback, 1..41, Span::from_us(1_300));
        assert_eq!(feedback.target(), Span::from_us(2_600));
        feedback.set_piece(32 << 10, Span::from_us(100));
        assert_eq!(feedback.bound, 32 << 10);
        feed(&mut feedback, 41..81, Span::from_us(200));
        assert_eq!(feedback.target(), Span::from_us(500));
        assert!(feedback.bound > 32 << 10);
    }
}
