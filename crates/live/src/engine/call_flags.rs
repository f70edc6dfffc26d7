//! Flags of system calls beyond what a command asks for.

use rustix::io::ReadWriteFlags;

use crate::engine::driver::Action;

/// Options that apply to all calls of an engine.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct CallFlags {
    /// Transfers that would have to wait fail with `EAGAIN`.
    pub(crate) nowait: bool,
    /// Flushes write all metadata of the file (`fsync`), not only what its data needs (`fdatasync`).
    pub(crate) fsync: bool,
}

impl CallFlags {
    /// Returns the flags of a transfer by `action`.
    pub(crate) fn for_action(self, action: Action) -> ReadWriteFlags {
        let transfers = matches!(action, Action::Read | Action::Write | Action::WriteThrough);
        let nowait =
            if self.nowait && transfers { ReadWriteFlags::NOWAIT } else { ReadWriteFlags::empty() };
        match action {
            Action::WriteThrough => ReadWriteFlags::DSYNC | nowait,
            _ => nowait,
        }
    }
}
