//! What the measures of one thread have found, where a run has several.

use std::any::Any;
use std::fmt;

use penstock_core::Time;

/// What a measure has found on one thread.
pub(crate) type ThreadPart = Box<dyn Any + Send>;

/// What all measures of a thread have found, in their order, until the end of its run.
pub(crate) struct ThreadParts {
    pub(crate) end: Time,
    pub(crate) measures: Vec<Option<ThreadPart>>,
}

impl fmt::Debug for ThreadParts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ThreadParts").field("end", &self.end).finish_non_exhaustive()
    }
}

/// What is in `part`, which is of the same measure on another thread.
///
/// # Panics
/// If it is of another measure.
pub(crate) fn of_part<T: 'static>(part: ThreadPart) -> T {
    *part.downcast().expect("the parts of all threads are in the same order")
}
