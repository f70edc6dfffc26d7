//! Errors of engines before a run begins.

use super::Engine;
use crate::exit_codes::{CANNOT, WRONG_INPUT};

/// The reason why an engine did not start.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The machine lacks the engine, or forbids it.
    #[error("the engine `{}` does not work here: {reason}\nhint: {hint}", engine.name())]
    Missing {
        /// The engine.
        engine: Engine,
        /// The reason, as text: mostly a system call and its error.
        reason: String,
        /// A hint for the user.
        hint: String,
    },
    /// More commands in flight than the engine can hold, or none.
    #[error(
        "found a depth of {found} on {targets} target(s); expected 1 to {max} commands in flight \
         with the engine `{}`\nhint: choose a smaller depth", engine.name()
    )]
    Depth {
        /// The engine.
        engine: Engine,
        /// The requested depth.
        found: u32,
        /// The number of targets with this depth.
        targets: usize,
        /// The most commands in flight on all targets together.
        max: u32,
    },
    /// Direct commands, which the engine cannot carry out.
    #[error(
        "the engine `{}` goes through the page cache, and requests are direct\n\
         hint: set `cache = \"buffered\"`, or choose another engine", engine.name()
    )]
    OnlyBuffered {
        /// The engine.
        engine: Engine,
    },
    /// Transfers that must not wait, which the engine does not support.
    #[error(
        "the engine `{}` cannot ask the kernel not to wait, and `nowait` is set\n\
         hint: set `live.nowait = false`, or choose another engine", engine.name()
    )]
    Waits {
        /// The engine.
        engine: Engine,
    },
    /// An invalid length of the largest command.
    #[error(
        "found a largest command of {found} bytes; expected 1 to {max} bytes\n\
         hint: split requests into smaller pieces"
    )]
    Length {
        /// The requested length in bytes.
        found: u32,
        /// The greatest valid length in bytes.
        max: u32,
    },
    /// The buffers together would be too large.
    #[error(
        "found buffers of {needed} bytes ({slots} commands of {stride} bytes); expected {max} at \
         most\nhint: choose a smaller depth or smaller commands"
    )]
    Memory {
        /// Bytes that the buffers would need.
        needed: u64,
        /// Commands in flight over all targets.
        slots: u32,
        /// The size of a buffer in bytes.
        stride: u64,
        /// The limit in bytes.
        max: u64,
    },
    /// The system refused a step that should work on every machine.
    #[error("cannot {doing}: {source}\nhint: this machine is short of it; choose a smaller depth")]
    System {
        /// The step that failed.
        doing: &'static str,
        /// The error of the system.
        source: std::io::Error,
    },
}

impl EngineError {
    /// Returns the exit code of the command: 2 for wrong input, 77 for what this machine cannot do.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Depth { .. }
            | Self::OnlyBuffered { .. }
            | Self::Waits { .. }
            | Self::Length { .. }
            | Self::Memory { .. } => WRONG_INPUT,
            Self::Missing { .. } | Self::System { .. } => CANNOT,
        }
    }
}
