//! Notes of what processes have changed in the kernel: files that each locks for as long as it lives.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::fs::FlockOperation;
use rustix::io::Errno;

/// The folder with the notes. Like the kernel's settings, it does not survive a reboot.
pub(crate) const NOTES: &str = "/run/penstock";

/// Opens the note at `path`, which may exist, and locks it; returns `None` if another process has it.
pub(crate) fn lock(path: &Path) -> io::Result<Option<File>> {
    fs::create_dir_all(path.parent().unwrap_or(Path::new(NOTES)))?;
    loop {
        let mut options = File::options();
        let note = options.read(true).append(true).create(true).truncate(false).open(path)?;
        match rustix::fs::flock(&note, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(Errno::WOULDBLOCK) => return Ok(None),
            Err(errno) => return Err(errno.into()),
        }
        // Otherwise its process has ended in between and removed it.
        if note.metadata()?.nlink() > 0 {
            return Ok(Some(note));
        }
    }
}

/// Opens the note at `path` if its process has ended. It stays locked until it is dropped.
pub(crate) fn abandoned(path: &Path) -> Option<File> {
    let note = File::open(path).ok()?;
    // A living process holds the lock.
    rustix::fs::flock(&note, FlockOperation::NonBlockingLockShared).ok()?;
    Some(note)
}
