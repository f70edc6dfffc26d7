//! Roots of the trees in which the system describes itself.

use std::path::PathBuf;

/// Roots of the trees that are read; a test has its own.
pub(super) struct Roots {
    pub(super) sys: PathBuf,
    pub(super) proc: PathBuf,
    pub(super) dev: PathBuf,
}

impl Roots {
    pub(super) fn real() -> Self {
        let [sys, proc, dev] = ["/sys", "/proc", "/dev"].map(PathBuf::from);
        Self { sys, proc, dev }
    }
}
