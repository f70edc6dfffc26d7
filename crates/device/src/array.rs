//! Several disks as one device: striped (RAID-0), mirrored (RAID-1), with parity (RAID-5), or one
//! after the other (`jbod`).
//!
//! Use it to study a policy above many arms. Disks may be any devices, each with a queue of its
//! own. A request becomes pieces, at most one for each run of neighbouring bytes on a disk, and
//! ends with its last piece. Its wait ends when the first of its pieces begins; its device time is
//! the sum over the disks; its error is the first error of a piece. A flush goes to every disk.
//!
//! A request that needs a full disk waits above the array, and so do all requests behind it, unless
//! the array has a [controller](Array::with_controller). A controller takes requests whatever the
//! disks hold; pieces for a full disk wait in it in the order of arrival.
//!
//! Source: D. A. Patterson, G. Gibson and R. H. Katz, "A case for redundant arrays of inexpensive
//! disks (RAID)", SIGMOD 1988; the left-symmetric layout of parity is of E. K. Lee and R. H. Katz,
//! "Performance consequences of parity placement in disk arrays", ASPLOS 1991.
//!
//! Invariants: every byte lies in one place of one disk (and its parity on another); an array of
//! one disk answers as that disk does; an advance touches only the disks that are due; the array
//! allocates nothing once its queues have reached their greatest length.
//!
//! # Divergence from real arrays
//!
//! - The array itself takes no time: no controller overhead, no shared bus, no computing of parity,
//!   no cache.
//! - No disk fails: no degraded mode, no rebuild. An error of a disk is the request's error.
//! - RAID-5 has no locks and no stripe cache: two writes to one stripe both read what they need,
//!   and the writes of a request wait for all of its reads. A discard does not change the parity.
//! - RAID-1 sends a long read to one mirror as a whole.

mod disk;
mod jbod;
mod layout;
mod level;
mod piece;
mod raid0;
mod raid1;
mod raid5;

use std::collections::VecDeque;
use std::fmt;

use penstock_core::{Device, Done, Errno, Io, Op, ReqId, Request, Span, Table, Time};

use self::disk::Disk;
use self::layout::Layout;
pub use self::level::Level;
use self::piece::{Piece, Step};

/// The reason why an array cannot be built.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ArrayError {
    /// There are too few disks; the level needs this many.
    Disks(usize),
    /// The stripe unit is zero, or larger than a disk.
    Stripe,
}

impl fmt::Display for ArrayError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Disks(least) => write!(f, "the level needs at least {least} disks"),
            Self::Stripe => f.write_str("a stripe unit has a byte at least, and fits a disk"),
        }
    }
}

impl std::error::Error for ArrayError {}

/// Several disks as one device.
#[derive(Debug)]
pub struct Array<D> {
    layout: Layout,
    capacity: u64,
    disks: Box<[Disk<D>]>,
    /// Time at which each disk needs to be advanced.
    wakes: Box<[Time]>,
    /// The earliest of these times or an earlier one; zero if there is a request without pieces.
    wake: Time,
    room: Room,
    /// Most requests that the controller takes, if there is one.
    controller: Option<u32>,
    table: Table<ArrayRequest>,
    /// Requests beyond the array's end, which have no pieces.
    beyond: Vec<ReqId>,
    /// Requests whose reads are done and that write next. Like `ended`, it is emptied in every
    /// turn.
    writes: Vec<ReqId>,
    ended: Vec<Done>,
}

/// Requests that the disks take now.
#[derive(Clone, Copy, Debug)]
struct Room {
    all: u64,
    /// Number of disks that take none.
    full: usize,
}

/// A request of the layer above, and its progress.
#[derive(Debug)]
struct ArrayRequest {
    req: Request,
    step: Step,
    /// Unfinished pieces of this step.
    left: u32,
    begun: Time,
    service: Span,
    error: Option<Errno>,
}

