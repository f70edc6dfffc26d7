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
//! Holding back is worth its price only if it helps. What short requests reach while one piece of a
//! long one is in flight is the most that any bound can do for them. Their median there, and half of
//! it, is the target if that is more than what was asked for. As often as they miss the target there,
//! they may miss it anywhere without a cut. Both may change, so from time to time the bound goes
//! back to one piece while they are used.
//!
//! While no short request has come for [`QUIET`] there is no request to protect, and no bound.
//!
//! Source: Jacobson, "Congestion Avoidance and Control" (1988), for increase, decrease and the
//! first growth by doubling; what one piece reaches, and the constants, are ours.

use penstock_core::{Span, Time};

/// A request within the target increases the bound by a piece divided by this. So at a bound of `L`
/// pieces, `L · GROWTH / 4` such requests make up for one miss.
const GROWTH: u64 = 128;

/// After this long without a short request none is waiting.
const QUIET: Span = Span::from_ms(1000);

/// More in flight makes no device faster.
const MOST: u64 = 64 << 20;

/// Short requests that say what one piece in flight reaches.
const REACHED: usize = 32;

/// After so many short requests what one piece in flight reaches is looked at again.
const STALE: u32 = 1024;

/// Misses with one piece in flight are counted over so many requests, the last ones.
const COUNTED: u32 = 256;

/// Misses that may be excused in a row.
const CREDITS: u64 = 4;

/// One miss, in credit.
const ONE: u64 = 1 << 16;

/// The bound and what moves it.
#[derive(Debug)]
pub(crate) struct Feedback {
    target: Span,
    /// The bound never falls below one piece, so that long requests move.
    piece: u64,
    bound: u64,
    /// Until the first miss each good request adds a whole piece.
    first: bool,
    /// It stays at one piece until it is known what that reaches.
    probing: bool,
    /// Requests that were due by then do not count: the bound has changed since.
    cut: Option<Time>,
    /// When a short request last arrived or finished.
    last_short: Option<Time>,
    least: Least,
    /// Short requests since it was last known what one piece in flight reaches.
    since_least: u32,
    /// Misses that are excused, of which each is [`ONE`].
    credit: u64,
}

/// What short requests meet while one piece of a long one is in flight.
#[derive(Debug, Default)]
struct Least {
    latencies: [u64; REACHED],
    filled: usize,
    /// The median of as many latencies.
    median: Option<Span>,
    requests: u32,
    misses: u32,
    /// Requests that were due by then may have met more.
    since: Option<Time>,
}

impl Least {
    /// Takes in a latency; true if this completes as many as say something.
    fn add(&mut self, latency: Span) -> bool {
        self.latencies[self.filled] = latency.ns();
        self.filled += 1;
        if self.filled < REACHED {
            return false;
        }
        self.filled = 0;
        self.latencies.sort_unstable();
        if self.median.is_none() {
            // They were held to a target that may be out of reach.
            (self.requests, self.misses) = (0, 0);
        }
        self.median = Some(Span::from_ns(self.latencies[REACHED / 2]));
        true
    }

    fn count(&mut self, missed: bool) {
        if self.requests == COUNTED {
            (self.requests, self.misses) = (self.requests / 2, self.misses / 2);
        }
        self.requests += 1;
        self.misses += u32::from(missed);
    }

    /// How often a request misses, of [`ONE`]; one or two are no rate.
    fn misses(&self) -> u64 {
        u64::from(self.misses.saturating_sub(2)) * ONE / u64::from(self.requests.max(1))
    }
}

impl Feedback {
    /// Keeps the latency of short requests near `target`, with long ones in pieces of `piece`
    /// bytes.
    pub(crate) fn new(target: Span, piece: u32) -> Self {
        let piece = u64::from(piece).min(MOST);
        Self {
            target,
            piece,
            bound: piece,
            first: true,
            probing: true,
            cut: None,
            last_short: None,
            least: Least::default(),
            since_least: 0,
            credit: 0,
        }
    }

    /// Pieces have this length from now on.
    pub(crate) fn pieces(&mut self, piece: u32) {
        self.piece = u64::from(piece).min(MOST);
        self.bound = self.bound.max(self.piece);
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
        let target =
            self.least.median.map_or(self.target, |median| self.target.max(median.share(3, 2)));
        let counts = self.cut.is_none_or(|cut| due > cut);
        let missed = latency > target;
        // What is missed with one piece in flight is missed with any bound.
        let least = self.bound < 2 * self.piece;
        if counts && pressed {
            self.learn(now, due, missed);
        }
        if !missed {
            if pressed && !self.probing {
                let step = if self.first { self.piece } else { self.piece / GROWTH };
                self.bound = (self.bound + step).min(MOST);
            }
            return;
        }
        if !counts {
            return;
        }
        self.cut = Some(now);
        if least {
            return;
        }
        if self.credit >= ONE {
            self.credit -= ONE;
            return;
        }
        self.bound = (self.bound - self.bound / 4).max(self.piece);
        self.first = false;
    }

    /// Learns what one piece in flight reaches if there is no more, and goes back there at times if
    /// that decides anything.
    fn learn(&mut self, now: Time, due: Time, missed: bool) {
        if self.bound < 2 * self.piece {
            self.since_least = 0;
            if due > *self.least.since.get_or_insert(now) {
                self.least.count(missed);
                if self.least.add(now.since(due)) && self.probing {
                    (self.probing, self.first) = (false, true);
                }
            }
            return;
        }
        self.least.since = None;
        self.credit = (self.credit + self.least.misses()).min(CREDITS * ONE);
        self.since_least += 1;
        let relative = self.least.median.is_some_and(|median| median.share(3, 2) > self.target);
        if self.since_least >= STALE && (relative || self.least.misses() > 0) {
            (self.bound, self.probing) = (self.piece, true);
        }
    }
}
