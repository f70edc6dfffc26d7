//! The files on a disk as one device.

use penstock_core::{Device, Done, Op, Request, Time};
use penstock_live::LiveDevice;

/// The files on one disk, each at its address. Their commands share the depth of the disk.
pub(super) struct FilesOfDisk {
    /// First byte and device of each file, in ascending order.
    files: Vec<(u64, LiveDevice)>,
    capacity: u64,
    room: u32,
}

impl FilesOfDisk {
    /// Creates a disk of `capacity` bytes that takes `depth` commands at one time. `files` has the first byte
    /// of each file.
    pub(super) fn new(mut files: Vec<(u64, LiveDevice)>, capacity: u64, depth: u32) -> Self {
        files.sort_by_key(|(start, _)| *start);
        Self { files, capacity, room: depth }
    }

    /// Returns the index of the file with byte `start`.
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
