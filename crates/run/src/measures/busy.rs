//! Measures for how long a device had something to do after the warm-up.

use std::cell::RefCell;
use std::rc::Rc;

use penstock_core::{Device, Done, Request, Span, Tap, Time};

use crate::measures::measure::Measure;
use crate::measures::values::ratio;
use crate::result::RunResult;

/// The busy time of one device. Time in which several commands are at the device counts once.
pub(crate) struct Busy {
    warmup: Time,
    total: Span,
    /// Commands at the device, and since when it has any.
    has: u32,
    since: Time,
}

impl Busy {
    /// Creates an account that ignores the time before `warmup`.
    pub(crate) fn new(warmup: Time) -> Self {
        Self { warmup, total: Span::ZERO, has: 0, since: Time::ZERO }
    }

    /// Records that a command arrives at `now`.
    pub(crate) fn started(&mut self, now: Time) {
        if self.has == 0 {
            self.since = now;
        }
        self.has += 1;
    }

    /// Records that a command completes at `now`.
    pub(crate) fn finished(&mut self, now: Time) {
        self.has -= 1;
        if self.has == 0 {
            self.worked(self.since, now);
        }
    }

    /// Adds the time from `begun` to `ended`, of which nothing was added before.
    pub(crate) fn worked(&mut self, begun: Time, ended: Time) {
        self.total += ended.since(begun.max(self.warmup));
    }

    /// Returns how long the device was busy in a run that ended at `end`.
    pub(crate) fn until(&self, end: Time) -> Span {
        let rest = if self.has > 0 { end.since(self.since.max(self.warmup)) } else { Span::ZERO };
        self.total + rest
    }
}

/// Observes for how long a real device is busy. Clones share their data.
#[derive(Clone)]
pub(crate) struct DeviceBusy {
    warmup: Time,
    busy: Rc<RefCell<Busy>>,
}

impl DeviceBusy {
    /// Creates an account that ignores the time before `warmup`.
    pub(crate) fn new(warmup: Time) -> Self {
        Self { warmup, busy: Rc::new(RefCell::new(Busy::new(warmup))) }
    }

    /// Wraps `device` so that its commands are observed.
    pub(crate) fn over<D: Device>(&self, device: D) -> impl Device + use<D> {
        let (begun, ended) = (Rc::clone(&self.busy), Rc::clone(&self.busy));
        let started = move |now, _: &Request| begun.borrow_mut().started(now);
        let finished = move |now, done: &[Done]| {
            for _ in done {
                ended.borrow_mut().finished(now);
            }
        };
        Tap::new(device, started, finished)
    }
}

impl Measure for DeviceBusy {
    fn write(&mut self, end: Time, result: &mut RunResult) {
        let busy = self.busy.borrow().until(end);
        result.device_busy = ratio(busy.ns() as f64, end.since(self.warmup).ns() as f64);
    }
}
