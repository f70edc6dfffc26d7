//! What calls ask of the kernel in addition to what a command says.

use rustix::io::ReadWriteFlags;

use crate::engine::driver::Action;

/// What an engine asks of the kernel with all of its calls.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct CallFlags {
    /// A transfer that cannot be done or handed on at once fails with `EAGAIN`.
    pub(crate) nowait: bool,
    /// A flush writes all that is known of a file (`fsync`), and not only what its data needs (`fdatasync`).
    pub(crate) fsync: bool,
}

impl CallFlags {
    /// Those that a command is given.
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
