//! The kernel's tracing, seen by this process alone, and instances of it that killed processes left.
//!
//! Instances belong to the kernel, wherever tracefs is mounted. Those of captures and meters are called
//! `penstock-`, the number of their process, and that of their disk, as `penstock-4242-8,0`.
//!
//! Source: the kernel's documentation, "ftrace", section "Instances".

use std::fs;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

use crate::kernel::mounts::mount;
use crate::kernel::sysfs::{entries, name};

/// The beginning of the name of an instance.
const INSTANCE: &str = "penstock-";

/// A mount of tracefs in no folder.
#[derive(Debug)]
pub struct Tracefs(OwnedFd);

impl Tracefs {
    /// Mounts tracefs.
    ///
    /// # Errors
    /// The system's error: it needs root, and a kernel with tracing.
    pub fn mount() -> io::Result<Self> {
        Ok(Self(mount("tracefs", &[])?))
    }

    /// Returns the descriptor that holds the mount.
    pub fn into_descriptor(self) -> OwnedFd {
        self.0
    }

    /// Returns the instances whose processes are gone.
    pub fn left(&self) -> Vec<PathBuf> {
        let instances = format!("/proc/self/fd/{}/instances", self.0.as_raw_fd());
        entries(Path::new(&instances)).into_iter().filter(|path| is_left(path)).collect()
    }
}

/// Whether the process of `instance` is gone.
fn is_left(instance: &Path) -> bool {
    let name = name(instance);
    let process = name.strip_prefix(INSTANCE).and_then(|name| name.split('-').next());
    let process = process.and_then(|process| process.parse::<u32>().ok());
    process.is_some_and(|process| !Path::new(&format!("/proc/{process}")).exists())
}

/// Removes an instance, with all that it traces.
///
/// # Errors
/// The system's error.
pub fn remove_instance(instance: &Path) -> io::Result<()> {
    fs::remove_dir(instance)
}
