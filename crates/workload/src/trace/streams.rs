//! Process numbers as streams.

use std::collections::BTreeMap;

use penstock_core::StreamId;

/// The stream of each process number, in the order of their first requests; stream 0 for all if
/// there are no process numbers.
#[derive(Debug, Default)]
pub(super) struct Streams {
    known: BTreeMap<u32, StreamId>,
}

impl Streams {
    /// Assigns a stream to the process `pid`, if it has none.
    pub(super) fn add(&mut self, pid: u32) {
        let next = StreamId(self.known.len() as u32);
        self.known.entry(pid).or_insert(next);
    }

    /// The stream of the process `pid`.
    #[inline]
    pub(super) fn stream(&self, pid: u32) -> StreamId {
        // The trace has no process numbers or a single process.
        if self.known.len() <= 1 {
            return StreamId(0);
        }
        self.known[&pid]
    }
}
