//! One request of each class in turn; within a class, the order of arrival.
//!
//! Rule: classes take turns in the order of the job, and the class whose turn it is sends its
//! oldest request; classes without requests are skipped. So a class delays another by one request
//! at a time, however many it has queued. Requests are not merged, sorted or split. O(1) per
//! request and a step for each class.
//!
//! Use it if the backlog of a class must not stop another: for example with many merges side by
//! side, each of which reads from the disk that the others write to. A class with long requests
//! gets more of the device than a class with short ones; `sfq` and `fairio` divide its time.
//!
//! Promise: between two successive requests of a class, at most one request of each other class
//! goes.
//!
//! What it leaves out: weights, priorities, and any distinction between reads and writes.
//!
//! Source: J. Nagle, "On packet switches with infinite storage", RFC 970, 1985, for packets. J. B.
//! Sinclair, J. Tang, P. J. Varman and B. R. Iyer, "Impact of data placement on parallel I/O
//! systems", ICPP 1993, use it against jobs that race.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;

use penstock_core::{Go, Out, Part, Policy, ReqId, Request, Time};

use crate::entry::{Bound, Entry, Facts};
use crate::params::Params;

/// The entry of the policy in the registry.
pub const ENTRY: Entry = Entry {
    name: "round-robin",
    summary: "one request of each class in turn, each class in order of arrival",
    params: &[],
    build: |params, _| Box::new(RoundRobin::new(params)),
    bound: |_, streams| Some(Bound { overtakes: streams.saturating_sub(1), ..Bound::FIFO }),
    facts: Facts::NONE,
};

/// A queue for each class.
#[derive(Debug, Default)]
pub struct RoundRobin {
    queues: Vec<VecDeque<ReqId>>,
    /// The class after the one served last: it goes next if it has requests.
    next: usize,
}

impl RoundRobin {
    /// Creates empty queues; there are no parameters.
    pub fn new(_: &Params) -> Self {
        Self::default()
    }
}

impl Policy for RoundRobin {
    fn enqueue(&mut self, _: Time, req: &Request) {
        let class = req.class.index();
        if class >= self.queues.len() {
            self.queues.resize_with(class + 1, VecDeque::new);
        }
        self.queues[class].push_back(req.id);
    }

    fn dispatch(&mut self, _: Time, _: &mut Out<'_>) -> Option<Go> {
        let classes = (self.next..self.queues.len()).chain(0..self.next);
        for class in classes {
            if let Some(id) = self.queues[class].pop_front() {
                self.next = class + 1;
                return Some(Go::all(id));
            }
        }
        None
    }

    fn complete(&mut self, _: Time, _: &Request, _: &Part) {}
}
