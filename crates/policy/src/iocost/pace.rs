//! The pace of a device's virtual time, `vrate`: slower while the device is saturated, faster while a
//! class waits for budget and the device is not.
//!
//! The device is saturated if too many reads or writes of a period took longer than their target, or
//! if its queue was full while a request waited for a place in it. The first step in a direction is
//! a hundredth, and each further one in the same direction doubles, up to eight hundredths: a change
//! shows only in the next period, and larger steps overshoot.

use penstock_core::{Op, Span, Time};

use crate::params::Params;

use super::model::FRACTION;

/// The pace of real time.
const ONE: u64 = 10_000;

/// Hundredths of the pace by which the first and the largest step changes it.
const STEPS: [u64; 2] = [1, 8];

/// Part of a period, in hundredths, for which requests may wait for a place in a queue.
const DEPLETED: u64 = 5;

/// A shorter queue than this is full on any busy disk, so that says nothing.
const DEEP: u32 = 16;

/// The bounds on the pace in percent while the model is known, and while it is a guess.
const BOUNDS: [[u32; 2]; 2] = [[50, 150], [1, 10_000]];

/// Virtual time: it passes at `speed`, which changes from period to period.
#[derive(Debug)]
pub(super) struct Pace {
    speed: u64,
    bounds: [u64; 2],
    /// The direction of the last change, and the size of its step.
    last: Option<(Signal, u64)>,
    /// A moment in both times.
    since: Time,
    since_virtual: u128,
    reads: WindowLatencies,
    writes: WindowLatencies,
    /// When the device's queue became full.
    full: Option<Time>,
    /// Time for which a request waited for a place in the queue.
    depleted: Span,
    /// Whether a class waited for budget.
    pub(super) short: bool,
}

/// The reason for a change of pace.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Signal {
    Saturated,
    Short,
}

/// The latencies of a direction in the current period, and their target.
#[derive(Debug)]
struct WindowLatencies {
    /// Hundredths of the requests that may miss the target; all may if it is 100.
    allowed: u64,
    target: Span,
    requests: u64,
    missed: u64,
}

impl WindowLatencies {
    fn new(percentile: u32, target: Span) -> Self {
        Self { allowed: 100 - u64::from(percentile.min(100)), target, requests: 0, missed: 0 }
    }

    /// Whether too many requests missed the target; begins a new period.
    fn take_missed(&mut self) -> bool {
        let missed = self.missed * 100 > self.requests * self.allowed;
        (self.requests, self.missed) = (0, 0);
        missed
    }
}

/// The bounds on the pace in percent.
pub(super) fn bounds(params: &Params) -> [u32; 2] {
    let auto = BOUNDS[usize::from(super::model::lacks_rates(params))];
    let stated = ["min", "max"].map(|name| params.count_or(name));
    let least = stated[0].unwrap_or(auto[0].min(stated[1].unwrap_or(u32::MAX)));
    [least, stated[1].unwrap_or(auto[1].max(least))]
}

impl Pace {
    /// Takes `rpct`, `rlat`, `wpct`, `wlat`, `min`, `max` and whether `model` is stated.
    pub(super) fn new(params: &Params) -> Self {
        let [least, most] = bounds(params).map(|percent| u64::from(percent) * ONE / 100);
        let most = most.max(least);
        Self {
            speed: ONE.clamp(least, most),
            bounds: [least, most],
            last: None,
            since: Time::ZERO,
            since_virtual: 0,
            reads: WindowLatencies::new(params.count("rpct"), params.duration("rlat")),
            writes: WindowLatencies::new(params.count("wpct"), params.duration("wlat")),
            full: None,
            depleted: Span::ZERO,
            short: false,
        }
    }

    /// The virtual time at `now`.
    pub(super) fn at(&self, now: Time) -> u128 {
        self.since_virtual + self.length(now.since(self.since))
    }

    /// Virtual time that passes in `span`.
    pub(super) fn length(&self, span: Span) -> u128 {
        (u128::from(span.ns()) << FRACTION) * u128::from(self.speed) / u128::from(ONE)
    }

    /// The time in which `length` of virtual time passes, rounded up.
    pub(super) fn span(&self, length: u128) -> Span {
        // A length of more than 2^100 is never.
        let ns =
            (length.min(1 << 100) * u128::from(ONE)).div_ceil(u128::from(self.speed)) >> FRACTION;
        Span::from_ns(u64::try_from(ns).map_or(u64::MAX, |ns| ns.saturating_add(1)))
    }

    /// The first time at which virtual time has reached `point`.
    pub(super) fn when(&self, point: u128) -> Time {
        self.since + self.span(point.saturating_sub(self.since_virtual))
    }

    /// Takes `length` back from the virtual time, as far as it has passed since the last change of
    /// pace.
    pub(super) fn hold_back(&mut self, length: u128) {
        self.since_virtual = self.since_virtual.saturating_sub(length);
    }

    /// The pace in percent.
    pub(super) fn percent(&self) -> u64 {
        self.speed * 100 / ONE
    }

    /// A command was sent at `now` to a device that takes `queue` commands, and is the `in_flight`th.
    pub(super) fn sent(&mut self, now: Time, in_flight: u32, queue: u32) {
        if in_flight >= queue && queue >= DEEP {
            self.full = Some(now);
        }
    }

    /// A command has completed at `now`, while a request with enough budget waited or not.
    pub(super) fn made_room(&mut self, now: Time, waited: bool) {
        if let Some(since) = self.full.take()
            && waited
        {
            self.depleted += now.since(since);
        }
    }

    /// A request took `latency`, not counting what its length costs.
    pub(super) fn measured(&mut self, op: Op, latency: Span) {
        let latencies = match op {
            Op::Read => &mut self.reads,
            Op::Write => &mut self.writes,
            Op::Discard | Op::Flush => return,
        };
        latencies.requests += 1;
        latencies.missed += u64::from(latency > latencies.target);
    }

    /// Ends a period of this `length` at `now`, and changes the pace. Returns the reason, if there was
    /// one.
    pub(super) fn adjust(&mut self, now: Time, length: Span) -> Option<Signal> {
        self.since_virtual = self.at(now);
        self.since = now;
        let missed = [self.reads.take_missed(), self.writes.take_missed()].contains(&true);
        let depleted = self.depleted > length.share(DEPLETED, 100);
        let signal = match () {
            () if missed || depleted => Some(Signal::Saturated),
            () if self.short => Some(Signal::Short),
            () => None,
        };
        (self.depleted, self.short) = (Span::ZERO, false);
        let step = match (signal, self.last) {
            (Some(now), Some((last, step))) if now == last => (2 * step).min(STEPS[1]),
            _ => STEPS[0],
        };
        self.last = signal.map(|signal| (signal, step));
        let hundredths = match signal {
            Some(Signal::Saturated) => 100 - step,
            Some(Signal::Short) => 100 + step,
            None => 100,
        };
        let [least, most] = self.bounds;
        // A hundredth of the slowest pace is the smallest step that there is.
        self.speed = (self.speed * hundredths / 100).clamp(least, most);
        signal
    }
}
