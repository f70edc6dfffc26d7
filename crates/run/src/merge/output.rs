//! What merges write, and runs that are made: a new file, or a range of a target.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use penstock_live::{Output, Target};

use super::disks::TargetDisk;
use crate::failure::Failure;

/// Where records are written.
pub(super) enum MergeOutput {
    /// A new file, which has its name when it is whole.
    File(Output),
    /// A range of a target, which has no name.
    Range(TargetRange),
}

/// A range of a target.
pub(super) struct TargetRange {
    /// The path of the target, `@` and the first byte.
    pub(super) name: PathBuf,
    target: Target,
}

impl TargetRange {
    /// So many bytes of `disk` from `start` on.
    ///
    /// # Errors
    /// [`Failure`]: they lie outside, or are no whole blocks.
    pub(super) fn new(disk: &TargetDisk, start: u64, len: u64) -> Result<Self, Failure> {
        let name = PathBuf::from(format!("{}@{start}", disk.path.display()));
        Ok(Self { name, target: disk.target.view(start, len)? })
    }
}

impl MergeOutput {
    /// The path of the file, or what the range is called.
    pub(super) fn path(&self) -> &Path {
        match self {
            Self::File(output) => output.path(),
            Self::Range(range) => &range.name,
        }
    }

    /// Whether it is a range of a target.
    pub(super) fn is_range(&self) -> bool {
        matches!(self, Self::Range(_))
    }

    /// What becomes of it if it is not finished.
    pub(super) fn unfinished(&self) -> &'static str {
        match self {
            Self::File(_) => "was not made",
            Self::Range(_) => "is not complete",
        }
    }

    /// Writes it through the page cache.
    ///
    /// # Errors
    /// [`Failure`]: the system's error.
    pub(super) fn writer(&self) -> Result<Box<dyn Write>, Failure> {
        Ok(match self {
            Self::File(output) => {
                let failed = |error: io::Error| Failure::half_written(output.path(), &error);
                Box::new(output.file().map_err(failed)?)
            }
            Self::Range(range) => Box::new(range.target.writer()?),
        })
    }

    /// All of it is written: it is made durable, and a file gets its name.
    ///
    /// # Errors
    /// [`Failure`]: the system's error; a file has come to be there meanwhile.
    pub(super) fn finish(self) -> Result<(), Failure> {
        match self {
            Self::File(output) => Ok(output.finish()?),
            Self::Range(range) => Ok(range.target.sync()?),
        }
    }
}
