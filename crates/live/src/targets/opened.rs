//! Files open for direct I/O, and locked.

use std::fs::{File, FileType};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;
use std::sync::Arc;

use rustix::fs::FlockOperation;
use rustix::io::Errno;

use super::direct::{Alignment, Direct};
use super::error::TargetError;

/// A file locked against other runs by this process.
#[derive(Debug)]
pub(super) struct Locked {
    pub(super) file: Arc<File>,
    process: u32,
}

impl Locked {
    pub(super) fn new(path: &Path, file: Arc<File>) -> Result<Self, TargetError> {
        let locked = rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive);
        let process = std::process::id();
        locked.map(|()| Self { file, process }).map_err(|errno| match errno {
            Errno::WOULDBLOCK => TargetError::InUse { path: path.to_owned() },
            _ => TargetError::system(path, "lock it", errno.into()),
        })
    }

    /// Takes `file`, which another process has locked and unlocks.
    pub(super) fn by_another(file: Arc<File>) -> Self {
        Self { file, process: 0 }
    }

    /// Returns whether this process locked it. The child of a fork shares the lock, but must not release it.
    pub(super) fn is_of_this_process(&self) -> bool {
        self.process == std::process::id()
    }
}

impl Drop for Locked {
    fn drop(&mut self) {
        if !self.is_of_this_process() {
            return;
        }
        // Closing is not enough: the kernel closes a ring, and so the files registered with it, some time
        // after we do, and a process that is just being started holds all files until its program begins.
        // Unlocking cannot fail on a locked file.
        let _ = rustix::fs::flock(&self.file, FlockOperation::Unlock);
    }
}

/// A file open for direct I/O, and locked.
#[derive(Debug)]
pub(super) struct Opened {
    pub(super) direct: Locked,
    pub(super) alignment: Alignment,
    pub(super) usable: u64,
}

/// Opens the file `plain` once more, for direct I/O, and locks it.
pub(super) fn open_direct(
    path: &Path,
    plain: &File,
    usable: u64,
    direct: &Direct,
) -> Result<Opened, TargetError> {
    let file = direct.open(path)?;
    let look = |file: &File| {
        let meta = file.metadata();
        meta.map_err(|error| TargetError::system(path, "look at it", error))
    };
    let (checked, used) = (look(plain)?, look(&file)?);
    if (checked.dev(), checked.ino()) != (used.dev(), used.ino()) {
        return Err(not_ours(path, used.len(), "that took the place of another just now"));
    }
    let file = Locked::new(path, Arc::new(file))?;
    let alignment = direct.alignment(path, &file.file)?;
    Ok(Opened { direct: file, alignment, usable })
}

/// Checks that `kind` is a regular file.
pub(super) fn check_kind(path: &Path, kind: FileType) -> Result<(), TargetError> {
    let path = path.to_owned();
    let kind = match kind {
        kind if kind.is_file() => return Ok(()),
        kind if kind.is_dir() => return Err(TargetError::Directory { path }),
        kind if kind.is_block_device() => "block device",
        kind if kind.is_char_device() => "character device",
        kind if kind.is_fifo() => "pipe",
        kind if kind.is_socket() => "socket",
        _ => "special file",
    };
    Err(TargetError::NotAFile { path, kind })
}

/// Returns the error for a file that is not ours.
pub(super) fn not_ours(path: &Path, len: u64, why: &str) -> TargetError {
    TargetError::NotOurs { path: path.to_owned(), len, why: why.to_owned() }
}
