//! Requests of a gate that are queued or in flight, counted by all of its threads.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Requests that came and requests of which a piece was sent, by book. Clones share their counts.
#[derive(Clone)]
pub(super) struct Levels(Arc<[Passed]>);

#[derive(Default)]
struct Passed {
    arrived: AtomicU64,
    begun: AtomicU64,
}

impl Levels {
    pub(super) fn new(books: usize) -> Self {
        Self((0..books).map(|_| Passed::default()).collect())
    }

    /// Counts a request that came.
    pub(super) fn arrived(&self, book: usize) {
        self.0[book].arrived.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a request whose first piece is sent.
    pub(super) fn begun(&self, book: usize) {
        self.0[book].begun.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns the queued requests of `book` and those in flight, now that `answered` are answered.
    pub(super) fn of(&self, book: usize, answered: u64) -> (u64, u64) {
        let Passed { arrived, begun } = &self.0[book];
        let (arrived, begun) = (arrived.load(Ordering::Relaxed), begun.load(Ordering::Relaxed));
        // A request may begin, or end, before the thread that brought it has counted it.
        (arrived.saturating_sub(begun), begun.saturating_sub(answered))
    }
}
