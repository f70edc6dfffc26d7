//! Virtual time at the pace of real time, for watching a model at work.
//!
//! Decisions and results are those of [`Virtual`](penstock_core::Virtual): time advances to the same
//! instants, but not at once. In between it stops at instants without an event, some times a second, so that
//! the loop checks for interrupts.
//!
//! All waits follow one schedule, which begins with the first wait and runs `speed` times as fast as real
//! time. A run that is behind catches up, and nothing drifts. A pause delays the rest of the schedule by its
//! length.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use penstock_core::{Clock, Span, Time};

/// The longest wait, and the time between reports: progress looks smooth and Ctrl-C is immediate.
const REPORT_EVERY: Duration = Duration::from_millis(50);

/// The least time ahead of the schedule for which a run waits: a machine cannot sleep for much less.
const AHEAD: Span = Span::from_ms(1);

/// The state that a paced clock and its observers share, for one run at a time.
#[derive(Debug, Default)]
pub struct Pace {
    paused: AtomicBool,
    due: AtomicBool,
}

impl Pace {
    /// Stops time, or lets it continue.
    pub fn pause(&self, paused: bool) {
        self.paused.store(paused, Ordering::Relaxed);
    }

    /// Returns whether time stands still.
    pub fn paused(&self) -> bool {
        self.paused.load(Ordering::Relaxed)
    }

    /// Returns whether a report is due, and resets that: at the beginning, and then after every 50 ms of real
    /// time.
    pub fn report_due(&self) -> bool {
        self.due.load(Ordering::Relaxed) && self.due.swap(false, Ordering::Relaxed)
    }
}

/// Virtual time that waits until real time has reached it.
#[derive(Debug)]
pub struct Paced<'a> {
    pace: &'a Pace,
    /// Virtual nanoseconds per real nanosecond.
    speed: f64,
    now: Time,
    begun: Option<Instant>,
    reported: Option<Instant>,
}

impl<'a> Paced<'a> {
    /// Creates a clock at time zero that goes `speed` times as fast as real time.
    ///
    /// # Panics
    /// If `speed` is not above zero.
    pub fn new(speed: f64, pace: &'a Pace) -> Self {
        assert!(speed > 0.0, "time goes forwards");
        pace.due.store(true, Ordering::Relaxed);
        Self { pace, speed, now: Time::ZERO, begun: None, reported: None }
    }

    #[allow(clippy::disallowed_methods)] // reads the machine's clock, as the live clock does
    fn look(&mut self) -> Instant {
        let now = Instant::now();
        if now.duration_since(*self.reported.get_or_insert(now)) >= REPORT_EVERY {
            self.reported = Some(now);
            self.pace.due.store(true, Ordering::Relaxed);
        }
        now
    }

    #[allow(clippy::disallowed_methods)] // a clock waits
    fn sleep(&mut self, real: Duration) -> Instant {
        std::thread::sleep(real);
        self.look()
    }

    /// Returns the schedule's time at `real`. Floating point decides only how long to sleep.
    fn schedule(&mut self, real: Instant) -> Time {
        let since = real.duration_since(*self.begun.get_or_insert(real));
        Time::from_ns((since.as_nanos() as f64 * self.speed) as u64)
    }

    /// Advances to `scheduled`, but not beyond `until`; always by at least 1 ns, as time must not stand still.
    fn advance(&mut self, scheduled: Time, until: Time) {
        self.now = until.min(scheduled.max(self.now + Span::from_ns(1))).max(self.now);
    }
}

impl Clock for Paced<'_> {
    fn now(&mut self) -> Time {
        self.now
    }

    /// Waits until `until`, for at most 50 ms of real time.
    fn park(&mut self, until: Time) -> bool {
        if until == Time::NEVER {
            return false;
        }
        let real = self.look();
        let scheduled = self.schedule(real);
        if self.pace.paused() {
            let slept = self.sleep(REPORT_EVERY).duration_since(real);
            self.begun = self.begun.map(|begun| begun + slept);
            self.advance(self.now, until);
            return true;
        }
        let ahead = Span::from_ns((until.since(scheduled).ns() as f64 / self.speed) as u64);
        if ahead < AHEAD {
            self.advance(until, until);
            return true;
        }
        let woke = self.sleep(REPORT_EVERY.min(Duration::from_nanos(ahead.ns())));
        let scheduled = self.schedule(woke);
        self.advance(scheduled, until);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_ms(ms)
    }

    #[test]
    fn a_wait_ends_where_it_should() {
        let pace = Pace::default();
        let mut clock = Paced::new(10.0, &pace);
        while clock.now() < at(3000) {
            let before = clock.now();
            assert!(clock.park(at(3000)));
            assert!(before < clock.now() && clock.now() <= at(3000));
        }
        assert_eq!(clock.now(), at(3000));
    }

    #[test]
    fn a_long_wait_stops_over_and_word_is_due() {
        let pace = Pace::default();
        let mut clock = Paced::new(1.0, &pace);
        assert!(pace.report_due(), "a run begins with a report");
        assert!(!pace.report_due(), "once");
        let a_month = at(30 * 86_400_000);
        for _ in 0..3 {
            assert!(clock.park(a_month));
            assert!(clock.now() < a_month);
            assert!(pace.report_due());
        }
    }

    #[test]
    fn a_late_clock_goes_on_at_once() {
        let pace = Pace::default();
        let mut clock = Paced::new(1e12, &pace);
        for ms in 1..=100_000 {
            assert!(clock.park(at(ms)));
            assert_eq!(clock.now(), at(ms), "no stop on the way");
        }
    }

    #[test]
    fn a_pause_lets_time_stand_all_but_still_and_puts_the_rest_off() {
        let pace = Pace::default();
        let mut clock = Paced::new(1e6, &pace);
        assert!(clock.park(at(1)));
        pace.pause(true);
        for _ in 0..20 {
            assert!(clock.park(at(864_000_000)));
            assert!(pace.report_due(), "an observer can end it");
        }
        assert_eq!(clock.now(), at(1) + Span::from_ns(20), "never the same instant twice");
        pace.pause(false);
        // Had the pause counted, eleven days of the model would have passed.
        let ten_days = at(864_000_000);
        assert!(clock.park(ten_days));
        assert!(clock.now() < ten_days);
    }

    #[test]
    fn never_does_not_come() {
        assert!(!Paced::new(1.0, &Pace::default()).park(Time::NEVER));
    }
}
