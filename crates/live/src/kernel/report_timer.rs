//! A timer of 50 ms of real time, for runs that go as fast as the machine can.
//!
//! A modelled run asks many million times a second whether it is time to report. Reading the clock each time
//! would cost more than the run itself, so the timer skips calls. It adapts the number of skipped calls so
//! that it reads the clock about once a millisecond.

use std::time::{Duration, Instant};

/// The time between reports: short enough that Ctrl-C feels immediate and progress looks smooth.
const BETWEEN: Duration = Duration::from_millis(50);

/// The intended time between two readings of the clock.
const LOOK: Duration = Duration::from_millis(1);

/// The most calls between two readings: later calls may be slower.
const CALLS_MOST: u32 = 128;

/// Says when it is time to report. It decides nothing else, so results do not depend on it.
#[derive(Debug)]
pub struct ReportTimer {
    /// Calls until the next reading.
    left: u32,
    /// Calls between the last reading and the next.
    calls: u32,
    /// When the clock was read last, and when a report was due last.
    read: Option<Instant>,
    reported: Option<Instant>,
}

impl Default for ReportTimer {
    fn default() -> Self {
        Self { left: 1, calls: 1, read: None, reported: None }
    }
}

impl ReportTimer {
    /// Returns whether a report is due: at the first call, and then after every 50 ms of real time.
    pub fn due(&mut self) -> bool {
        self.left -= 1;
        self.left == 0 && self.look()
    }

    #[cold]
    #[allow(clippy::disallowed_methods)] // this timer is for real time
    fn look(&mut self) -> bool {
        let now = Instant::now();
        let passed = now.duration_since(self.read.replace(now).unwrap_or(now));
        let calls = u128::from(self.calls) * LOOK.as_nanos() / passed.as_nanos().max(1);
        // Fast calls may become slow: the number at most doubles, and is reduced at once.
        self.calls = calls.clamp(1, u128::from(CALLS_MOST.min(2 * self.calls))) as u32;
        self.left = self.calls;
        let due = self.reported.is_none_or(|last| now.duration_since(last) >= BETWEEN);
        if due {
            self.reported = Some(now);
        }
        due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_time_at_first_and_then_once_in_fifty_milliseconds() {
        let mut timer = ReportTimer::default();
        assert!(timer.due(), "a run begins with a report");
        let begun = timer.reported;
        while !timer.due() {}
        assert!(timer.reported.unwrap().duration_since(begun.unwrap()) >= BETWEEN);
        assert!(!timer.due(), "once");
    }

    #[test]
    #[allow(clippy::disallowed_methods)]
    fn slow_calls_read_the_clock_each_time() {
        let mut timer = ReportTimer::default();
        for _ in 0..100_000 {
            timer.due();
        }
        assert_eq!(timer.calls, CALLS_MOST);
        while timer.left > 1 {
            timer.due();
        }
        // As if the last of them had taken two seconds.
        timer.read = Instant::now().checked_sub(Duration::from_secs(2));
        timer.reported = timer.read;
        assert!(timer.due());
        assert_eq!(timer.calls, 1);
    }
}
