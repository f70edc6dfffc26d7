//! The trait of a workload: what asks in a run, ready for a target of a known size.

use penstock_core::{ClassId, Seed, Source, Span, StreamId};

use crate::measures::programs::ProgramBook;

/// What asks in a run. Every policy gets the same.
pub(crate) trait Workload: Send + Sync {
    /// A source at its beginning; what is random in it descends from `seed`. It books in `book` what
    /// happens to programs, of which `most` may be under way.
    fn source(&self, seed: Seed, most: u32, book: Option<&ProgramBook>) -> Box<dyn Source>;

    /// Whether it asks for anything but reads.
    fn writes(&self) -> bool;

    /// The same of one class only: each of its requests is asked for as if all were there.
    fn only(&self, class: ClassId) -> Box<dyn Workload>;

    /// Whether the requests of `stream` are planned ahead.
    fn is_planned(&self, stream: StreamId) -> bool;

    /// A book for what happens after `warmup` to the programs of `classes` classes, if it has any.
    fn program_book(&self, _classes: usize, _warmup: Span) -> Option<ProgramBook> {
        None
    }
}
