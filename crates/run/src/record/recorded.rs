//! The bottom device of a run that is recorded: what it did and said goes into the record.
//!
//! A replay has no device. It counts room by what was started and finished, takes it that a command
//! is admitted where there is room, and that position costs nothing: so it is on a real device. A
//! model may say otherwise, above all an array and a disk with an arm. Whatever differs is recorded
//! where it was said, with how often it did not differ before, and said again by the replay.

use std::cell::Cell;

use penstock_core::{Device, Done, Op, Request, Span, Time};

use super::writer::Recorder;

/// `device`, recorded.
pub(crate) struct Recorded<D> {
    device: D,
    recorder: Recorder,
    /// Room as a replay knows it.
    room: u32,
    usual: Usual,
}

/// How often a device was asked and answered as a real one does, since it last did not.
#[derive(Default)]
pub(crate) struct Usual {
    pub(crate) room: Cell<u32>,
    pub(crate) admitted: Cell<u32>,
    pub(crate) reached: Cell<u32>,
}

/// Once more.
pub(crate) fn count(cell: &Cell<u32>) {
    cell.set(cell.get().wrapping_add(1));
}

impl<D: Device> Recorded<D> {
    /// `device`, of which nothing was asked yet.
    pub(crate) fn new(device: D, recorder: Recorder) -> Self {
        let room = device.room();
        Self { device, recorder, room, usual: Usual::default() }
    }

    /// Records the room if it is not what a replay counts.
    fn record_room(&mut self) {
        let room = self.device.room();
        if room == self.room {
            count(&self.usual.room);
        } else {
            self.recorder.room(self.usual.room.take(), room);
            self.room = room;
        }
    }
}

impl<D: Device> Device for Recorded<D> {
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
        let admits = self.device.admits(op, start, len);
        if admits {
            count(&self.usual.admitted);
        } else {
            self.recorder.refused(self.usual.admitted.take());
        }
        admits
    }

    fn position(&self, now: Time, op: Op, start: u64) -> Span {
        let takes = self.device.position(now, op, start);
        match takes {
            Span::ZERO => count(&self.usual.reached),
            takes => self.recorder.position(self.usual.reached.take(), takes),
        }
        takes
    }

    fn start(&mut self, now: Time, req: &Request) {
        self.device.start(now, req);
        self.room = self.room.saturating_sub(1);
        self.record_room();
    }

    fn wakeup(&self) -> Time {
        self.device.wakeup()
    }

    fn advance(&mut self, now: Time, done: &mut Vec<Done>) {
        let from = done.len();
        if !self.device.polled() {
            self.recorder.advanced();
        }
        self.device.advance(now, done);
        done[from..].iter().for_each(|done| self.recorder.completed(done));
        self.room = self.room.saturating_add((done.len() - from) as u32);
        self.record_room();
    }

    fn polled(&self) -> bool {
        self.device.polled()
    }
}
