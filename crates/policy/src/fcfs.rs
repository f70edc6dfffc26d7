//! First come, first served: the order of arrival, without merging or splitting.
//!
//! Use it as the baseline for every other policy: it is what an I/O path without a scheduler does.
//! O(1) per request. Promise: no request overtakes another.

use alloc::boxed::Box;
use alloc::collections::VecDeque;

use penstock_core::{Go, Out, Part, Policy, ReqId, Request, Time};

use crate::entry::{Bound, Entry, Facts};
use crate::params::Params;

/// The entry of the policy in the registry.
pub const ENTRY: Entry = Entry {
    name: "fcfs",
    summary: "first come, first served: no merging, no sorting, no splitting",
    params: &[],
    build: |params, _| Box::new(Fcfs::new(params)),
    bound: |_, _| Some(Bound::FIFO),
    facts: Facts::NONE,
};

/// The queue.
#[derive(Debug, Default)]
pub struct Fcfs {
    queue: VecDeque<ReqId>,
}

impl Fcfs {
    /// Creates an empty queue; there are no parameters.
    pub fn new(_: &Params) -> Self {
        Self::default()
    }
}

impl Policy for Fcfs {
    fn enqueue(&mut self, _: Time, req: &Request) {
        self.queue.push_back(req.id);
    }

    fn dispatch(&mut self, _: Time, _: &mut Out<'_>) -> Option<Go> {
        self.queue.pop_front().map(Go::all)
    }

    fn complete(&mut self, _: Time, _: &Request, _: &Part) {}
}
