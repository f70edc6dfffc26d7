//! Buffered I/O: a page cache over any device.
//!
//! Use it above the I/O scheduler, where a Unix kernel has it: requests that are flagged
//! [`BUFFERED`](penstock_core::Flags::BUFFERED) are answered from pages of 4 KiB in memory, and what the memory
//! lacks or holds back goes below as requests of its own. Requests without the flag pass it by, as
//! with `O_DIRECT`, and what they touch is kept coherent.
//!
//! The semantics are those of the documentation: the `vm.dirty_*` sysctls of Linux
//! (`Documentation/admin-guide/sysctl/vm.rst`), readahead(2), open(2); replacement by two lists is
//! told by M. Gorman, "Understanding the Linux Virtual Memory Manager" (2004), chapter 10. Files of
//! this folder say what each part does and where that is from: `pages`, `read_ahead`, `write_back`.
//!
//! - A read is done when all its pages are here, and copied: `base + per_mb · length / 1,000,000`
//!   later. Pages that lack are read whole; neighbours that lack are one command.
//! - A write is done when it is copied. A page of which it writes a part is read first, unless it is
//!   here. It waits for its turn, first come first served, while `dirty` bytes are dirty.
//! - A forced write ([`FUA`](penstock_core::Flags::FUA), `O_DSYNC`) is written back at once, and done when it is
//!   below. A flush writes back all that is dirty, then flushes below.
//! - A direct request first has what is dirty in its range written back, then goes below; a write
//!   drops the pages of its range, before and after.
//!
//! Reads below are of the class, stream and priority of who reads; writes of a page's last writer,
//! and forced ones durable as asked. The device time of a request is that of the commands that it
//! caused and waited for: write-back and reading ahead is time of a class, not of a request.
//!
//! Invariants: never more pages than `memory` holds, nor more dirty ones than `dirty`; two writes of
//! a page are never below at once; who waits, waits for a command below, or for memory or leave to
//! write that a command below will bring; one request is one completion.
//!
//! # Divergence from real page caches
//!
//! - A device knows no files: a flush is of everything, and reading ahead may cross a file's end.
//! - Who calls copies for itself: any number of copies go on side by side, at full rate each.
//! - Writers are stopped at `dirty` and let go first come first served; Linux slows them down
//!   before, each by its own share, and divides the limit among devices.
//! - All of `memory` is the cache's, and ratios are of it: nothing else needs memory.
//! - Pages are of one size, and their lists are exact: Linux approximates use by marks, keeps lists
//!   for each group and node, and moves where the two lists divide.
//! - A page that was written back stands where one stands that was used then.

mod cache;
mod commands;
mod dirty;
mod entry;
mod index;
mod options;
mod pages;
mod read_ahead;
mod requests;
mod settle;
#[cfg(test)]
mod tests;
mod walks;
mod write_back;

use std::cmp::Reverse;

use penstock_core::{Device, Done, Op, ReqId, Request, Span, Time};

pub use self::cache::PageCache;
use self::entry::Entry;
pub use self::options::{Options, PAGE};

impl<D: Device> PageCache<D> {
    /// What is to be done at once at `now`, whatever brought it about.
    fn go_on(&mut self, now: Time) {
        self.resume(now);
        self.write_back(now);
        self.release_flushes(now);
        self.send(now);
    }

    /// Sends below while there is room.
    fn send(&mut self, now: Time) {
        while let Some(req) = self.commands.next() {
            if self.below.room() == 0 || !self.below.admits(req.op, req.start, req.len) {
                return;
            }
            let req = *req;
            self.commands.sent();
            self.below.start(now, &req);
        }
    }

    /// Ends the copies that are done.
    fn end_copies(&mut self, now: Time, done: &mut Vec<Done>) {
        while let Some(&Reverse((at, _, id))) = self.copies.peek()
            && at <= now
        {
            self.copies.pop();
            done.push(self.answer(now, id));
        }
    }

    /// The completion of a request, which is over.
    fn answer(&mut self, now: Time, id: ReqId) -> Done {
        let Entry { req, arrived, begun, service, error, .. } = self.requests.remove(id);
        let begun = if begun == Time::NEVER { arrived } else { begun };
        Done { id: req.id, at: now, begun, service, len: req.len, error }
    }
}

impl<D: Device> Device for PageCache<D> {
    fn capacity(&self) -> u64 {
        self.below.capacity()
    }

    fn block(&self) -> u32 {
        self.below.block()
    }

    fn room(&self) -> u32 {
        u32::MAX - self.requests.len()
    }

    fn position(&self, now: Time, op: Op, start: u64) -> Span {
        self.below.position(now, op, start)
    }

    fn start(&mut self, now: Time, req: &Request) {
        assert!(req.len > 0 || req.op == Op::Flush, "a request of no bytes: {req:?}");
        self.arrive(now, req);
        self.go_on(now);
    }

    fn wakeup(&self) -> Time {
        let copied = self.copies.peek().map_or(Time::NEVER, |&Reverse((at, ..))| at);
        copied.min(self.back.tick()).min(self.below.wakeup())
    }

    fn advance(&mut self, now: Time, done: &mut Vec<Done>) {
        if self.below.polled() || self.below.wakeup() <= now {
            let mut heard = std::mem::take(&mut self.heard);
            self.below.advance(now, &mut heard);
            for command in heard.drain(..) {
                self.settle(now, &command);
            }
            self.heard = heard;
        }
        self.back.look(now);
        self.go_on(now);
        self.end_copies(now, done);
    }

    fn polled(&self) -> bool {
        self.below.polled()
    }
}
