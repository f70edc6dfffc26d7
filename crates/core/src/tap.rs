//! A device under observation: observers get its commands and its completions.

use alloc::vec::Vec;

use crate::device::Device;
use crate::request::{Done, Op, Request};
use crate::time::{Span, Time};

/// Passes every call on to `device`. One observer gets each command, the other each batch of
/// completions.
pub struct Tap<D, S, F> {
    device: D,
    started: S,
    finished: F,
}

impl<D: Device, S: FnMut(Time, &Request), F: FnMut(Time, &[Done])> Tap<D, S, F> {
    /// Wraps `device` with observers of its commands (`started`) and its completions (`finished`).
    pub fn new(device: D, started: S, finished: F) -> Self {
        Self { device, started, finished }
    }
}

impl<D: Device, S: FnMut(Time, &Request), F: FnMut(Time, &[Done])> Device for Tap<D, S, F> {
    fn capacity(&self) -> u64 {
        self.device.capacity()
    }

    fn block(&self) -> u32 {
        self.device.block()
    }

    fn room(&self) -> u32 {
        self.device.room()
    }

    fn admits(&self, op: Op, start: u64, len: u32) -> bool {
        self.device.admits(op, start, len)
    }

    fn position(&self, now: Time, op: Op, start: u64) -> Span {
        self.device.position(now, op, start)
    }

    fn start(&mut self, now: Time, req: &Request) {
        (self.started)(now, req);
        self.device.start(now, req);
    }

    fn wakeup(&self) -> Time {
        self.device.wakeup()
    }

    fn advance(&mut self, now: Time, done: &mut Vec<Done>) {
        let from = done.len();
        self.device.advance(now, done);
        (self.finished)(now, &done[from..]);
    }

    fn polled(&self) -> bool {
        self.device.polled()
    }
}
