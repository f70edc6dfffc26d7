//! The clock of real time. Waiting is its job: it sleeps on the engine that its devices share.
//!
//! Deadlines are absolute. The clock sleeps until shortly before a deadline and spins for the rest,
//! polling completions meanwhile, because a machine wakes late by tens of microseconds. It learns
//! the lateness from its own sleeps.
//!
//! Invariants: no wait is longer than [`LONGEST_PARK`], so the loop always returns to check for
//! interrupts; only this file, `paced` and `report_timer` read the machine's clock.

use std::cell::RefCell;
use std::num::NonZeroU64;
use std::rc::Rc;
use std::time::Duration;

use penstock_core::{Clock, Span, Time};

use rustix::io::retry_on_intr;
use rustix::thread::{ClockId, clock_nanosleep_absolute};
use rustix::time::{Timespec, clock_gettime};

use crate::engine::driver::Bell;
use crate::lateness::Lateness;
use crate::stage::guard::Guard;
use crate::stage::hub::Hub;

const SECOND: u64 = 1_000_000_000;

/// The longest wait: the loop must soon see the flag that a signal handler sets.
const LONGEST_PARK: Span = Span::from_ms(100);

/// Nanoseconds since the run began, which is when the clock is first read.
/// [`Stage::open`](crate::Stage::open) makes it, with its devices.
///
/// Made and used on one thread, whose timer slack it sets to a nanosecond for as long as it lives.
pub struct LiveClock {
    hub: Rc<RefCell<Hub>>,
    /// Nanoseconds of the machine's clock when the run began.
    begun: Option<u64>,
    /// The time of the turn, which it returned last.
    turn: Time,
    /// Whether the loop had more to do at that time.
    more: bool,
    /// Whether it has returned that time twice.
    again: bool,
    spin: Spin,
    remarks: Vec<String>,
    _slack: FineTimers,
}

impl LiveClock {
    /// Creates a clock for devices without a target: models that answer in real time, or none.
    pub fn bare() -> Self {
        Self::new(Rc::new(RefCell::new(Hub::idle())), Vec::new())
    }

    /// Creates a clock that waits on `hub`.
    pub(crate) fn new(hub: Rc<RefCell<Hub>>, remarks: Vec<String>) -> Self {
        Self {
            hub,
            begun: None,
            turn: Time::ZERO,
            more: false,
            again: false,
            spin: Spin::default(),
            remarks,
            _slack: FineTimers::new(),
        }
    }

    /// Returns remarks on what this machine did not grant to the engine, as text for the user.
    pub fn remarks(&self) -> &[String] {
        &self.remarks
    }

    /// Creates a guard of the targets that it waits for.
    pub fn guard(&self) -> Guard {
        Guard::new(Rc::clone(&self.hub))
    }

    /// Returns a bell with which another thread can end its waits; `None` if its engine has none. The thread
    /// that waits must call this.
    pub fn bell(&self) -> Option<Bell> {
        self.hub.borrow_mut().driver().bell()
    }

    /// Returns a stopwatch that shows the same time on other threads. The run begins now if it has not.
    pub fn stopwatch(&mut self) -> Stopwatch {
        self.read();
        Stopwatch(self.begun.expect("it was read"))
    }

    fn read(&mut self) -> Time {
        let now = monotonic();
        Time::from_ns(now.saturating_sub(*self.begun.get_or_insert(now)))
    }
}

/// Returns the nanoseconds of the machine's monotonic clock.
pub(crate) fn monotonic() -> u64 {
    let Timespec { tv_sec, tv_nsec } = clock_gettime(ClockId::Monotonic);
    // 64 bits of nanoseconds last 584 years.
    tv_sec.cast_unsigned() * SECOND + tv_nsec.cast_unsigned()
}

/// The time of a [`LiveClock`], to be read on any thread.
#[derive(Clone, Copy, Debug)]
pub struct Stopwatch(u64);

impl Stopwatch {
    /// Nanoseconds since the run began.
    pub fn now(self) -> Time {
        Time::from_ns(monotonic().saturating_sub(self.0))
    }
}

/// How long before a deadline to wake: the 90th percentile of the lateness of sleeps.
///
/// A sleep that is later raises it by nine steps, one that is not lowers it by one step. So it settles
/// where one sleep in ten is later.
struct Spin(Span);

impl Spin {
    const STEP: Span = Span::from_us(1);
    /// The precision of timers: less does not help.
    const LEAST: Span = Span::from_us(10);
    /// The limit: on a machine with worse timers, more spinning would only use the processor.
    const MOST: Span = Span::from_us(200);

