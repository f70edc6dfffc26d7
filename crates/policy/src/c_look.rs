//! One-way sweeps: from the lowest request upwards to the highest, then again from the lowest.
//!
//! Use it to keep a disk busy without starving any request: with many requests waiting its
//! throughput equals that of `sstf`, with a few it is lower. It treats every address alike, which
//! neither `sstf` nor `look` does. O(log n) per request. Neighbours are merged.
//!
//! A request lies ahead if it begins behind the first byte of the last command. The end of that
//! command does not count: otherwise every sweep would pass over a request whose beginning is
//! covered by others. Of several requests with the same first byte the oldest goes; the others go
//! in later sweeps.
//!
//! Promise: a request waits for the rest of this sweep, for the requests below it in the next
//! sweep, and for one more sweep for each older request with its first byte. Every command begins
//! further on, so a sweep ends. But a flood just ahead of the arm can make the sweep as long as the
//! device. That is not a number of commands, so the registry states no bound.
//!
//! Source: B. L. Worthington, G. R. Ganger, Y. N. Patt, "Scheduling algorithms for modern disk
//! drives", SIGMETRICS 1994; `look` (A. G. Merten, 1970) made cyclic.

use alloc::boxed::Box;

use penstock_core::{Go, Out, Part, Policy, Request, Time};

use crate::entry::{Entry, Facts};
use crate::params::Params;
use crate::queue::{MAX_SECTORS, Positions, max_sectors};

/// The entry of the policy in the registry.
pub const ENTRY: Entry = Entry {
    name: "c-look",
    summary: "sweeps upwards, each from the lowest request to the highest",
    params: &[MAX_SECTORS],
    build: |params, _| Box::new(CLook::new(params)),
    bound: |_, _| None,
    facts: Facts { merges: max_sectors, ..Facts::NONE },
};

/// The queue, and the progress of the sweep.
#[derive(Debug)]
pub struct CLook {
    queue: Positions,
    /// Requests that begin here or later lie ahead.
    position: u64,
}

impl CLook {
    /// Takes `max_sectors`.
    pub fn new(params: &Params) -> Self {
        Self { queue: Positions::new(params), position: 0 }
    }
}

impl Policy for CLook {
    fn enqueue(&mut self, _: Time, req: &Request) {
        self.queue.add(req);
    }

    fn dispatch(&mut self, _: Time, out: &mut Out<'_>) -> Option<Go> {
        let ahead = self.queue.at_or_after(self.position);
        let slot = ahead.or_else(|| self.queue.at_or_after(0))?;
        self.position = self.queue.start(slot) + 1;
        Some(self.queue.take(slot, out))
    }

    fn complete(&mut self, _: Time, _: &Request, _: &Part) {}
}
