//! Device time of each command when several commands are in flight together.
//!
//! Every instant of busy time is divided equally among the commands then in flight. With `n`
//! commands an integral grows by `dt / n`. A command's device time is the growth of the integral
//! during its flight, so start and completion cost O(1) whatever the depth.
//!
//! Invariants: the sum over commands never exceeds the busy time, and equals it, to the nanosecond,
//! whenever nothing is in flight. Rounding is carried from one command to the next (each is within
//! 2 ns of its exact share), not lost.

use crate::time::{Span, Time};

/// Binary digits of a nanosecond in the integral. With 32, a turn at depth `n` loses less than
/// `n / 2^32` ns, and the integer part has 96 bits: no run is long enough to fill them.
const FRACTION: u32 = 32;

/// The device time of one device, divided among its commands.
#[derive(Debug, Default)]
pub struct Sharing {
    /// The time up to which the busy time is divided.
    at: Time,
    in_flight: u32,
    /// Device time in ns of a command that is always in flight, with [`FRACTION`] binary digits.
    integral: u128,
    /// Nanoseconds during which a command was in flight.
    busy: u64,
    /// Sum of the exact shares of all completed commands, with [`FRACTION`] binary digits.
    earned: u128,
    /// Sum of the device times returned for them, in nanoseconds.
    charged: u64,
}

/// The value of the integral when a command started.
#[derive(Clone, Copy, Debug)]
pub struct Started(u128);

impl Sharing {
    /// A command starts at `now`.
    pub fn start(&mut self, now: Time) -> Started {
        self.divide(now);
        self.in_flight += 1;
        Started(self.integral)
    }

    /// The command that [`start`](Self::start) returned `started` for completes at `now`. Returns
    /// its device time.
    pub fn complete(&mut self, now: Time, started: Started) -> Span {
        self.divide(now);
        self.in_flight -= 1;
        self.earned += self.integral - started.0;
        if self.in_flight == 0 {
            self.earned = u128::from(self.busy) << FRACTION;
        }
        // Exact shares never exceed the busy time, which is 64 bits.
        let total = (self.earned >> FRACTION) as u64;
        let service = total - self.charged;
        self.charged = total;
        Span::from_ns(service)
    }

    /// Time during which a command was in flight, up to the last start or completion.
    pub fn busy(&self) -> Span {
        Span::from_ns(self.busy)
    }

    /// Divides the time since the last call among the commands in flight.
    fn divide(&mut self, now: Time) {
        let passed = now.since(self.at).ns();
        self.at = self.at.max(now);
        if self.in_flight > 0 {
            self.busy += passed;
            // More than four seconds at once are rare, and a 64-bit division is much faster.
            self.integral += if passed >> FRACTION == 0 {
                u128::from((passed << FRACTION) / u64::from(self.in_flight))
            } else {
                (u128::from(passed) << FRACTION) / u128::from(self.in_flight)
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;
    use proptest::prelude::*;

    fn at(ns: u64) -> Time {
        Time::from_ns(ns)
    }

    #[test]
    fn a_command_alone_is_charged_its_whole_flight() {
        let mut sharing = Sharing::default();
        let a = sharing.start(at(10));
        assert_eq!(sharing.complete(at(35), a), Span::from_ns(25));
        let b = sharing.start(at(100));
        assert_eq!(sharing.complete(at(101), b), Span::from_ns(1), "idle time is not charged");
        assert_eq!(sharing.busy(), Span::from_ns(26));
    }

    #[test]
    fn commands_in_flight_together_share_the_time() {
        let mut sharing = Sharing::default();
        let a = sharing.start(at(0));
        let b = sharing.start(at(100));
        // `a`: 100 alone and half of 60; `b`: half of 60 and 40 alone.
        assert_eq!(sharing.complete(at(160), a), Span::from_ns(130));
        assert_eq!(sharing.complete(at(200), b), Span::from_ns(70));
    }

    #[test]
    fn thirds_add_up() {
        let mut sharing = Sharing::default();
        let all = [0; 3].map(|_| sharing.start(at(0)));
        let parts = all.map(|started| sharing.complete(at(100), started).ns());
        assert_eq!(parts.iter().sum::<u64>(), 100, "{parts:?}");
        assert!(parts.iter().all(|part| (33..=34).contains(part)), "{parts:?}");
    }

    proptest! {
        /// Compares with a ledger that divides every nanosecond into exact 1/2520 parts (`n` up to
        /// 10).
        #[test]
        fn sums_to_busy_and_each_is_fair(
            steps in prop::collection::vec((0_u64..50, 0_usize..12), 1..200),
        ) {
            let mut sharing = Sharing::default();
            let mut flights: Vec<(Started, u64)> = Vec::new();
            let (mut now, mut busy, mut charged) = (0, 0, 0);
            for (gap, pick) in steps {
                now += gap;
                if !flights.is_empty() {
                    busy += gap;
                    let parts = 2520 * gap / flights.len() as u64;
                    for flight in &mut flights {
                        flight.1 += parts;
                    }
                }
                if pick < flights.len() || flights.len() == 10 {
                    let (started, parts) = flights.swap_remove(pick % 10 % flights.len());
                    let service = sharing.complete(at(now), started).ns();
                    charged += service;
                    prop_assert!(service.abs_diff(parts / 2520) <= 2, "{service} {parts}");
                } else {
                    flights.push((sharing.start(at(now)), 0));
                }
                prop_assert!(charged <= busy);
                if flights.is_empty() {
                    prop_assert_eq!(charged, busy);
                }
            }
            for (started, _) in flights {
                charged += sharing.complete(at(now), started).ns();
            }
            prop_assert_eq!(charged, busy);
            prop_assert_eq!(sharing.busy(), Span::from_ns(busy));
        }
    }
}
