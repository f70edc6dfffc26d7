//! What the measures of one thread have found, where a run has several.

use std::any::Any;
use std::fmt;

use penstock_core::Time;

/// What a measure has found on one thread.
pub(crate) type Part = Box<dyn Any + Send>;

/// What all measures of a thread have found, in their order, until the end of its run.
pub(crate) struct Parts {
    pub(crate) end: Time,
    pub(crate) measures: Vec<Option<Part>>,
}

impl fmt::Debug for Parts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Parts").field("end", &self.end).finish_non_exhaustive()
    }
}

/// What is in `part`, which is of the same measure on another thread.
///
/// # Panics
/// If it is of another measure.
pub(crate) fn of_part<T: 'static>(part: Part) -> T {
    *part.downcast().expect("the parts of all threads are in the same order")
}
