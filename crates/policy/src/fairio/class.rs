//! The account of a class.

use alloc::string::String;

use penstock_core::{ClassInfo, Span, Time};

use crate::charge::RunningMean;

/// A class and its account of the current cycle. Amounts are nanoseconds of device time, or of the
/// charges of a law.
#[derive(Debug)]
pub(super) struct Class {
    pub(super) name: String,
    pub(super) weight: u64,
    /// Whether it gets a share.
    pub(super) active: bool,
    pub(super) share: u64,
    /// Amount charged to it in this cycle.
    pub(super) used: u64,
    /// The part of `used` that does not count in later cycles.
    pub(super) exempt: u64,
    /// Amount charged to it in all cycles that have ended.
    pub(super) charged: u64,
    /// Amount reserved for its commands in flight, including those of earlier cycles.
    pub(super) reserved: u64,
    pub(super) estimate: RunningMean,
    pub(super) in_flight: u32,
    /// Whether it has a request queued.
    pub(super) waits: bool,
    /// Whether it is held back because its share is too small for `class_threshold` commands.
    pub(super) held: bool,
    idle: Idleness,
    /// Time at which its last request arrived.
    pub(super) last_arrival: Time,
}

/// Times in which a class has no request queued or in flight.
#[derive(Clone, Copy, Debug)]
struct Idleness {
    /// Whether there was one in this cycle.
    any: bool,
    /// Time at which the current one began.
    since: Option<Time>,
}

impl Class {
    pub(super) fn new(info: &ClassInfo, active: bool, guess: Option<Span>) -> Self {
        Self {
            name: info.name.clone(),
            weight: info.weight.get().into(),
            active,
            share: 0,
            used: 0,
            exempt: 0,
            charged: 0,
            reserved: 0,
            estimate: RunningMean::starting(guess),
            in_flight: 0,
            waits: false,
            held: false,
            idle: Idleness { any: false, since: Some(Time::ZERO) },
            last_arrival: Time::ZERO,
        }
    }

    /// The rest of its share.
    pub(super) fn left(&self) -> u64 {
        self.share.saturating_sub(self.used.saturating_add(self.reserved))
    }

    /// Whether it has a request queued or in flight.
    pub(super) fn busy(&self) -> bool {
        self.waits || self.in_flight > 0
    }

    /// Whether it was idle for some time in this cycle.
    pub(super) fn was_idle(&self) -> bool {
        self.idle.any
    }

    /// Use and reservations divided by its weight, in units of 2^-32 ns: less than 2^96.
    pub(super) fn normalized(&self) -> u128 {
        (u128::from(self.used.saturating_add(self.reserved)) << 32) / u128::from(self.weight)
    }

    /// A request arrives. An idle time of length zero does not count: the next request of a closed
    /// loop arrives at the very instant of a completion.
    pub(super) fn arrives(&mut self, now: Time) {
        self.idle.any |= self.idle.since.take().is_some_and(|since| since < now);
        self.last_arrival = now;
        self.waits = true;
    }

    /// Charges `charge` for a completed command for which `reserved` was reserved.
    pub(super) fn charge(&mut self, now: Time, charge: u64, reserved: u64, exempt: bool) {
        self.used = self.used.saturating_add(charge);
        if exempt {
            self.exempt = self.exempt.saturating_add(charge);
        }
        self.reserved = self.reserved.saturating_sub(reserved);
        self.estimate.measured(charge);
        self.in_flight -= 1;
        if !self.busy() {
            self.idle.since = Some(now);
        }
    }

    /// Ends the cycle and returns the amount that counts as used. A class gets no credit for idle
    /// time: if it was idle, it counts as if it had used its share.
    pub(super) fn close(&mut self, end: Time) -> u64 {
        self.idle.any |= self.idle.since.is_some_and(|since| since < end);
        self.charged = self.charged.saturating_add(self.used);
        let counted = self.used - self.exempt;
        if self.idle.any && self.used < self.share { counted.max(self.share) } else { counted }
    }

    /// Begins a cycle.
    pub(super) fn open(&mut self, start: Time, share: u64, threshold: u64) {
        (self.share, self.used, self.exempt) = (share, 0, 0);
        let since = self.idle.since.map(|since| since.max(start));
        self.idle = Idleness { any: false, since };
        let commands = self.estimate.ns().map(|ns| share / ns.max(1));
        self.held = commands.is_some_and(|commands| commands < threshold);
    }
}
