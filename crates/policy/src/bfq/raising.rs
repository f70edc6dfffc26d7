//! Temporarily raised weights: `low_latency`.

use penstock_core::{Span, Time};

/// Factor on the weight of a queue that seems to belong to an interactive program.
const INTERACTIVE: u64 = 30;

/// Factor on the weight of a queue that seems to play or record: it must not be late at all.
const SOFT_REAL_TIME: u64 = 100 * INTERACTIVE;

/// Idle time after which a queue counts as that of a program that begins something new.
const PAUSE: Span = Span::from_secs(2);

/// Time for which an interactive queue is raised: a large program takes [`LOAD`] to load from an
/// idle disk of `LOAD_RATE` bytes a second, and less from a faster one, within the two limits.
const LOAD_RATE: u64 = 60_000_000;
const LOAD: Span = Span::from_secs(6);
const LOAD_LEAST: Span = Span::from_secs(3);
const LOAD_MOST: Span = Span::from_secs(25);

/// Largest rate of a player in bytes a second: 7,000 sectors.
const PLAYER_RATE: u64 = 7_000 * 512;

/// Time for which a player is raised after a request.
const PLAYER: Span = Span::from_ms(300);

/// Whether, and until when, the weight of a queue is raised.
#[derive(Clone, Debug, Default)]
pub(super) struct Raising {
    kind: Option<Raised>,
    until: Time,
    /// Time since which the queue has had requests, and bytes sent since then.
    busy_since: Time,
    sent: u64,
    /// The last time at which the queue became idle.
    idle: Option<Idle>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Raised {
    Interactive,
    SoftRealTime,
}

#[derive(Clone, Copy, Debug)]
struct Idle {
    since: Time,
    /// Earliest time of the next request of a player.
    player_next: Time,
}

impl Raising {
    /// The factor on the weight.
    pub(super) fn factor(&self) -> u64 {
        match self.kind {
            None => 1,
            Some(Raised::Interactive) => INTERACTIVE,
            Some(Raised::SoftRealTime) => SOFT_REAL_TIME,
        }
    }

    /// An idle queue gets a request. `rate` is that of the disk, if known. Returns the kind of
    /// raising if it begins now.
    pub(super) fn begins(
        &mut self,
        now: Time,
        scattered: bool,
        rate: Option<u64>,
    ) -> Option<Raised> {
        self.expire(now);
        let paused = self.idle.is_none_or(|idle| now.since(idle.since) >= PAUSE);
        let plays = self.idle.is_some_and(|idle| idle.player_next <= now) && !scattered;
        (self.busy_since, self.sent) = (now, 0);
        let before = self.kind;
        if paused {
            (self.kind, self.until) = (Some(Raised::Interactive), now + load_time(rate));
        } else if plays {
            (self.kind, self.until) = (Some(Raised::SoftRealTime), now + PLAYER);
        }
        self.kind.filter(|_| self.kind != before)
    }

    /// Ends the raising if its time is over.
    pub(super) fn expire(&mut self, now: Time) {
        if self.until <= now {
            self.kind = None;
        }
    }

    /// A command of the queue was sent.
    pub(super) fn sent(&mut self, bytes: u64) {
        self.sent += bytes;
    }

    /// The queue has no request queued or in flight. A player asks again when it has played the
    /// bytes that it got, and later than a program that reads in sequence would.
    pub(super) fn went_idle(&mut self, now: Time, slice_idle: Span) {
        let played = Span::from_secs(1).share(self.sent, PLAYER_RATE);
        let player_next = (self.busy_since + played).max(now + slice_idle + Span::from_ns(1));
        self.idle = Some(Idle { since: now, player_next });
    }
}

/// Returns the time for which an interactive queue is raised on a disk of `rate` bytes a second.
fn load_time(rate: Option<u64>) -> Span {
    rate.map_or(LOAD, |rate| LOAD.share(LOAD_RATE, rate.max(1))).max(LOAD_LEAST).min(LOAD_MOST)
}
