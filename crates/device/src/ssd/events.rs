//! Future events of dies and channels, in order of time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use penstock_core::ReqId;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum What {
    /// A die has fetched a page of a read, which is its `nth`.
    Fetched { id: ReqId, nth: u32 },
    /// Bytes of a read have passed a channel.
    Out { id: ReqId, bytes: u32 },
    /// A die may have ended what it did for writes.
    Worked { die: u32 },
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Event {
    at: u64,
    order: u32,
    what: What,
}

#[derive(Debug, Default)]
pub(super) struct Events {
    dies: Heap,
    /// Few at a time, so a heap of their own is faster.
    channels: Heap,
    /// Events so far, modulo 2^32: those of one instant go in the order in which they were planned.
    planned: u32,
}

#[derive(Debug, Default)]
struct Heap(BinaryHeap<Reverse<Event>>);

impl Heap {
    fn next(&self) -> u64 {
        self.0.peek().map_or(u64::MAX, |Reverse(event)| event.at)
    }
}

impl Events {
    pub(super) fn plan(&mut self, at: u64, what: What) {
        let channel = matches!(what, What::Out { .. });
        let heap = if channel { &mut self.channels } else { &mut self.dies };
        heap.0.push(Reverse(Event { at, order: self.planned, what }));
        self.planned = self.planned.wrapping_add(1);
    }

    /// When the next is due.
    pub(super) fn next(&self) -> u64 {
        self.dies.next().min(self.channels.next())
    }

    /// Takes the next event off; at one instant, events of a channel before those of a die.
    pub(super) fn pop(&mut self) -> Option<What> {
        let die = self.dies.next() < self.channels.next();
        let heap = if die { &mut self.dies } else { &mut self.channels };
        heap.0.pop().map(|Reverse(event)| event.what)
    }
}
