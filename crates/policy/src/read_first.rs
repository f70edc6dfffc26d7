//! Reads before writes, each in the order of arrival.
//!
//! Rule: the oldest read goes; if no read waits, the oldest other request. Requests are not merged,
//! sorted or split. O(1) per request.
//!
//! Use it if every reader waits for its data and no one waits for a write, as in merges that read
//! ahead, and if readers stop by themselves when the memory for writes is full. It has no limit: a
//! class that reads without end stops all writes for good. `deadline` and `mq-deadline` put reads
//! first and let a write go after a time.
//!
//! Promise: no read is overtaken. There is no promise for writes.
//!
//! What it leaves out: classes, and any bound for writes.
//!
//! Source: J. B. Sinclair, J. Tang, P. J. Varman and B. R. Iyer, "Impact of data placement on
//! parallel I/O systems", ICPP 1993, where it is called read priority.

use alloc::boxed::Box;
use alloc::collections::VecDeque;

use penstock_core::{Go, Op, Out, Part, Policy, ReqId, Request, Time};

use crate::entry::{Entry, Facts};
use crate::params::Params;

/// The entry of the policy in the registry.
pub const ENTRY: Entry = Entry {
    name: "read-first",
    summary: "reads in order of arrival, then writes in order of arrival, without a limit",
    params: &[],
    build: |params, _| Box::new(ReadFirst::new(params)),
    bound: |_, _| None,
    facts: Facts::NONE,
};

/// A queue of reads, and a queue of all other requests.
#[derive(Debug, Default)]
pub struct ReadFirst {
    reads: VecDeque<ReqId>,
    others: VecDeque<ReqId>,
}

impl ReadFirst {
    /// Creates empty queues; there are no parameters.
    pub fn new(_: &Params) -> Self {
        Self::default()
    }
}

impl Policy for ReadFirst {
    fn enqueue(&mut self, _: Time, req: &Request) {
        let queue = if req.op == Op::Read { &mut self.reads } else { &mut self.others };
        queue.push_back(req.id);
    }

    fn dispatch(&mut self, _: Time, _: &mut Out<'_>) -> Option<Go> {
        self.reads.pop_front().or_else(|| self.others.pop_front()).map(Go::all)
    }

    fn complete(&mut self, _: Time, _: &Request, _: &Part) {}
}
