//! A real target as a device: the bottom of a live stack.

use std::cell::RefCell;
use std::rc::Rc;

use penstock_core::{Device, Done, Request, Span, Time};

use crate::stage::hub::Hub;

/// A target behind an engine. [`Stage::open`](crate::Stage::open) creates it with its clock.
///
/// Ranges are bytes; reads and writes are rounded outward to its block, discards are not rounded.
/// Written data is pseudo-random, a function of the stage's seed and of the place. [`Done::error`] has
/// errors of the system; reads behind the end of a file that was cut fail with an I/O error. When the last
/// of the clock and the devices of a stage is dropped, it waits for commands in flight, no longer than the
/// stage's time-out, and the targets are released.
pub struct LiveDevice {
    hub: Rc<RefCell<Hub>>,
    lane: usize,
    capacity: u64,
    block: u32,
    /// A copy, so that `room` costs no borrow.
    room: u32,
}

impl LiveDevice {
    /// Creates the device of `lane`.
    pub(crate) fn new(hub: Rc<RefCell<Hub>>, lane: usize, depth: u32) -> Self {
        let target = hub.borrow().target(lane).clone();
        Self { hub, lane, capacity: target.capacity(), block: target.block(), room: depth }
    }

    /// Returns how long something was in flight, as of the last start or completion. Whenever nothing is in
    /// flight, the device time of all commands adds up to it.
    pub fn busy(&self) -> Span {
        self.hub.borrow().busy(self.lane)
    }
}

impl Device for LiveDevice {
    fn capacity(&self) -> u64 {
        self.capacity
    }

    fn block(&self) -> u32 {
        self.block
    }

    fn room(&self) -> u32 {
        self.room
    }

    fn start(&mut self, now: Time, req: &Request) {
        self.room = self.room.checked_sub(1).expect("started without room");
        self.hub.borrow_mut().start(self.lane, now, req);
    }

    fn wakeup(&self) -> Time {
        Time::NEVER
    }

    fn advance(&mut self, now: Time, done: &mut Vec<Done>) {
        self.room += self.hub.borrow_mut().finish(self.lane, now, done);
    }

    fn polled(&self) -> bool {
        true
    }
}
