//! The files of a gate as one device below its policy.
//!
//! Each file is a window of one address space, so that one policy rules over all of them, with one
//! limit on commands in flight. A range that shares a block with one in flight is not admitted
//! until that has finished: blocks are written whole, and two commands on one block would undo each
//! other's changes. Once a piece of a request has failed, its other pieces are not sent.

use std::mem;

use penstock_core::{Device, Done, Flags, Op, ReqId, Request, Span, StreamId, Table, Time};

use super::register::Register;

/// Bytes from the begin of one file to the next: no file is longer.
pub(super) const WINDOW: u64 = 1 << 44;

/// The files as a device.
pub(super) struct Carrier {
    files: Vec<Box<dyn Device>>,
    depth: u32,
    /// Bytes to which ranges are rounded below.
    grain: u64,
    register: Register,
    flights: Table<Flight>,
    /// Blocks in use: the command, the first byte and the end.
    busy: Vec<(ReqId, u64, u64)>,
    /// Completions of requests that were not sent.
    refused: Vec<Done>,
}

/// A piece at the device.
struct Flight {
    /// Id in the layer above.
    id: ReqId,
    stream: StreamId,
    place: u64,
}

impl Carrier {
    /// Creates the device of `files` with `depth` commands in flight over all of them.
    pub(super) fn new(
        files: Vec<Box<dyn Device>>,
        depth: u32,
        grain: u32,
        register: Register,
    ) -> Self {
        let (flights, grain) = (Table::new(), grain.into());
        Self { files, depth, grain, register, flights, busy: Vec::new(), refused: Vec::new() }
    }

    /// The range rounded to whole blocks.
    fn blocks(&self, start: u64, len: u32) -> (u64, u64) {
        let end = start + u64::from(len);
        (start / self.grain * self.grain, end.next_multiple_of(self.grain))
    }
}

/// The number of the file at `place`.
fn file(place: u64) -> usize {
    (place / WINDOW) as usize
}

impl Device for Carrier {
    fn capacity(&self) -> u64 {
        self.files.len() as u64 * WINDOW
    }

    fn block(&self) -> u32 {
        self.files.iter().map(Device::block).max().unwrap_or(1)
    }

    fn room(&self) -> u32 {
        let below = self.files.iter().map(Device::room).min().unwrap_or(0);
        below.min(self.depth - self.flights.len().min(self.depth))
    }

    fn admits(&self, op: Op, start: u64, len: u32) -> bool {
        let (from, to) = self.blocks(start, len);
        let shared = |&(_, other, end): &(ReqId, u64, u64)| other < to && from < end;
        let free = op == Op::Flush || !self.busy.iter().any(shared);
        free && self.files[file(start)].admits(op, start % WINDOW, len)
    }

    fn position(&self, now: Time, op: Op, start: u64) -> Span {
        self.files[file(start)].position(now, op, start % WINDOW)
    }

    fn start(&mut self, now: Time, req: &Request) {
        let sync = match self.register.begin(req.stream) {
            Ok(sync) => sync,
            Err(error) => {
                let (service, error) = (Span::ZERO, Some(error));
                let (id, len) = (req.id, req.len);
                return self.refused.push(Done { id, at: now, begun: now, service, len, error });
            }
        };
        let flight = Flight { id: req.id, stream: req.stream, place: req.start };
        let id = self.flights.insert_with(|_| flight);
        let (from, to) = self.blocks(req.start, req.len);
        if req.op != Op::Flush {
            self.busy.push((id, from, to));
        }
        let mut below = req.io.with(id);
        below.io.start %= WINDOW;
        if !sync {
            below.io.flags = below.io.flags.without(Flags::FUA);
        }
        self.files[file(req.start)].start(now, &below);
    }

    fn wakeup(&self) -> Time {
        if !self.refused.is_empty() {
            return Time::ZERO;
        }
        self.files.iter().map(Device::wakeup).min().unwrap_or(Time::NEVER)
    }

    fn advance(&mut self, now: Time, done: &mut Vec<Done>) {
        let from = done.len();
        for device in &mut self.files {
            device.advance(now, done);
        }
        for done in &mut done[from..] {
            let flight = self.flights.remove(done.id);
            self.busy.retain(|(id, ..)| *id != done.id);
            if let Some(error) = done.error {
                self.register.fail(flight.stream, flight.place, error);
            }
            done.id = flight.id;
        }
        done.extend(mem::take(&mut self.refused).into_iter().map(|it| Done { at: now, ..it }));
    }

    fn polled(&self) -> bool {
        self.files.iter().any(Device::polled)
    }
}

#[cfg(test)]
mod tests;
