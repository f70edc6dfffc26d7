//! A device that gets fewer commands at once than it could take.

use alloc::vec::Vec;

use crate::device::Device;
use crate::request::{Done, Op, Request};
use crate::time::{Span, Time};

/// Passes every call on to `device`, as long as no more than `depth` commands are in flight.
pub struct Bounded<D> {
    device: D,
    depth: u32,
    in_flight: u32,
}

impl<D: Device> Bounded<D> {
    /// Limits `device` to `depth` commands in flight.
    pub fn new(device: D, depth: u32) -> Self {
        Self { device, depth, in_flight: 0 }
    }
}

impl<D: Device> Device for Bounded<D> {
    fn capacity(&self) -> u64 {
        self.device.capacity()
    }

    fn block(&self) -> u32 {
        self.device.block()
    }

    fn room(&self) -> u32 {
        self.device.room().min(self.depth - self.in_flight)
    }

    fn admits(&self, op: Op, start: u64, len: u32) -> bool {
        self.in_flight < self.depth && self.device.admits(op, start, len)
    }

    fn position(&self, now: Time, op: Op, start: u64) -> Span {
        self.device.position(now, op, start)
    }

    fn start(&mut self, now: Time, req: &Request) {
        self.in_flight += 1;
        self.device.start(now, req);
    }

    fn wakeup(&self) -> Time {
        self.device.wakeup()
    }

    fn advance(&mut self, now: Time, done: &mut Vec<Done>) {
        let before = done.len();
        self.device.advance(now, done);
        self.in_flight -= (done.len() - before) as u32;
    }

    fn polled(&self) -> bool {
        self.device.polled()
    }
}
