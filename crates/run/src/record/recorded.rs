//! The bottom device of a recorded run: everything it does and answers goes into the record.
//!
//! A replay has no device. It computes the room from the commands started and finished, and assumes
//! that a command is admitted where there is room and that positioning costs nothing, as on a real
//! device. A model may answer otherwise, above all an array and a disk with an arm. Every different
//! answer is recorded where it was given, with the number of usual answers before it, and given
//! again by the replay.

use std::cell::Cell;

use penstock_core::{Device, Done, Op, Request, Span, Time};

use super::writer::Recorder;

/// A device whose events are recorded.
pub(crate) struct Recorded<D> {
    device: D,
    recorder: Recorder,
    /// Room as a replay computes it.
    room: u32,
    usual: Usual,
}

/// Numbers of usual answers of a device, as a real one gives them, since its last unusual one.
#[derive(Default)]
pub(crate) struct Usual {
    pub(crate) room: Cell<u32>,
    pub(crate) admitted: Cell<u32>,
    pub(crate) reached: Cell<u32>,
}

/// Adds one to the count in `cell`.
pub(crate) fn count(cell: &Cell<u32>) {
    cell.set(cell.get().wrapping_add(1));
}

impl<D: Device> Recorded<D> {
    /// Creates the wrapper of `device`, which was not asked anything yet.
    pub(crate) fn new(device: D, recorder: Recorder) -> Self {
        let room = device.room();
        Self { device, recorder, room, usual: Usual::default() }
    }

    /// Records the room if it differs from what a replay computes.
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
        let (from, polled) = (done.len(), self.device.polled());
        if !polled {
            self.recorder.advanced();
        }
        self.device.advance(now, done);
        if polled && done.len() == from {
            // Requests of other threads may come now that were due before: those of a turn that
            // begins with them have no advance before them.
            self.recorder.advanced();
        }
        done[from..].iter().for_each(|done| self.recorder.completed(done));
        self.room = self.room.saturating_add((done.len() - from) as u32);
        self.record_room();
    }

    fn polled(&self) -> bool {
        self.device.polled()
    }
}
