//! A limit on the writes of each class at the disk; the disk's line is in order of arrival.
//!
//! Rule: the disk has one line, first come, first served. A read joins it at once. A write joins it
//! while fewer than `writes` writes of its class are in the line or in flight; otherwise it waits
//! above, with its class, and joins the end of the line when one of those has completed. Requests
//! are not merged, sorted or split. O(1) per request.
//!
//! Use it if one class writes much at once and others read from the same disk: a read then waits
//! for at most `writes` writes of each class, not for all that are queued. It bounds the writes at
//! the disk, not those that a class has issued: a limit on its memory does that.
//!
//! Promise: no later request goes before a read, or before any other request in the line. For a
//! write that waits above there is no bound in commands, since any number of requests may come
//! before it joins; the writes of a class keep their order, and one joins with every one that
//! completes.
//!
//! What it leaves out: reads are not limited, and all writes count the same whatever their length.
//!
//! Source: the partition of buffers that keeps concurrent merges from racing in J. B. Sinclair, J.
//! Tang, P. J. Varman and B. R. Iyer, "Impact of data placement on parallel I/O systems", ICPP
//! 1993, moved from the job to the disk. The default is ours: the writes that a class has in flight
//! on a disk, and a few behind them.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;

use penstock_core::{ClassId, Go, Op, Out, Part, Policy, ReqId, Request, Time};

use crate::entry::{Entry, Facts};
use crate::params::{Kind, Param, Params, Value};

/// The entry of the policy in the registry.
pub const ENTRY: Entry = Entry {
    name: "max-queued",
    summary: "in order of arrival, with at most so many writes of a class at the disk",
    params: &[Param {
        name: "writes",
        kind: Kind::Count(1),
        default: Value::Count(4),
        doc: "writes of a class that are queued at the disk or in flight; further ones wait above",
        source: "ours",
    }],
    build: |params, _| Box::new(MaxQueued::new(params)),
    bound: |_, _| None,
    facts: Facts::NONE,
};

/// The line, and the writes that wait above it.
#[derive(Debug)]
pub struct MaxQueued {
    writes: u32,
    line: VecDeque<ReqId>,
    classes: Vec<ClassWrites>,
}

/// The writes of a class.
#[derive(Debug, Default)]
struct ClassWrites {
    /// Writes in the line or in flight.
    at_disk: u32,
    /// Writes that wait above the line.
    above: VecDeque<ReqId>,
}

impl MaxQueued {
    /// Takes `writes`.
    pub fn new(params: &Params) -> Self {
        let (line, classes) = (VecDeque::new(), Vec::new());
        Self { writes: params.count("writes"), line, classes }
    }

    fn class(&mut self, class: ClassId) -> &mut ClassWrites {
        if class.index() >= self.classes.len() {
            self.classes.resize_with(class.index() + 1, ClassWrites::default);
        }
        &mut self.classes[class.index()]
    }
}

impl Policy for MaxQueued {
    fn enqueue(&mut self, _: Time, req: &Request) {
        if req.op == Op::Write {
            let limit = self.writes;
            let class = self.class(req.class);
            if class.at_disk == limit {
                class.above.push_back(req.id);
                return;
            }
            class.at_disk += 1;
        }
        self.line.push_back(req.id);
    }

    fn dispatch(&mut self, _: Time, _: &mut Out<'_>) -> Option<Go> {
        self.line.pop_front().map(Go::all)
    }

    fn complete(&mut self, _: Time, req: &Request, part: &Part) {
        if req.op != Op::Write || !part.last {
            return;
        }
        let class = self.class(req.class);
        match class.above.pop_front() {
            Some(next) => self.line.push_back(next),
            None => class.at_disk -= 1,
        }
    }
}
