//! Requests of a gate that are queued or in flight, counted by all of its threads.

use std::iter;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use penstock_core::ClassId;

/// Requests that came and requests of which a piece was sent, by book and by declared class. Clones
/// share their counts.
#[derive(Clone)]
pub(super) struct Levels {
    books: usize,
    /// Counts of the books, then of the classes.
    passed: Arc<[Passed]>,
}

#[derive(Default)]
struct Passed {
    arrived: AtomicU64,
    begun: AtomicU64,
}

impl Levels {
    pub(super) fn new(books: usize, classes: usize) -> Self {
        Self { books, passed: (0..books + classes).map(|_| Passed::default()).collect() }
    }

    /// Counts a request that came, in its book, and in its class if that is declared.
    pub(super) fn arrived(&self, book: usize, class: ClassId) {
        for passed in self.counting(book, class) {
            passed.arrived.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Counts a request whose first piece is sent, likewise.
    pub(super) fn begun(&self, book: usize, class: ClassId) {
        for passed in self.counting(book, class) {
            passed.begun.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn counting(&self, book: usize, class: ClassId) -> impl Iterator<Item = &Passed> {
        let class = self.passed[self.books..].get(usize::from(class.0));
        iter::once(&self.passed[book]).chain(class)
    }

    /// Returns the queued requests of `book` and those in flight, now that `answered` are answered.
    pub(super) fn of(&self, book: usize, answered: u64) -> (u64, u64) {
        let Passed { arrived, begun } = &self.passed[book];
        let (arrived, begun) = (arrived.load(Ordering::Relaxed), begun.load(Ordering::Relaxed));
        // A request may begin, or end, before the thread that brought it has counted it.
        (arrived.saturating_sub(begun), begun.saturating_sub(answered))
    }

    /// Returns those of a declared class, by its number.
    pub(super) fn of_class(&self, class: usize, answered: u64) -> (u64, u64) {
        self.of(self.books + class, answered)
    }
}
