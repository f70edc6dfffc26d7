//! Targets that another process holds, for as long as it does.

use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::direct::Direct;
use super::error::TargetError;
use super::opened::Locked;
use super::{Inner, Target, device, file_systems};

impl Target {
    /// Opens a target that another process holds locked, by its open `file` there, of which it uses `len` bytes from
    /// `start`. Errors name `path`, where that process has opened it.
    ///
    /// # Errors
    /// [`TargetError`]: it cannot be opened for direct I/O.
    pub fn lent(path: &Path, file: &Path, start: u64, len: u64) -> Result<Self, TargetError> {
        let file = Direct::REAL.open(file)?;
        let alignment = Direct::REAL.alignment(path, &file)?;
        let length = device::length(path, &file)?;
        let file_system = file_systems::name(&file);
        let (path, file) = (path.to_owned(), Arc::new(file));
        let lock = Some(Locked::by_another(Arc::clone(&file)));
        let inner = Inner { path, alignment, file_system, file, length, lock };
        Ok(Self { inner: Arc::new(inner), start, len })
    }

    /// Returns its open file as another process finds it while this one runs, with the first byte and the number of
    /// bytes that are used.
    pub fn to_lend(&self) -> (PathBuf, u64, u64) {
        let file = format!("/proc/{}/fd/{}", std::process::id(), self.file().as_raw_fd());
        (file.into(), self.start, self.len)
    }
}
