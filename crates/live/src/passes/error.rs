//! Errors of passes: what was found, where, what was expected, and a hint.

use std::io;
use std::path::{Path, PathBuf};

use crate::engine::error::EngineError;
use crate::exit_codes::{DIFFERENT, FAILED};
use crate::passes::data::DifferentWord;
use crate::targets::TargetError;

/// The reason why a pass did not come to its end.
#[derive(Debug, thiserror::Error)]
pub enum PassError {
    /// The file cannot be used.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// The machine lacks what the form of the calls needs.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// A call failed.
    #[error("{}: cannot {doing} at byte {at}: {source}", path.display())]
    Call {
        /// The file.
        path: PathBuf,
        /// The call, as text.
        doing: String,
        /// The offset of the record.
        at: u64,
        /// The error of the system.
        source: io::Error,
    },
    /// Data that was read is not the data that was written.
    #[error(
        "{}: found 0x{actual:016x} at byte {offset}{remark}; expected 0x{expected:016x}, which was \
         written there\nhint: the disk, its path or memory changed it, unless another program wrote \
         to the file", path.display()
    )]
    Different {
        /// The file.
        path: PathBuf,
        /// The offset of the word.
        offset: u64,
        /// The word that was written.
        expected: u64,
        /// The word that was read.
        actual: u64,
        /// A remark on the data that was read; may be empty.
        remark: &'static str,
    },
}

impl PassError {
    /// Returns the exit code of the command: 1 for a call that failed, 4 for data that differs, or that of the
    /// target or the engine.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Target(error) => error.exit_code(),
            Self::Engine(error) => error.exit_code(),
            Self::Call { .. } => FAILED,
            Self::Different { .. } => DIFFERENT,
        }
    }
}

/// A record that failed.
#[derive(Debug)]
pub(crate) enum RecordFailed {
    /// Its call.
    Call { doing: &'static str, at: u64, source: io::Error },
    /// Its data.
    Different(DifferentWord),
}

impl RecordFailed {
    /// Returns the error of a pass over the file at `path` with records of `record` bytes.
    #[cold]
    pub(crate) fn of(self, path: &Path, record: u64) -> PassError {
        let path = path.to_owned();
        match self {
            Self::Call { doing, at, source } => {
                PassError::Call { path, doing: format!("{doing} {record} bytes"), at, source }
            }
            Self::Different(DifferentWord { offset, expected, actual, remark }) => {
                PassError::Different { path, offset, expected, actual, remark }
            }
        }
    }
}

impl From<DifferentWord> for RecordFailed {
    fn from(word: DifferentWord) -> Self {
        Self::Different(word)
    }
}