    /// Adjusts it to a sleep that ended `late` after its deadline.
    fn learn(&mut self, late: Span) {
        self.0 = if late > self.0 {
            (self.0 + Self::STEP.share(9, 1)).min(Self::MOST)
        } else {
            (self.0 - Self::STEP).max(Self::LEAST)
        };
    }
}

impl Default for Spin {
    fn default() -> Self {
        Self(Span::from_us(30))
    }
}

/// A timer slack of a nanosecond for this thread. Dropping it restores the thread's own slack.
struct FineTimers {
    before: Option<NonZeroU64>,
}

impl FineTimers {
    fn new() -> Self {
        // The default lets a sleep be 50 us longer. If the kernel refuses, only accuracy suffers, which is
        // measured.
        let before = rustix::thread::current_timer_slack().ok().and_then(NonZeroU64::new);
        let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
        Self { before }
    }
}

impl Drop for FineTimers {
    fn drop(&mut self) {
        let _ = rustix::thread::set_current_timer_slack(self.before);
    }
}

/// Measures how late this machine wakes from `count` sleeps until absolute times that are `every` apart,
/// without spinning: a [`LiveClock`] improves on it.
pub fn timer_lateness(count: u32, every: Span) -> Lateness {
    let _slack = FineTimers::new();
    let mut lateness = Lateness::new();
    let mut until = monotonic();
    for _ in 0..count {
        until += every.ns();
        let at = Timespec {
            tv_sec: (until / SECOND).cast_signed(),
            tv_nsec: (until % SECOND).cast_signed(),
        };
        // A failed sleep counts as one that woke early: not late.
        let _ = retry_on_intr(|| clock_nanosleep_absolute(ClockId::Monotonic, &at));
        lateness.record(monotonic().saturating_sub(until));
    }
    lateness
}

impl Clock for LiveClock {
    /// Returns the same time again in a turn that only continues the work of the turn before: reading the
    /// clock costs as much as a decision. A third such turn reads it, so that time never stands still.
    fn now(&mut self) -> Time {
        self.again = std::mem::take(&mut self.more) && !self.again;
        if !self.again {
            self.turn = self.read();
        }
        self.turn
    }

    /// Submits queued commands and waits until a command ends, `until` has come, a signal comes or 100 ms
    /// have passed. Returns `false` if nothing is in flight and `until` is never.
    fn park(&mut self, until: Time) -> bool {
        // The loop has more to do at this instant: no system call is made, and queued commands wait for
        // the rest of their batch.
        if until <= self.turn {
            self.more = true;
            return true;
        }
        let hub = Rc::clone(&self.hub);
        let mut hub = hub.borrow_mut();
        if until == Time::NEVER && hub.in_flight() == 0 {
            return false;
        }
        let longest = self.turn + LONGEST_PARK;
        // Spinning is only worth its cost before a deadline.
        let wake = if until <= longest { until - self.spin.0 } else { longest };
        if hub.ready() {
            hub.driver().submit();
            return true;
        }
        let nap = wake.since(self.read());
        if nap == Span::ZERO {
            hub.driver().submit();
        } else {
            hub.driver().wait(Duration::from_nanos(nap.ns()));
            // A wait that a completion or a bell ended early says nothing about timers.
            if !hub.ready() {
                let woke = self.read();
                if woke >= wake {
                    self.spin.learn(woke.since(wake));
                }
            }
        }
        while !hub.ready() {
            let now = self.read();
            if now < wake || now >= until.min(longest) {
                return true;
            }
            std::hint::spin_loop();
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_wakes_early_enough_for_nine_sleeps_in_ten() {
        let mut spin = Spin::default();
        // Late by 1 to 100 us, each as often, in no order.
        let learned = (0..2_000_u64).map(|n| {
            spin.learn(Span::from_us(n * 37 % 100 + 1));
            spin.0.ns()
        });
        let settled: Vec<u64> = learned.skip(1_000).collect();
        let mean = settled.iter().sum::<u64>() / settled.len() as u64;
        assert!((85_000..95_000).contains(&mean), "{mean} ns");
    }

    #[test]
    fn it_burns_no_more_than_is_worth_it() {
        let mut spin = Spin::default();
        (0..100).for_each(|_| spin.learn(Span::from_ms(5)));
        assert_eq!(spin.0, Spin::MOST);
        (0..1_000).for_each(|_| spin.learn(Span::ZERO));
        assert_eq!(spin.0, Spin::LEAST);
    }
}
