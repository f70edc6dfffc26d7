//! Errors of engines before a run begins.

use super::Engine;
use crate::exit_codes::{CANNOT, WRONG_INPUT};

/// Why an engine did not start.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The machine has no such engine, or forbids it.
    #[error("the engine `{}` does not work here: {reason}\nhint: {hint}", engine.name())]
    Missing {
        /// Which engine.
        engine: Engine,
        /// The system call that was tried, and its answer.
        reason: String,
        /// What to do about it.
        hint: String,
    },
    /// More commands in flight than the engine can hold, or none.
    #[error(
        "found a depth of {found} on {targets} target(s); expected 1 to {max} commands in flight \
         with the engine `{}`\nhint: choose a smaller depth", engine.name()
    )]
    Depth {
        /// Which engine.
        engine: Engine,
        /// The depth asked for.
        found: u32,
        /// The number of targets with this depth.
        targets: usize,
        /// Commands in flight over all targets, at most.
        max: u32,
    },
    /// Commands that go past the page cache, which the engine cannot.
    #[error(
        "the engine `{}` goes through the page cache, and requests are direct\n\
         hint: set `cache = \"buffered\"`, or choose another engine", engine.name()
    )]
    OnlyBuffered {
        /// Which engine.
        engine: Engine,
    },
    /// Transfers that must not wait, which the engine cannot ask for.
    #[error(
        "the engine `{}` cannot ask the kernel not to wait, and `nowait` is set\n\
         hint: set `live.nowait = false`, or choose another engine", engine.name()
    )]
    Waits {
        /// Which engine.
        engine: Engine,
    },
    /// A largest command of no bytes, or larger than a buffer may be.
    #[error(
        "found a largest command of {found} bytes; expected 1 to {max} bytes\n\
         hint: split requests into smaller pieces"
    )]
    Length {
        /// The length asked for, in bytes.
        found: u32,
        /// The largest there is, in bytes.
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
        /// Bytes set aside for each.
        stride: u64,
        /// The bound, in bytes.
        max: u64,
    },
    /// The system refused something that every machine should have.
    #[error("cannot {doing}: {source}\nhint: this machine is short of it; choose a smaller depth")]
    System {
        /// What was tried.
        doing: &'static str,
        /// What the system said.
        source: std::io::Error,
    },
}

impl EngineError {
    /// The exit code of the command: 2 for wrong input, 77 for what this machine cannot do.
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
