//! The files on a disk as one device, and what stands before it where requests carry data.

use penstock_core::{Device, Done, Flags, Op, Request, Span, Time};
use penstock_live::LiveDevice;

/// Files that lie on one disk, each at its place, with so many commands at a time to all of them.
pub(super) struct FilesOfDisk {
    /// In the order of their places.
    files: Vec<(u64, LiveDevice)>,
    capacity: u64,
    room: u32,
}

impl FilesOfDisk {
    /// `files` by their first bytes on a disk of `capacity` bytes.
    pub(super) fn new(mut files: Vec<(u64, LiveDevice)>, capacity: u64, depth: u32) -> Self {
        files.sort_by_key(|(start, _)| *start);
        Self { files, capacity, room: depth }
    }

    fn file(&self, start: u64) -> usize {
        self.files.partition_point(|(first, _)| *first <= start).saturating_sub(1)
    }
}

impl Device for FilesOfDisk {
    fn capacity(&self) -> u64 {
        self.capacity
    }

    fn block(&self) -> u32 {
        self.files.iter().map(|(_, file)| file.block()).max().unwrap_or(1)
    }

    fn room(&self) -> u32 {
        self.room
    }

    fn admits(&self, _: Op, start: u64, _: u32) -> bool {
        self.room > 0 && self.files[self.file(start)].1.room() > 0
    }

    fn start(&mut self, now: Time, req: &Request) {
        let file = self.file(req.start);
        let (first, device) = &mut self.files[file];
        let mut below = *req;
        below.io.start -= *first;
        self.room -= 1;
        device.start(now, &below);
    }

    fn wakeup(&self) -> Time {
        Time::NEVER
    }

    fn advance(&mut self, now: Time, done: &mut Vec<Done>) {
        let before = done.len();
        self.files.iter_mut().for_each(|(_, file)| file.advance(now, done));
        self.room += (done.len() - before) as u32;
    }

    fn polled(&self) -> bool {
        true
    }
}

/// A device whose requests carry their data. A merged command would carry that of its first request
/// alone, so no policy may merge them: all come to it marked as [`UNMERGED`], and go on without that.
pub(super) struct Unmerged(pub(super) Box<dyn Device>);

/// What nothing is merged with.
pub(super) const UNMERGED: Flags = Flags::FUA;

impl Device for Unmerged {
    fn capacity(&self) -> u64 {
        self.0.capacity()
    }

    fn block(&self) -> u32 {
        self.0.block()
    }

    fn room(&self) -> u32 {
        self.0.room()
    }

    fn admits(&self, op: Op, start: u64, len: u32) -> bool {
        self.0.admits(op, start, len)
    }

    fn position(&self, now: Time, op: Op, start: u64) -> Span {
        self.0.position(now, op, start)
    }

    fn start(&mut self, now: Time, req: &Request) {
        let mut below = *req;
        below.io.flags = below.io.flags.without(UNMERGED);
        self.0.start(now, &below);
    }

    fn wakeup(&self) -> Time {
        self.0.wakeup()
    }

    fn advance(&mut self, now: Time, done: &mut Vec<Done>) {
        self.0.advance(now, done);
    }

    fn polled(&self) -> bool {
        self.0.polled()
    }
}
