//! Weights that are raised for a while: `low_latency`.

use penstock_core::{Span, Time};

/// How many times the weight of a queue counts that seems to belong to an interactive program.
const INTERACTIVE: u64 = 30;

/// The same of one that seems to play or record: it must not be late at all.
const SOFT_REAL_TIME: u64 = 100 * INTERACTIVE;

/// A queue that had nothing to do for this long belongs to a program that begins something new.
const PAUSE: Span = Span::from_secs(2);

/// How long an interactive queue is raised: what a large program takes to load from an idle disk. On
/// a disk of this many bytes a second it is six seconds, on a faster one less.
const LOAD_RATE: u64 = 60_000_000;
const LOAD: Span = Span::from_secs(6);
const LOAD_LEAST: Span = Span::from_secs(3);
const LOAD_MOST: Span = Span::from_secs(25);

/// What a player asks for at most, in bytes a second: 7,000 sectors.
const PLAYER_RATE: u64 = 7_000 * 512;

/// How long a player is raised after it has asked.
const PLAYER: Span = Span::from_ms(300);

/// Whether and for how long a queue's weight is raised.
#[derive(Clone, Debug, Default)]
pub(super) struct Raising {
    kind: Option<Raised>,
    until: Time,
    /// Since when it has had something to do, and what it got since then.
    busy_since: Time,
    got: u64,
    /// When it had nothing to do any more, and when a player would ask again.
    rests: Option<Rest>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Raised {
    Interactive,
    SoftRealTime,
}

#[derive(Clone, Copy, Debug)]
struct Rest {
    since: Time,
    player_asks: Time,
}

impl Raising {
    /// The factor of its weight.
    pub(super) fn factor(&self) -> u64 {
        match self.kind {
            None => 1,
            Some(Raised::Interactive) => INTERACTIVE,
            Some(Raised::SoftRealTime) => SOFT_REAL_TIME,
        }
    }

    /// A queue that had nothing to do gets a request. `rate` is the disk's, if known. Returns how it is
    /// raised, if this begins now.
    pub(super) fn begins(
        &mut self,
        now: Time,
        scattered: bool,
        rate: Option<u64>,
    ) -> Option<Raised> {
        self.expire(now);
        let paused = self.rests.is_none_or(|rest| now.since(rest.since) >= PAUSE);
        let plays = self.rests.is_some_and(|rest| rest.player_asks <= now) && !scattered;
        (self.busy_since, self.got) = (now, 0);
        let before = self.kind;
        if paused {
            (self.kind, self.until) = (Some(Raised::Interactive), now + load_time(rate));
        } else if plays {
            (self.kind, self.until) = (Some(Raised::SoftRealTime), now + PLAYER);
        }
        self.kind.filter(|_| self.kind != before)
    }

    /// Its time may be over.
    pub(super) fn expire(&mut self, now: Time) {
        if self.until <= now {
            self.kind = None;
        }
    }

    /// A command of it was sent.
    pub(super) fn serves(&mut self, bytes: u64) {
        self.got += bytes;
    }

    /// It has nothing queued and nothing in flight. A player that got so much asks no sooner than it
    /// has played it, and not at once.
    pub(super) fn rests(&mut self, now: Time, slice_idle: Span) {
        let played = Span::from_secs(1).share(self.got, PLAYER_RATE);
        let player_asks = (self.busy_since + played).max(now + slice_idle + Span::from_ns(1));
        self.rests = Some(Rest { since: now, player_asks });
    }
}

/// How long an interactive queue is raised on a disk of this rate.
fn load_time(rate: Option<u64>) -> Span {
    rate.map_or(LOAD, |rate| LOAD.share(LOAD_RATE, rate.max(1))).max(LOAD_LEAST).min(LOAD_MOST)
}
