//! Reasons why a record of verified writes cannot be used.

use std::io;
use std::path::PathBuf;

use crate::engine::error::EngineError;
use crate::exit_codes::{CANNOT, FAILED, WRONG_INPUT};

/// Why a record cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// There is no record, and nothing will be written.
    #[error(
        "{}: found no record of verified writes at {}; reads can be checked only against one\n\
         hint: run a job with `verify = \"write\"` on it first, or let an agent of this one write with \
         `verify = \"both\"`", target.display(), path.display()
    )]
    Missing {
        /// The target.
        target: PathBuf,
        /// The path of the record.
        path: PathBuf,
    },
    /// The target was written without the record.
    #[error(
        "{}: found a record of verified writes that is out of date ({}): a run without `verify` has \
         written to the target since\n\
         hint: write it again with `verify = \"write\"`", target.display(), path.display()
    )]
    Stale {
        /// The target.
        target: PathBuf,
        /// The record.
        path: PathBuf,
    },
    /// The file is no record.
    #[error(
        "{}: found a file that is no record of verified writes; expected one, or none\n\
         hint: nothing is written over: move it away, or name another with `live.verify_record`",
        path.display()
    )]
    NotARecord {
        /// The path of the file.
        path: PathBuf,
    },
    /// The record is for a target of another size.
    #[error(
        "{}: found a record of a target of {found} bytes; {} has {expected}\n\
         hint: remove the record, and write the target again with `verify = \"write\"`",
        path.display(), target.display()
    )]
    OfAnother {
        /// The target.
        target: PathBuf,
        /// The record.
        path: PathBuf,
        /// The size of the target that it is for, in bytes.
        found: u64,
        /// The size of the target in bytes.
        expected: u64,
    },
    /// The system refused a step.
    #[error("{}: cannot {doing} the record of verified writes: {source}\nhint: {hint}", path.display())]
    System {
        /// The record.
        path: PathBuf,
        /// The step that failed.
        doing: &'static str,
        /// The error of the system.
        source: io::Error,
        /// A hint for the user.
        hint: &'static str,
    },
    /// The mapping could not be watched.
    #[error(transparent)]
    Engine(#[from] EngineError),
}

impl RecordError {
    /// Returns the exit code of the command: 1 if the disk is full, 2 for wrong input, 77 for what this machine cannot do.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::System { source, .. }
                if matches!(
                    source.kind(),
                    io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded
                ) =>
            {
                FAILED
            }
            Self::System { doing: MAP, .. } => CANNOT,
            Self::Engine(error) => error.exit_code(),
            _ => WRONG_INPUT,
        }
    }
}

/// The step of mapping the file.
pub(super) const MAP: &str = "map";
