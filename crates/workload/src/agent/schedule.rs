//! Arrival times of an open loop.

use std::ops::Range;

use penstock_core::{Rng, Time};
use rand_distr::{Distribution, Exp1};

use super::arrivals::{Arrivals, Pace};

/// Arrival times of an open loop. The next arrival is the time at which the integral of the rate
/// has grown by one (fixed) or by an exponential variate (Poisson). Floating point, but only sums,
/// products and quotients, so every machine computes the same.
pub(super) struct Schedule {
    /// The current point of the schedule, in nanoseconds.
    at: f64,
    end: f64,
    /// Length of a part in nanoseconds. `rates` has the arrivals per nanosecond of each part.
    part: f64,
    start: f64,
    rates: Vec<f64>,
    first: bool,
}

impl Schedule {
    pub(super) fn new(arrivals: &Arrivals, active: &Range<Time>) -> Self {
        let (start, end) = (active.start.ns() as f64, active.end.ns() as f64);
        let rates = match arrivals {
            Arrivals::Open { rate, curve, .. } if curve.is_empty() => vec![rate / 1e9],
            Arrivals::Open { rate, curve, .. } => curve.iter().map(|c| c * rate / 1e9).collect(),
            Arrivals::Closed { .. } | Arrivals::Turns => vec![0.0],
        };
        let part = (end - start) / rates.len() as f64;
        Self { at: start, end, part, start, rates, first: true }
    }

    /// The next arrival; [`Time::NEVER`] after the end. A fixed pace has an arrival at the start.
    pub(super) fn next(&mut self, pace: Pace, rng: &mut Rng) -> Time {
        let mut need: f64 = match pace {
            Pace::Fixed if core::mem::take(&mut self.first) => 0.0,
            Pace::Fixed => 1.0,
            Pace::Poisson => Exp1.sample(rng),
        };
        while self.at < self.end {
            let part = (((self.at - self.start) / self.part) as usize).min(self.rates.len() - 1);
            let until = if part + 1 == self.rates.len() {
                self.end
            } else {
                // At least the next representable instant, so that every iteration makes progress.
                (self.start + (part + 1) as f64 * self.part).max(self.at.next_up())
            };
            let rate = self.rates[part];
            let here = (until - self.at) * rate;
            if rate > 0.0 && need < here {
                self.at += need / rate;
                return Time::from_ns(self.at.round() as u64);
            }
            need -= here;
            self.at = until;
        }
        Time::NEVER
    }
}
