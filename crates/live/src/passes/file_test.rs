//! The tests that workers do on their files.
//!
//! Source: the documentation of `IOzone` 3, which has the same tests: "`Iozone` Filesystem Benchmark" (2006) and the
//! manual page.

use crate::passes::order::RecordOrder;

/// The direction in which a test moves data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Moves {
    Reads,
    Writes,
    /// Some workers read, and the others write.
    ByWorker,
}

/// The calls that a test makes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum CallKind {
    /// `read` and `write`, after an `lseek` where the file is not at the record.
    Plain,
    /// `pread` and `pwrite`.
    Positioned,
    /// `preadv` and `pwritev`, with one piece of memory.
    Vectored,
    /// `fread` and `fwrite`.
    Stream,
}

/// A test of a worker: it goes over its file once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FileTest {
    /// Its name.
    pub name: &'static str,
    pub(crate) moves: Moves,
    pub(crate) order: RecordOrder,
    pub(crate) calls: CallKind,
    /// Whether it begins with an empty file, which its writes extend.
    pub(crate) is_initial: bool,
}

impl FileTest {
    /// Every test, in the order of `IOzone`'s numbers.
    pub const ALL: [Self; 22] = {
        use CallKind::{Plain, Positioned, Stream, Vectored};
        [
            Self::initial("write", Plain),
            Self::writing("rewrite", RecordOrder::Forward, Plain),
            Self::reading("read", RecordOrder::Forward, Plain),
            Self::reading("reread", RecordOrder::Forward, Plain),
            Self::reading("random_read", RecordOrder::Random, Plain),
            Self::writing("random_write", RecordOrder::Random, Plain),
            Self::reading("backward_read", RecordOrder::Backward, Plain),
            Self::writing("record_rewrite", RecordOrder::OneSpot, Plain),
            Self::reading("stride_read", RecordOrder::Strided, Plain),
            Self::initial("fwrite", Stream),
            Self::writing("frewrite", RecordOrder::Forward, Stream),
            Self::reading("fread", RecordOrder::Forward, Stream),
            Self::reading("freread", RecordOrder::Forward, Stream),
            Self {
                moves: Moves::ByWorker,
                ..Self::reading("random_mix", RecordOrder::Random, Plain)
            },
            Self::initial("pwrite", Positioned),
            Self::writing("re_pwrite", RecordOrder::Forward, Positioned),
            Self::reading("pread", RecordOrder::Forward, Positioned),
            Self::reading("re_pread", RecordOrder::Forward, Positioned),
            Self::initial("pwritev", Vectored),
            Self::writing("re_pwritev", RecordOrder::Forward, Vectored),
            Self::reading("preadv", RecordOrder::Forward, Vectored),
            Self::reading("re_preadv", RecordOrder::Forward, Vectored),
        ]
    };

    const fn reading(name: &'static str, order: RecordOrder, calls: CallKind) -> Self {
        Self { name, moves: Moves::Reads, order, calls, is_initial: false }
    }

    const fn writing(name: &'static str, order: RecordOrder, calls: CallKind) -> Self {
        Self { moves: Moves::Writes, ..Self::reading(name, order, calls) }
    }

    const fn initial(name: &'static str, calls: CallKind) -> Self {
        Self { is_initial: true, ..Self::writing(name, RecordOrder::Forward, calls) }
    }

    /// Returns the test called `name`.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|test| test.name == name)
    }

    /// Returns the test that the worker with this number does: of a mix, the first `readers` read
    /// and the others write.
    #[must_use]
    pub fn of_worker(self, number: usize, readers: usize) -> Self {
        let moves = match self.moves {
            Moves::ByWorker if number < readers => Moves::Reads,
            Moves::ByWorker => Moves::Writes,
            moves => moves,
        };
        Self { moves, ..self }
    }

    /// Returns whether it begins with an empty file, which its writes extend.
    pub fn is_initial(&self) -> bool {
        self.is_initial
    }

    /// Returns whether it writes.
    pub fn writes(&self) -> bool {
        self.moves != Moves::Reads
    }
}
