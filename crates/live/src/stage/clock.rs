//! Real time. The clock owns waiting: it sleeps on the engine that its devices share.
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

/// The longest wait: a signal handler sets a flag, and the loop must see it soon.
const LONGEST_PARK: Span = Span::from_ms(100);

/// Nanoseconds since the run began, which is when the clock is first read.
/// [`Stage::open`](crate::Stage::open) makes it, with its devices.
///
/// Made and used on one thread, whose timer slack it sets to a nanosecond for as long as it lives.
pub struct LiveClock {
    hub: Rc<RefCell<Hub>>,
    /// By the machine's clock.
    begun: Option<u64>,
    /// The time that it returned last: the time of the turn.
    turn: Time,
    /// The loop had more to do at the time returned last.
    more: bool,
    /// It has returned that time twice.
    again: bool,
    spin: Spin,
    remarks: Vec<String>,
    _slack: FineTimers,
}

impl LiveClock {
    /// Real time for devices without a target: models that answer in real time, or no device at
    /// all.
    pub fn bare() -> Self {
        Self::new(Rc::new(RefCell::new(Hub::idle())), Vec::new())
    }

    /// A clock that waits on `hub`.
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

    /// What this machine did not grant to the engine, in words for a person; empty at best.
    pub fn remarks(&self) -> &[String] {
        &self.remarks
    }

    /// A guard of the targets that it waits for.
    pub fn guard(&self) -> Guard {
        Guard::new(Rc::clone(&self.hub))
    }

    /// Ends its waits from another thread; `None` if its engine cannot do so. The thread that waits
    /// must ask for it.
    pub fn bell(&self) -> Option<Bell> {
        self.hub.borrow_mut().driver().bell()
    }

    /// The same time for other threads. The run begins now if it has not.
    pub fn stopwatch(&mut self) -> Stopwatch {
        self.read();
        Stopwatch(self.begun.expect("it was read"))
    }

    fn read(&mut self) -> Time {
        let now = monotonic();
        Time::from_ns(now.saturating_sub(*self.begun.get_or_insert(now)))
    }
}

/// Nanoseconds of the machine's clock that never goes back.
fn monotonic() -> u64 {
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

/// How long before a deadline to wake: the lateness that nine of ten sleeps stay within.
///
/// A sleep with more lateness raises it by nine steps, one with less lowers it by one. So it
/// settles where one sleep in ten is later.
struct Spin(Span);

impl Spin {
    const STEP: Span = Span::from_us(1);
    /// Timers are not more precise than this.
    const LEAST: Span = Span::from_us(10);
    /// On a machine that is worse, more spinning would only use the processor.
    const MOST: Span = Span::from_us(200);

    /// Learns from a sleep that ended `late`.
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

/// A timer slack of a nanosecond for this thread; its own slack is restored at the end.
struct FineTimers {
    before: Option<NonZeroU64>,
}

impl FineTimers {
    fn new() -> Self {
        // Without it a sleep may be 50 us longer. A kernel that refuses costs accuracy only, and
        // the accuracy is measured.
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

/// The lateness of this machine over `count` sleeps until absolute times, `every` apart, without
/// spinning: a [`LiveClock`] starts from it.
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
        // A machine that cannot sleep appears as one that wakes early: not late.
        let _ = retry_on_intr(|| clock_nanosleep_absolute(ClockId::Monotonic, &at));
        lateness.record(monotonic().saturating_sub(until));
    }
    lateness
}

impl Clock for LiveClock {
    /// A turn that only continues the work of the one before has the same time: reading the clock
    /// costs as much as a decision. A third such turn reads it, so that time never stands still.
    fn now(&mut self) -> Time {
        self.again = std::mem::take(&mut self.more) && !self.again;
        if !self.again {
            self.turn = self.read();
        }
        self.turn
    }

    /// Submits queued commands to the kernel and waits. `true` when a command ended, `until` has
    /// come, a signal came, or 100 ms have passed; `false` if nothing is in flight and `until` is
    /// never.
    fn park(&mut self, until: Time) -> bool {
        // The loop has more to do at this instant: no system call, and queued commands wait for the
        // rest of their batch.
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
        // Spinning pays only for a deadline.
        let wake = if until <= longest { until - self.spin.0 } else { longest };
        if hub.ready() {
            hub.driver().hand_on();
            return true;
        }
        let nap = wake.since(self.read());
        if nap == Span::ZERO {
            hub.driver().hand_on();
        } else {
            hub.driver().wait(Duration::from_nanos(nap.ns()));
            // A completion or a bell ends a wait early, and does not measure timers.
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
