//! Buffered I/O: a page cache over one device or several.
//!
//! Use it above the I/O scheduler, where a Unix kernel has it. Requests with the flag
//! [`BUFFERED`](penstock_core::Flags::BUFFERED) are answered from pages of 4 KiB in memory. The
//! cache reads missing pages and writes dirty ones with requests of its own. Requests without the
//! flag bypass it, as with `O_DIRECT`, and the pages that they touch are kept coherent.
//!
//! The semantics are those of the documentation: the `vm.dirty_*` sysctls of Linux
//! (`Documentation/admin-guide/sysctl/vm.rst`), readahead(2), open(2). Replacement by two lists is
//! described by M. Gorman, "Understanding the Linux Virtual Memory Manager" (2004), chapter 10. The
//! files of this folder explain their parts and sources: `topology`, `limits`, `pages`,
//! `read_ahead`, `write_back`.
//!
//! - A read ends when all its pages are in memory and copied, `base + per_mb · length / 1,000,000`
//!   later. Missing pages are read whole; missing neighbours are one command.
//! - A write ends when it is copied. A page that it writes in part is read first, unless it is in
//!   memory. While `dirty` bytes are dirty, a write waits for its turn, first come first served.
//! - A forced write ([`FUA`](penstock_core::Flags::FUA), `O_DSYNC`) is written back at once, and
//!   ends when it is on the device. A flush writes back all dirty pages of its file, then flushes the
//!   device. Its file is the one that contains its first byte; if there is none, the flush covers the
//!   whole device.
//! - A direct request first has the dirty pages of its range written back, then goes to the device.
//!   A direct write drops the pages of its range, before and after.
//!
//! Reads of the cache have the class, stream and priority of the reader; writes have those of a
//! page's last writer, and forced writes are durable as requested. The device time of a request is
//! that of the commands that it caused and waited for. Write-back and read-ahead count for a class,
//! not for a request.
//!
//! Memory is shared by all devices. Write-back, its commands and the waiting of writers are
//! separate for each device, and `dirty` is divided among the devices. Read-ahead is separate for
//! each file.
//!
//! Invariants: the cache never has more pages than fit in `memory`, nor more dirty ones than
//! `dirty`, nor so many of one device that another has less than its reserve; two writes of a page
//! are never on the device at once; a waiting request waits for a command, or for memory or
//! permission to write that a command will free; each request has one completion.
//!
//! # Divergence from real page caches
//!
//! - Without files a device is one file: a flush covers all of it, and read-ahead may cross the end
//!   of what a stream uses. Files lie in one piece, and have no metadata and no journal.
//! - Callers copy for themselves: any number of copies run in parallel, each at full rate.
//! - Writers stop when their device's part of `dirty` is reached, and continue first come first
//!   served. Linux slows them down earlier, each by its own share.
//! - All of `memory` belongs to the cache, and ratios refer to it: nothing else needs memory.
//! - Pages have one size, and their lists are exact: Linux approximates use by marks, keeps lists
//!   for each group and node, and moves the border between the two lists.
//! - A page that was written back enters its list as if it were used at that time.

mod cache;
mod commands;
mod dirty;
mod entry;
mod index;
mod limits;
mod options;
mod pages;
mod read_ahead;
mod requests;
mod settle;
#[cfg(test)]
mod tests;
mod topology;
mod walks;
mod write_back;

use std::cmp::Reverse;

use penstock_core::{Device, Done, Op, ReqId, Request, Span, Time};

pub use self::cache::PageCache;
use self::entry::CacheRequest;
pub use self::options::{Options, PAGE};
pub use self::topology::Topology;

impl<D: Device> PageCache<D> {
    /// Does all work that is possible at `now`.
    fn go_on(&mut self, now: Time) {
        self.resume(now);
        self.write_back(now);
        self.release_flushes(now);
        self.send(now);
    }

    /// Sends commands to each device while it has room.
    fn send(&mut self, now: Time) {
        for device in 0..self.lanes.len() {
            while let Some(&req) = self.commands.next(device) {
                if !self.below.admits(req.op, req.start, req.len) {
                    break;
                }
                self.commands.sent(device);
                self.below.start(now, &req);
            }
        }
    }

    /// Completes the requests with finished copies.
    fn end_copies(&mut self, now: Time, done: &mut Vec<Done>) {
        while let Some(&Reverse((at, _, id))) = self.copies.peek()
            && at <= now
        {
            self.copies.pop();
            done.push(self.answer(now, id));
        }
    }

    /// Returns the completion of a finished request.
    fn answer(&mut self, now: Time, id: ReqId) -> Done {
        let CacheRequest { req, arrived, begun, service, error, .. } = self.requests.remove(id);
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
        let ticks = self.lanes.iter().map(|lane| lane.back.tick());
        ticks.fold(copied.min(self.below.wakeup()), Time::min)
    }

    fn advance(&mut self, now: Time, done: &mut Vec<Done>) {
        if self.below.polled() || self.below.wakeup() <= now {
            let mut completions = std::mem::take(&mut self.completions);
            self.below.advance(now, &mut completions);
            for command in completions.drain(..) {
                self.settle(now, &command);
            }
            self.completions = completions;
        }
        for lane in &mut self.lanes {
            lane.back.mark_old(now);
        }
        self.go_on(now);
        self.end_copies(now, done);
    }

    fn polled(&self) -> bool {
        self.below.polled()
    }
}
