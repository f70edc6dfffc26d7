//! Adopted files: an application declares them its own.
//!
//! A run writes only over files of ours, because it generates its data. Data that goes through a gate belongs
//! to an application, which may write to its own file. Such a file is used through the page cache: it grows,
//! any byte may be written alone, and other processes that have it open see the same bytes.

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;

use super::direct::Alignment;
use super::error::TargetError;
use super::file_systems;
use super::opened::check_kind;
use super::{Inner, Target};

/// The largest size of an adopted file in bytes: that of the largest files of ext4.
const ADOPTED: u64 = 1 << 44;

impl Target {
    /// Opens the file at `path`, whatever it holds, because the caller declares it its own. It is used through
    /// the page cache, so that it may grow and any byte may be written alone. Nothing is locked, as its owner
    /// may have it open too.
    ///
    /// # Errors
    /// [`TargetError`]: there is no file, or no regular one; it cannot be opened.
    pub fn adopt(path: &Path) -> Result<Self, TargetError> {
        let failed = |error: io::Error| match error.kind() {
            io::ErrorKind::NotFound => TargetError::Missing { path: path.to_owned() },
            _ => TargetError::system(path, "open it for reading and writing", error),
        };
        let meta = std::fs::metadata(path).map_err(failed)?;
        check_kind(path, meta.file_type())?;
        file_systems::check_not_the_kernels(path, path)?;
        let file = File::options().read(true).write(true).open(path).map_err(failed)?;
        let file_system = file_systems::name(&file);
        let (path, file, alignment) =
            (path.to_owned(), Arc::new(file), Alignment { offset: 1, memory: 1 });
        let inner = Inner { path, alignment, file_system, file, length: 0, lock: None };
        Ok(Self::with_usable(inner, ADOPTED))
    }

    /// Returns how many bytes can be read now; for an adopted file, its present length.
    pub fn readable(&self) -> u64 {
        if self.len < ADOPTED {
            return self.len;
        }
        self.inner.file.metadata().map_or(0, |meta| meta.len())
    }
}
