//! The events of a record as a replay reads them: one ahead, and checked against what its run can
//! have had.

use std::collections::VecDeque;
use std::io;

use penstock_core::{Io, Time};
use penstock_device::page_cache::Topology;
use penstock_jobs::Job;

use super::format::Event;
use super::header::Header;
use super::reader::Events;

/// Bounds on the requests of a record.
pub(super) struct Known {
    streams: usize,
    classes: usize,
    /// Bytes of the device.
    capacity: u64,
    /// Topology below its page cache, if it had one: no request reaches from one file into another.
    below_cache: Option<Topology>,
}

impl Known {
    /// Takes the bounds from `header` and from `job`, which the header contains.
    pub(super) fn new(header: &Header, job: &Job, below_cache: Option<Topology>) -> Self {
        let classes = match &header.served {
            Some(served) => served.classes(),
            // An older record has the classes of the job, and for a trace one more, of requests
            // without a class.
            None => job.classes.len() + 1,
        };
        Self { streams: job.workload.streams(), classes, capacity: header.capacity, below_cache }
    }

    /// Checks a request against the bounds.
    fn check(&self, io: &Io) -> Result<(), String> {
        let (stream, class, end) = (io.stream.0, io.class.0, io.end());
        let Self { streams, classes, capacity, ref below_cache } = *self;
        if stream as usize >= streams {
            return Err(format!(
                "it holds a request of stream {stream}, and its job has no more than {streams}"
            ));
        }
        if class as usize >= classes {
            return Err(format!(
                "it holds a request of class {class}, and its run had no more than {classes}"
            ));
        }
        if end > capacity {
            return Err(format!(
                "it holds a request up to byte {end} of a device of {capacity} bytes"
            ));
        }
        if below_cache.as_ref().is_some_and(|topology| !topology.holds(io.start, end)) {
            return Err(format!(
                "it holds a request from byte {} to {end}, which reaches out of a file or a device",
                io.start
            ));
        }
        Ok(())
    }
}

/// The record as it is read.
pub(super) struct Tape {
    events: Events,
    known: Known,
    /// The current event: the next one of all queues.
    pub(super) next: Event,
    /// Queue of `next`, if that is an event of a device.
    pub(super) queue: u16,
    /// When the current turn began.
    pub(super) now: Time,
    /// Error that ended it too early, if any.
    pub(super) failed: Option<io::Error>,
    ahead: Ahead,
}

/// Events read ahead of the current one, up to the next time at which each disk is advanced: an
/// array asks a disk for that time when it starts a command, and remembers it.
struct Ahead {
    events: VecDeque<(Event, u16)>,
    /// Times at which each disk is advanced next, as far as they were read.
    advances: Vec<VecDeque<Time>>,
    /// The queue and the turn that were read last.
    queue: u16,
    turn: Time,
}

impl Tape {
    /// Creates the tape of a run with `queues` queues.
    pub(super) fn new(events: Events, known: Known, queues: usize) -> io::Result<Self> {
        let ahead = Ahead {
            events: VecDeque::new(),
            advances: vec![VecDeque::new(); queues],
            queue: 0,
            turn: Time::ZERO,
        };
        let (next, queue, now) = (Event::End, 0, Time::ZERO);
        let mut tape = Self { events, known, next, queue, now, failed: None, ahead };
        tape.step()?;
        Ok(tape)
    }

    /// Goes on to the next event.
    pub(super) fn pass(&mut self) {
        if self.next == Event::Advance {
            self.ahead.advances[usize::from(self.queue)].pop_front();
        }
        self.step().unwrap_or_else(|error| self.fail(error));
    }

    fn fail(&mut self, error: io::Error) {
        self.failed.get_or_insert(error);
        self.next = Event::End;
    }

    /// Returns the next event if it is of the device below `queue`.
    pub(super) fn next_of(&self, queue: u16) -> Option<Event> {
        (self.queue == queue).then_some(self.next)
    }

    /// Returns when the device below `queue` is advanced next.
    pub(super) fn advance_of(&mut self, queue: u16) -> Time {
        loop {
            if let Some(at) = self.ahead.advances[usize::from(queue)].front() {
                return *at;
            }
            if matches!(self.ahead.events.back(), Some((Event::End, _))) || self.next == Event::End
            {
                return Time::NEVER;
            }
            match self.read() {
                Ok(event) => self.ahead.events.push_back(event),
                Err(error) => {
                    // A damaged file is useless, whatever comes before the damage.
                    self.ahead.events.push_back((Event::End, 0));
                    self.failed.get_or_insert(error);
                }
            }
        }
    }

    fn step(&mut self) -> io::Result<()> {
        (self.next, self.queue) = match self.ahead.events.pop_front() {
            Some(event) => event,
            None => self.read()?,
        };
        Ok(())
    }

    /// Reads an event and the queue that it belongs to.
    fn read(&mut self) -> io::Result<(Event, u16)> {
        let queues = self.ahead.advances.len();
        loop {
            let event = self.events.read()?;
            match event {
                Event::Queue(queue) if usize::from(queue) < queues => self.ahead.queue = queue,
                Event::Queue(queue) => {
                    let what = format!("it names a queue {queue}, and its run had {queues}");
                    return Err(self.events.wrong(&what));
                }
                Event::Arrival(io) => {
                    self.known.check(&io).map_err(|what| self.events.wrong(&what))?;
                }
                Event::Turn(at) => self.ahead.turn = at,
                Event::Advance => {
                    let advances = &mut self.ahead.advances[usize::from(self.ahead.queue)];
                    advances.push_back(self.ahead.turn);
                }
                _ => {}
            }
            if !matches!(event, Event::Queue(_)) {
                return Ok((event, self.ahead.queue));
            }
        }
    }
}
