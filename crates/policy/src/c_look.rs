//! One-way sweeps: from the lowest request upwards to the highest, then again from the lowest.
//!
//! Use it to keep a disk busy without starving any request: with many requests waiting it serves as
//! much as `sstf`, with a few less. It treats every address alike, which neither `sstf` nor `look`
//! does. O(log n) a request. Neighbours are merged.
//!
//! A request lies ahead if it begins behind the first byte of the last command. The end of that
//! command does not count, or every sweep would pass over a request whose beginning others cover.
//! Of several requests with one first byte the oldest goes; the others go in later sweeps.
//!
//! Promise: a request waits for the rest of this sweep and for what lies below it in the next, and
//! a sweep more for each older one with its first byte. Every command begins further on, so a sweep
//! ends. But a flood just ahead of the arm can make the sweep as long as the device is. That is not
//! a number of commands, so the registry states no bound.
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
