//! What is known of a class.

use alloc::string::String;

use penstock_core::{ClassInfo, Span, Time};

use crate::charge::RunningMean;

/// A class and its account of the current cycle. Amounts are nanoseconds of device time, or of what
/// a law charges.
#[derive(Debug)]
pub(super) struct Class {
    pub(super) name: String,
    pub(super) weight: u64,
    /// It takes part in the division.
    pub(super) active: bool,
    pub(super) share: u64,
    /// Charged to it in this cycle.
    pub(super) used: u64,
    /// Of that, what does not count later.
    pub(super) exempt: u64,
    /// Charged to it in all cycles that have ended.
    pub(super) charged: u64,
    /// For its commands in flight, those of earlier cycles too.
    pub(super) reserved: u64,
    pub(super) estimate: RunningMean,
    pub(super) in_flight: u32,
    /// Something of it is queued.
    pub(super) waits: bool,
    /// Its share does not suffice for a command.
    pub(super) held: bool,
    dry: Dryness,
    /// When its last request came.
    pub(super) asked: Time,
}

/// Times with neither something queued nor something in flight.
#[derive(Clone, Copy, Debug)]
struct Dryness {
    /// There was one in this cycle.
    any: bool,
    /// When the current one began.
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
            dry: Dryness { any: false, since: Some(Time::ZERO) },
            asked: Time::ZERO,
        }
    }

    /// What is left of its share.
    pub(super) fn left(&self) -> u64 {
        self.share.saturating_sub(self.used.saturating_add(self.reserved))
    }

    /// It has something queued or in flight.
    pub(super) fn busy(&self) -> bool {
        self.waits || self.in_flight > 0
    }

    /// There was a time in this cycle in which it had nothing to do.
    pub(super) fn ran_dry(&self) -> bool {
        self.dry.any
    }

    /// Used or reserved for its weight, in parts of a nanosecond: less than 2^96.
    pub(super) fn normalized(&self) -> u128 {
        (u128::from(self.used.saturating_add(self.reserved)) << 32) / u128::from(self.weight)
    }

    /// A request comes. If nothing was there for no time at all, the class did not run dry: a closed
    /// loop asks at the very instant of a completion.
    pub(super) fn asks(&mut self, now: Time) {
        self.dry.any |= self.dry.since.take().is_some_and(|since| since < now);
        self.asked = now;
        self.waits = true;
    }

    /// A command has completed for which `reserved` was reserved, and costs `charge`.
    pub(super) fn charge(&mut self, now: Time, charge: u64, reserved: u64, exempt: bool) {
        self.used = self.used.saturating_add(charge);
        if exempt {
            self.exempt = self.exempt.saturating_add(charge);
        }
        self.reserved = self.reserved.saturating_sub(reserved);
        self.estimate.measured(charge);
        self.in_flight -= 1;
        if !self.busy() {
            self.dry.since = Some(now);
        }
    }

    /// The cycle ends: what counts as used of it. Idleness earns nothing, so a class that ran dry
    /// counts as if it had used its share.
    pub(super) fn close(&mut self, end: Time) -> u64 {
        self.dry.any |= self.dry.since.is_some_and(|since| since < end);
        self.charged = self.charged.saturating_add(self.used);
        let counted = self.used - self.exempt;
        if self.dry.any && self.used < self.share { counted.max(self.share) } else { counted }
    }

    /// A cycle begins.
    pub(super) fn open(&mut self, start: Time, share: u64, threshold: u64) {
        (self.share, self.used, self.exempt) = (share, 0, 0);
        let since = self.dry.since.map(|since| since.max(start));
        self.dry = Dryness { any: false, since };
        let commands = self.estimate.ns().map(|ns| share / ns.max(1));
        self.held = commands.is_some_and(|commands| commands < threshold);
    }
}