impl<D: Device> Array<D> {
    /// Creates an array of `disks`. Neighbouring pieces of a request on one disk are joined up to
    /// `max_extent` bytes.
    ///
    /// # Errors
    /// See [`ArrayError`].
    pub fn new(level: Level, max_extent: u32, disks: Vec<D>) -> Result<Self, ArrayError> {
        if disks.len() < level.least() {
            return Err(ArrayError::Disks(level.least()));
        }
        let sizes = disks.iter().map(D::capacity);
        let smallest = sizes.clone().min().unwrap_or(0);
        let layout = Layout::new(level, max_extent, sizes).ok_or(ArrayError::Stripe)?;
        let capacity = layout.capacity(smallest);
        if capacity == 0 {
            return Err(ArrayError::Stripe);
        }
        let disks: Box<[_]> = disks.into_iter().map(Disk::new).collect();
        Ok(Self {
            layout,
            capacity,
            wakes: disks.iter().map(|disk| disk.device.wakeup()).collect(),
            wake: Time::NEVER,
            room: Room {
                all: disks.iter().map(|disk| u64::from(disk.room)).sum(),
                full: disks.iter().filter(|disk| disk.room == 0).count(),
            },
            controller: None,
            disks,
            table: Table::new(),
            beyond: Vec::new(),
            writes: Vec::new(),
            ended: Vec::new(),
        })
    }

    /// Adds a controller that takes `depth` requests at once.
    #[must_use]
    pub fn with_controller(self, depth: u32) -> Self {
        Self { controller: Some(depth), ..self }
    }

    /// Returns the disks in their order.
    pub fn disks(&self) -> impl Iterator<Item = &D> {
        self.disks.iter().map(|disk| &disk.device)
    }

    /// Whether the array has these bytes.
    fn holds(&self, start: u64, len: u32) -> bool {
        start.checked_add(u64::from(len)).is_some_and(|end| end <= self.capacity)
    }

    /// Returns the mirror that a range is read from.
    fn mirror(&self, now: Time, op: Op, start: u64) -> usize {
        match self.layout {
            Layout::Raid1(_) if op == Op::Read => raid1::nearest(&self.disks, now, start),
            _ => 0,
        }
    }

    /// Sends the pieces of the request's current step to their disks, or continues with the next
    /// step if there are none.
    fn send(&mut self, now: Time, id: ReqId) {
        let ArrayRequest { req: Request { io, .. }, step, .. } = *self.entry(id);
        let mirror = self.mirror(now, io.op, io.start);
        let Self { layout, disks, wakes, wake, room, table, .. } = self;
        let entry = table.get_mut(id).expect("found above");
        let mut send_piece = |piece: Piece| {
            let below = Io { op: piece.op, start: piece.start, len: piece.len, ..io };
            let disk = &mut disks[piece.disk];
            entry.left += 1;
            if disk.take(now, &below.with(id), room) {
                wakes[piece.disk] = disk.device.wakeup();
                *wake = wakes[piece.disk].min(*wake);
            }
        };
        layout.pieces(step, (io.op, io.start, io.len), mirror, &mut send_piece);
        if step == Step::Before && entry.left == 0 {
            entry.step = Step::Itself;
            self.send(now, id);
        }
    }

    /// Sends a flush to every disk.
    fn broadcast(&mut self, now: Time, id: ReqId) {
        let Self { disks, wakes, wake, room, table, .. } = self;
        let entry = table.get_mut(id).expect("it has just come");
        for (disk, own) in disks.iter_mut().zip(wakes) {
            entry.left += 1;
            if disk.take(now, &entry.req.io.with(id), room) {
                *own = disk.device.wakeup();
                *wake = (*own).min(*wake);
            }
        }
    }

    fn entry(&self, id: ReqId) -> &ArrayRequest {
        self.table.get(id).expect("a disk named a request that is not here")
    }

    /// Settles the pieces that disk `number` has finished, and sends it waiting pieces.
    fn settle(&mut self, now: Time, number: usize, done: &mut Vec<Done>) {
        let disk = &mut self.disks[number];
        disk.device.advance(now, &mut self.ended);
        for piece in self.ended.drain(..) {
            disk.outstanding -= 1;
            let entry = self.table.get_mut(piece.id).expect("a disk finished what it was given");
            entry.left -= 1;
            entry.begun = entry.begun.min(piece.begun);
            entry.service += piece.service;
            entry.error = entry.error.or(piece.error);
            if entry.left > 0 {
                continue;
            }
            if entry.step == Step::Before && entry.error.is_none() {
                self.writes.push(piece.id);
            } else {
                done.push(answer(now, &self.table.remove(piece.id)));
            }
        }
        disk.update_room(&mut self.room);
        while disk.room > 0
            && let Some(piece) = disk.waiting.pop_front()
        {
            disk.device.start(now, &piece);
            disk.update_room(&mut self.room);
        }
        self.wakes[number] = disk.device.wakeup();
    }
}

