//! The files behind a gate, until it is closed.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::{PoisonError, RwLock, RwLockReadGuard};

use penstock_live::Target;

/// Files by number, or a model without one.
pub(super) struct Files {
    names: Vec<PathBuf>,
    /// Open and locked targets; empty once the gate is closed.
    targets: RwLock<Vec<Target>>,
    /// Bytes of the model before them, if there is one.
    bound: Option<u64>,
}

impl Files {
    /// Creates the files on `targets`, behind a model of `bound` bytes if there is one.
    pub(super) fn new(targets: Vec<Target>, bound: Option<u64>) -> Self {
        let names = targets.iter().map(|target| target.path().to_owned()).collect();
        Self { names, targets: RwLock::new(targets), bound }
    }

    /// The name of the file numbered `file` in messages.
    pub(super) fn name(&self, file: u32) -> impl fmt::Display {
        let name = self.names.get(file as usize);
        name.map_or_else(|| "the model".into(), |name| name.display().to_string())
    }

    /// Maximum size of the file numbered `file` in bytes.
    pub(super) fn capacity(&self, file: u32) -> io::Result<u64> {
        if file == 0 && self.names.is_empty() {
            return Ok(self.within(u64::MAX));
        }
        self.of(file, Target::capacity)
    }

    /// Bytes that can now be read from the file numbered `file`.
    pub(super) fn readable(&self, file: u32) -> io::Result<u64> {
        self.of(file, Target::readable)
    }

    /// Closes and unlocks all files.
    pub(super) fn release(&self) {
        self.targets.write().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// Bytes of the file numbered `file`, as `look` returns them.
    fn of(&self, file: u32, look: fn(&Target) -> u64) -> io::Result<u64> {
        if file as usize >= self.names.len() {
            return Err(io::Error::new(io::ErrorKind::NotFound, "no such file"));
        }
        let closed = || io::Error::new(io::ErrorKind::BrokenPipe, "the gate is closed");
        self.open().get(file as usize).map(look).map(|bytes| self.within(bytes)).ok_or_else(closed)
    }

    fn open(&self) -> RwLockReadGuard<'_, Vec<Target>> {
        self.targets.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn within(&self, bytes: u64) -> u64 {
        self.bound.map_or(bytes, |bound| bound.min(bytes))
    }
}
