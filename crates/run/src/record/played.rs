//! A record as it is played: the clock gives the recorded turns, the source the arrivals of each,
//! the device its completions.

use std::cell::RefCell;
use std::rc::Rc;

use penstock_core::{Clock, Device, Done, Io, Op, ReqId, Request, Source, Span, Time};

use super::format::Event;
use super::header::{Header, RecordedDisk};
use super::recorded::{Usual, count};
use super::tape::Tape;

/// The recorded turns as a clock.
pub(super) struct Turns(pub(super) Rc<RefCell<Tape>>);

impl Clock for Turns {
    fn now(&mut self) -> Time {
        let tape = &mut *self.0.borrow_mut();
        if let Event::Turn(at) = tape.next {
            tape.now = at;
            tape.pass();
        }
        tape.now
    }

    fn park(&mut self, _: Time) -> bool {
        matches!(self.0.borrow().next, Event::Turn(_))
    }
}

/// The recorded arrivals as a source.
pub(super) struct Arrivals(pub(super) Rc<RefCell<Tape>>);

impl Source for Arrivals {
    fn next_due(&self) -> Time {
        let tape = self.0.borrow();
        match tape.next {
            // As the source answered then, which shows whether it was asked before completions.
            Event::Arrival(io) => io.due.min(tape.now),
            Event::End => Time::NEVER,
            // More arrivals come in a later turn.
            _ => Time::from_ns(u64::MAX - 1),
        }
    }

    fn take(&mut self, _: Time) -> Option<Io> {
        let tape = &mut *self.0.borrow_mut();
        let Event::Arrival(io) = tape.next else { return None };
        tape.pass();
        Some(io)
    }

    fn finished(&mut self, _: Time, _: &Request, _: &Done) {}
}

/// The recorded completions and answers as a device.
pub(super) struct Played {
    tape: Rc<RefCell<Tape>>,
    header: Header,
    /// Number of the queue above it.
    queue: u16,
    /// The disk, with its current room.
    disk: RecordedDisk,
    usual: Usual,
    /// Tickets and lengths in flight.
    started: Vec<(ReqId, u32, Time)>,
}

impl Device for Played {
    fn capacity(&self) -> u64 {
        self.disk.capacity
    }

    fn block(&self) -> u32 {
        self.disk.lane.map_or(self.header.block, |lane| lane.block)
    }

    fn room(&self) -> u32 {
        self.disk.room
    }

    fn admits(&self, _: Op, _: u64, _: u32) -> bool {
        let tape = &mut *self.tape.borrow_mut();
        match tape.next_of(self.queue) {
            Some(Event::Refused { after }) if after == self.usual.admitted.get() => {
                self.usual.admitted.set(0);
                tape.pass();
                false
            }
            _ => {
                count(&self.usual.admitted);
                true
            }
        }
    }

    fn position(&self, _: Time, _: Op, _: u64) -> Span {
        let tape = &mut *self.tape.borrow_mut();
        match tape.next_of(self.queue) {
            Some(Event::Position { after, takes }) if after == self.usual.reached.get() => {
                self.usual.reached.set(0);
                tape.pass();
                takes
            }
            _ => {
                count(&self.usual.reached);
                Span::ZERO
            }
        }
    }

    fn start(&mut self, now: Time, req: &Request) {
        self.started.push((req.id, req.len, now));
        self.disk.room = self.disk.room.saturating_sub(1);
        self.play_room();
    }

    fn wakeup(&self) -> Time {
        let tape = &mut *self.tape.borrow_mut();
        match tape.next_of(self.queue) {
            Some(Event::Advance) => Time::ZERO,
            // Layers above several devices remember the answer of each.
            _ if !self.header.queues.is_empty() => tape.advance_of(self.queue),
            _ => Time::NEVER,
        }
    }

    fn advance(&mut self, now: Time, done: &mut Vec<Done>) {
        // It is advanced later at this very instant: the layer above several devices was given that
        // time to remember, and asks for other reasons before.
        let later = self.tape.borrow().next_of(self.queue) != Some(Event::Advance);
        if later && !self.header.polled {
            return;
        }
        self.play_completions(now, done);
        self.play_room();
    }

    fn polled(&self) -> bool {
        self.header.polled
    }
}

impl Played {
    /// Creates the device below the queue `queue` of the run with this `header`: `disk`.
    pub(super) fn new(
        tape: Rc<RefCell<Tape>>,
        header: &Header,
        queue: u16,
        disk: RecordedDisk,
    ) -> Self {
        let (header, usual) = (header.clone(), Usual::default());
        Self { tape, header, queue, disk, usual, started: Vec::new() }
    }

    /// Applies the room that is recorded here, if it is not the usual one.
    fn play_room(&mut self) {
        let tape = &mut *self.tape.borrow_mut();
        match tape.next_of(self.queue) {
            Some(Event::Room { after, room }) if after == self.usual.room.get() => {
                self.usual.room.set(0);
                self.disk.room = room;
                tape.pass();
            }
            _ => count(&self.usual.room),
        }
    }

    fn play_completions(&mut self, now: Time, done: &mut Vec<Done>) {
        let tape = &mut *self.tape.borrow_mut();
        if tape.next_of(self.queue) == Some(Event::Advance) {
            tape.pass();
            if self.header.polled {
                return;
            }
        }
        while let Some(Event::Completion { id, service, len, error }) = tape.next_of(self.queue) {
            // A command that was never sent here: a decision before it differed, and is reported.
            let Some(at) = self.started.iter().position(|&(i, l, _)| (i, l) == (id, len)) else {
                return;
            };
            let (_, _, begun) = self.started.swap_remove(at);
            done.push(Done { id, at: now, begun, service, len, error });
            self.disk.room = self.disk.room.saturating_add(1);
            tape.pass();
        }
    }
}
