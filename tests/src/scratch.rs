//! Folders that are removed when they are dropped.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// A folder of its own, removed when it is dropped.
pub struct Scratch(PathBuf);

impl Scratch {
    /// Creates a folder for temporary files.
    pub fn new() -> Self {
        Self::below(&std::env::temp_dir())
    }

    /// Creates a folder on the disk of the workspace, for files that need a real file system.
    pub fn on_disk() -> Self {
        Self::below(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/tmp"))
    }

    fn below(folder: &Path) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = folder.join(format!("penstock-scratch-{}-{number}", std::process::id()));
        fs::create_dir_all(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        Self(path)
    }

    /// Returns the path of `name` in it.
    pub fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// Writes a file in it, and returns its path.
    pub fn write(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, bytes).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        path
    }
}

impl Default for Scratch {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // A folder left behind costs little; a panic here would hide the present one.
        let _ = fs::remove_dir_all(&self.0);
    }
}
