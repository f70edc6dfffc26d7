//! The events of a record as a replay reads them: one ahead, and none that its run cannot have had.

use std::io;

use penstock_core::{Io, Time};
use penstock_spec::Job;

use super::format::Event;
use super::header::Header;
use super::reader::Events;

/// What a request of a record can be of.
pub(super) struct Known {
    streams: usize,
    classes: usize,
    /// Bytes of the device.
    capacity: u64,
}

impl Known {
    /// What `header` says, and `job`, which stands in it.
    pub(super) fn new(header: &Header, job: &Job) -> Self {
        let classes = match &header.served {
            Some(served) => served.classes(),
            // An older record: those of the job, and of a trace one for the requests of no class.
            None => job.classes.len() + 1,
        };
        Self { streams: job.workload.streams(), classes, capacity: header.capacity }
    }

    /// What is wrong with a request.
    fn check(&self, io: &Io) -> Result<(), String> {
        let (stream, class, end) = (io.stream.0, io.class.0, io.end());
        let Self { streams, classes, capacity } = *self;
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
        Ok(())
    }
}

/// The record as it is read.
pub(super) struct Tape {
    events: Events,
    known: Known,
    /// What comes next.
    pub(super) next: Event,
    /// When the current turn began.
    pub(super) now: Time,
    /// Why it ended too early, if it did.
    pub(super) failed: Option<io::Error>,
}

impl Tape {
    pub(super) fn new(events: Events, known: Known) -> io::Result<Self> {
        let (next, now) = (Event::End, Time::ZERO);
        let mut tape = Self { events, known, next, now, failed: None };
        tape.next = tape.read()?;
        Ok(tape)
    }

    /// Goes on to the next event.
    pub(super) fn pass(&mut self) {
        self.next = self.read().unwrap_or_else(|error| {
            self.failed = Some(error);
            Event::End
        });
    }

    fn read(&mut self) -> io::Result<Event> {
        let event = self.events.read()?;
        if let Event::Arrival(io) = &event {
            self.known.check(io).map_err(|what| self.events.wrong(&what))?;
        }
        Ok(event)
    }
}
