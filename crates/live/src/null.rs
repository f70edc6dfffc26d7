//! A device that does nothing at once: what is measured is the cost of the generator.
//!
//! Use it to measure the loop, the policy and the clock on this machine, as with fio's engine `null`. Nothing
//! is read or written.

use penstock_core::{Device, Done, ReqId, Request, Span, Time};

/// A device that takes up to `depth` requests and finishes them at its next turn.
#[derive(Debug)]
pub struct Null {
    room: u32,
    started: Vec<(ReqId, u32, Time)>,
}

impl Null {
    /// The capacity in bytes: larger than any disk, so that every job fits.
    pub const CAPACITY: u64 = 1 << 50;

    /// Creates a device with room for `depth` requests.
    pub fn new(depth: u32) -> Self {
        Self { room: depth, started: Vec::with_capacity(depth as usize) }
    }
}

impl Device for Null {
    fn capacity(&self) -> u64 {
        Self::CAPACITY
    }

    fn block(&self) -> u32 {
        1
    }

    fn room(&self) -> u32 {
        self.room
    }

    fn start(&mut self, now: Time, req: &Request) {
        self.room = self.room.checked_sub(1).expect("started without room");
        self.started.push((req.id, req.len, now));
    }

    fn wakeup(&self) -> Time {
        self.started.first().map_or(Time::NEVER, |&(.., begun)| begun)
    }

    fn advance(&mut self, now: Time, done: &mut Vec<Done>) {
        self.room += self.started.len() as u32;
        done.extend(self.started.drain(..).map(|(id, len, begun)| {
            let service = Span::ZERO;
            Done { id, at: now, begun, service, len, error: None }
        }));
    }
}
