//! Process numbers as streams.

use std::collections::BTreeMap;

use penstock_core::StreamId;

/// The stream of each process number, numbered as they come; the first if there are none.
#[derive(Debug, Default)]
pub(super) struct Streams {
    known: BTreeMap<u32, StreamId>,
}

impl Streams {
    /// The process `pid` has a stream from now on.
    pub(super) fn add(&mut self, pid: u32) {
        let next = StreamId(self.known.len() as u32);
        self.known.entry(pid).or_insert(next);
    }

    /// The stream of the process `pid`.
    #[inline]
    pub(super) fn of(&self, pid: u32) -> StreamId {
        // A trace without process numbers, or of one process.
        if self.known.len() <= 1 {
            return StreamId(0);
        }
        self.known[&pid]
    }
}