impl<D: Device> Disk<D> {
    fn new(device: D) -> Self {
        Self { room: device.room(), device, waiting: VecDeque::new(), outstanding: 0 }
    }

    /// Starts `piece` and returns `true`; if the disk is full, keeps it and returns `false`.
    fn take(&mut self, now: Time, piece: &Request, room: &mut Room) -> bool {
        self.outstanding += 1;
        let free = self.room > 0;
        if free {
            self.device.start(now, piece);
            self.update_room(room);
        } else {
            self.waiting.push_back(*piece);
        }
        free
    }

    /// Updates the number of requests that the disk takes.
    fn update_room(&mut self, room: &mut Room) {
        let before = std::mem::replace(&mut self.room, self.device.room());
        room.all = room.all - u64::from(before) + u64::from(self.room);
        room.full = room.full + usize::from(self.room == 0) - usize::from(before == 0);
    }
}

fn answer(now: Time, entry: &ArrayRequest) -> Done {
    let ArrayRequest { req, begun, service, error, .. } = *entry;
    Done { id: req.id, at: now, begun, service, len: req.len, error }
}

impl<D: Device> Device for Array<D> {
    fn capacity(&self) -> u64 {
        self.capacity
    }

    fn block(&self) -> u32 {
        self.disks[0].device.block()
    }

    /// Requests that the controller takes, or all disks together if there is none.
    /// [`admits`](Device::admits) checks the disks of a range.
    fn room(&self) -> u32 {
        match self.controller {
            Some(depth) => depth.saturating_sub(self.table.len()),
            None => u32::try_from(self.room.all).unwrap_or(u32::MAX),
        }
    }

    fn admits(&self, op: Op, start: u64, len: u32) -> bool {
        if self.controller.is_some() {
            return self.room() > 0;
        }
        match &self.layout {
            _ if self.room.full == 0 => true,
            _ if op == Op::Flush => false,
            Layout::Raid1(_) if op == Op::Read => self.room.all > 0,
            _ if !self.holds(start, len) => self.room.all > 0,
            layout => {
                let mut free = true;
                layout.pieces(layout.first(op), (op, start, len), 0, |piece| {
                    free &= self.disks[piece.disk].room > 0;
                });
                free
            }
        }
    }

    /// The position on the disk of the byte; for mirrors the shortest.
    fn position(&self, now: Time, op: Op, start: u64) -> Span {
        let mut least = Span::ZERO;
        if self.holds(start, 1) {
            let mirror = self.mirror(now, op, start);
            self.layout.pieces(Step::Itself, (op, start, 1), mirror, |piece| {
                least = self.disks[piece.disk].device.position(now, op, piece.start);
            });
        }
        least
    }

    fn start(&mut self, now: Time, req: &Request) {
        assert!(req.len > 0 || req.op == Op::Flush, "a request of no bytes: {req:?}");
        let (req, step) = (*req, self.layout.first(req.op));
        let (begun, service) = (Time::NEVER, Span::ZERO);
        let entry = |_| ArrayRequest { req, step, left: 0, begun, service, error: None };
        let id = self.table.insert_with(entry);
        if req.op == Op::Flush {
            self.broadcast(now, id);
        } else if !self.holds(req.start, req.len) {
            self.beyond.push(id);
            self.wake = Time::ZERO;
        } else {
            self.send(now, id);
        }
    }

    fn wakeup(&self) -> Time {
        self.wake
    }

    fn advance(&mut self, now: Time, done: &mut Vec<Done>) {
        for id in self.beyond.drain(..) {
            let entry = self.table.remove(id);
            done.push(answer(now, &ArrayRequest { begun: now, error: Some(Errno::EIO), ..entry }));
        }
        self.wake = Time::NEVER;
        for number in 0..self.disks.len() {
            if self.wakes[number] <= now {
                self.settle(now, number, done);
            }
            self.wake = self.wakes[number].min(self.wake);
        }
        let mut writes = std::mem::take(&mut self.writes);
        for id in writes.drain(..) {
            self.table.get_mut(id).expect("it has read what it must").step = Step::Itself;
            self.send(now, id);
        }
        self.writes = writes;
    }
}

#[cfg(test)]
mod tests;
