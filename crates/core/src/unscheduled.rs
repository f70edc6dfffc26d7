//! A device without a policy: requests go on in order of arrival and wait only while it has no
//! room.
//!
//! Use it if a layer below schedules, such as the kernel. Its order is that of
//! [`Queued`](crate::Queued) with the policy `fcfs`, except that a flush keeps its place in the
//! line.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use crate::device::Device;
use crate::request::{Done, Op, Request};
use crate::time::{Span, Time};

/// A device with a waiting line for requests that it has no room for. A request is never divided,
/// merged or overtaken, so it keeps its ticket, and costs little more than at the device itself.
pub struct Unscheduled<D> {
    device: D,
    waiting: VecDeque<Request>,
}

impl<D: Device> Unscheduled<D> {
    /// Puts a line in front of `device`, with no bound on the number of waiting requests.
    pub fn new(device: D) -> Self {
        Self { device, waiting: VecDeque::new() }
    }

    /// Whether the device takes `req` now.
    fn takes(&self, req: &Request) -> bool {
        self.device.room() > 0 && self.device.admits(req.op, req.start, req.len)
    }
}

impl<D: Device> Device for Unscheduled<D> {
    fn capacity(&self) -> u64 {
        self.device.capacity()
    }

    fn block(&self) -> u32 {
        self.device.block()
    }

    fn room(&self) -> u32 {
        u32::MAX
    }

    fn position(&self, now: Time, op: Op, start: u64) -> Span {
        self.device.position(now, op, start)
    }

    fn start(&mut self, now: Time, req: &Request) {
        if self.waiting.is_empty() && self.takes(req) {
            self.device.start(now, req);
        } else {
            self.waiting.push_back(*req);
        }
    }

    fn wakeup(&self) -> Time {
        self.device.wakeup()
    }

    fn advance(&mut self, now: Time, done: &mut Vec<Done>) {
        self.device.advance(now, done);
        while let Some(req) = self.waiting.front().copied().filter(|req| self.takes(req)) {
            self.waiting.pop_front();
            self.device.start(now, &req);
        }
    }

    fn polled(&self) -> bool {
        self.device.polled()
    }
}
