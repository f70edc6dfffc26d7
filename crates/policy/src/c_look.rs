//! One-way sweeps: from the lowest request upwards to the highest, then again from the lowest.
//!
//! Use it where a disk should be kept busy and nobody should be forgotten: with many requests
//! waiting it serves as much as `sstf`, with a few less, and it treats every address alike, which
//! neither `sstf` nor `look` does. O(log n) a request. Nothing is merged.
//!
//! Ahead lies what begins behind the first byte of the last command. Not behind its end: then a
//! request whose beginning others cover would be passed over in every sweep. Of those with one
//! first byte the one that came first goes, the others in later sweeps.
//!
//! Promise: a request waits for the rest of this sweep and for what lies below it in the next, and
//! a sweep more for each older one with its first byte. Every command begins further on, so a sweep
//! ends; but a flood just ahead of the arm can make it as long as the device is. That is no number
//! of commands, so the registry states none.
//!
//! Source: B. L. Worthington, G. R. Ganger, Y. N. Patt, "Scheduling algorithms for modern disk
//! drives", SIGMETRICS 1994; `look` (A. G. Merten, 1970) made cyclic.

use alloc::boxed::Box;

use penstock_core::{Go, Out, Part, Policy, Request, Time};

use crate::entry::{Entry, Facts};
use crate::params::Params;
use crate::queue::Positions;

/// Its entry in the registry.
pub const ENTRY: Entry = Entry {
    name: "c-look",
    summary: "sweeps upwards, each from the lowest request to the highest",
    params: &[],
    build: |params, _| Box::new(CLook::new(params)),
    bound: |_, _| None,
    facts: Facts::NONE,
};

/// What is queued, and how far the sweep has come.
#[derive(Debug, Default)]
pub struct CLook {
    queue: Positions,
    /// What begins here or later lies ahead.
    position: u64,
}

impl CLook {
    /// It has no parameters.
    pub fn new(_: &Params) -> Self {
        Self::default()
    }
}

impl Policy for CLook {
    fn enqueue(&mut self, _: Time, req: &Request) {
        self.queue.add(req);
    }

    fn dispatch(&mut self, _: Time, _: &mut Out<'_>) -> Option<Go> {
        let ahead = self.queue.at_or_after(self.position);
        let slot = ahead.or_else(|| self.queue.at_or_after(0))?;
        self.position = self.queue.start(slot) + 1;
        Some(self.queue.take(slot))
    }

    fn complete(&mut self, _: Time, _: &Request, _: &Part) {}
}
