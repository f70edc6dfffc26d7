//! The renewal of owned files: their contents become those of a new file.

use std::ops::ControlFlow;

use super::create::fill_again;
use super::{Target, TargetError};

impl Target {
    /// Returns whether it is an owned file that may be written, or a loop device over one.
    pub fn is_owned_file(&self) -> bool {
        let locked = self.inner.lock.as_ref();
        locked.is_some_and(|locked| locked.file.metadata().is_ok_and(|meta| meta.is_file()))
    }

    /// Fills an owned file as when it was created, and makes it durable. `progress` is called with the bytes
    /// written and the total; `Break` stops it, and the rest of the file stays as it is. Returns whether all
    /// was written.
    ///
    /// # Errors
    /// The system fails.
    pub fn lay_out(
        &self,
        progress: &mut dyn FnMut(u64, u64) -> ControlFlow<()>,
    ) -> Result<bool, TargetError> {
        let part = (self.start, self.len);
        fill_again(self.path(), self.file(), self.inner.alignment, part, progress)
    }
}
