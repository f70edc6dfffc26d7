//! The flags that transfers go to the kernel with.

use rustix::io::ReadWriteFlags;

use crate::driver::Action;

/// What an engine asks of the kernel for all of its transfers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct RwFlags {
    /// A transfer that cannot be done or handed on at once fails with `EAGAIN`.
    pub(crate) nowait: bool,
}

impl RwFlags {
    /// Those of a command.
    pub(crate) fn of(self, action: Action) -> ReadWriteFlags {
        let transfers = matches!(action, Action::Read | Action::Write | Action::WriteThrough);
        let nowait =
            if self.nowait && transfers { ReadWriteFlags::NOWAIT } else { ReadWriteFlags::empty() };
        match action {
            Action::WriteThrough => ReadWriteFlags::DSYNC | nowait,
            _ => nowait,
        }
    }
}
