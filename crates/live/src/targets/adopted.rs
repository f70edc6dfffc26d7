//! Files that an application declares its own.
//!
//! A run writes over files of ours alone, because it generates its data. Data that goes through a
//! gate is an application's, and the file is the application's to write to. Such a file goes
//! through the page cache: it grows, any byte may be written alone, and other processes that have
//! it open see the same bytes.

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;

use super::direct::Alignment;
use super::error::TargetError;
use super::file_systems;
use super::opened::check_kind;
use super::{Inner, Target};

/// Bytes that an adopted file may have: as many as the largest files of ext4.
const ADOPTED: u64 = 1 << 44;

impl Target {
    /// Opens the file at `path` because it is the caller's own to write to, whatever it holds. It
    /// goes through the page cache, so that it may grow and any byte may be written alone. Nothing
    /// is locked, as its owner may have it open too.
    ///
    /// # Errors
    /// [`TargetError`]: there is no file, or no regular one; it cannot be opened.
    pub fn adopt(path: &Path) -> Result<Self, TargetError> {
        let opened = |error: io::Error| match error.kind() {
            io::ErrorKind::NotFound => TargetError::Missing { path: path.to_owned() },
            _ => TargetError::system(path, "open it for reading and writing", error),
        };
        let meta = std::fs::metadata(path).map_err(opened)?;
        check_kind(path, meta.file_type())?;
        file_systems::check_not_the_kernels(path, path)?;
        let file = File::options().read(true).write(true).open(path).map_err(opened)?;
        let file_system = file_systems::name(&file);
        let (path, file, alignment) =
            (path.to_owned(), Arc::new(file), Alignment { offset: 1, memory: 1 });
        let inner = Inner { path, alignment, file_system, file, length: 0, lock: None };
        Ok(Self::whole(inner, ADOPTED))
    }

    /// How many bytes can be read now: of an adopted file its present length.
    pub fn readable(&self) -> u64 {
        if self.len < ADOPTED {
            return self.len;
        }
        self.inner.file.metadata().map_or(0, |meta| meta.len())
    }
}
