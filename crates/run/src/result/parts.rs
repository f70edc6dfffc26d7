//! The measurements of one thread, where a run has several.

use std::any::Any;
use std::fmt;

use penstock_core::Time;

/// The data that a measure has collected on one thread.
pub(crate) type ThreadPart = Box<dyn Any + Send>;

/// The data of all measures of a thread up to the end of its run, in the order of the measures.
pub(crate) struct ThreadParts {
    pub(crate) end: Time,
    pub(crate) measures: Vec<Option<ThreadPart>>,
}

impl fmt::Debug for ThreadParts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ThreadParts").field("end", &self.end).finish_non_exhaustive()
    }
}

/// Unpacks the data of the same measure on another thread.
///
/// # Panics
/// If `part` is of another measure.
pub(crate) fn unpack<T: 'static>(part: ThreadPart) -> T {
    *part.downcast().expect("the parts of all threads are in the same order")
}
