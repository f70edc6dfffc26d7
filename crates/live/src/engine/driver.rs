//! The interface of an engine: it takes commands and returns results, whichever system calls it makes.
//!
//! Everything that engines share (slots, rounding, short transfers, device time) is in `stage::hub`; a new
//! engine implements [`Driver`] only.

use std::sync::Arc;
use std::time::Duration;

use penstock_core::Errno;

/// The operation of a command.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Action {
    /// Reads the range into the buffer.
    Read,
    /// Writes the buffer to the range.
    Write,
    /// Writes the buffer to the range; the data is on stable media when the command ends.
    WriteThrough,
    /// Moves the data of completed writes to stable media. Has no range.
    Flush,
    /// Frees the range, which reads as zeros from then on.
    Discard,
}

/// A command as an engine sees it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Command {
    pub(crate) action: Action,
    /// Index of the open file.
    pub(crate) file: u32,
    /// First byte in the file.
    pub(crate) start: u64,
    /// Length in bytes.
    pub(crate) len: u32,
    /// Offset of its data in the [`Area`](crate::engine::buffers::Area).
    pub(crate) buffer: usize,
}

/// The result of a command.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Outcome {
    /// The slot that it was queued under.
    pub(crate) slot: u32,
    /// Bytes transferred, or a negated error number.
    pub(crate) result: i32,
}

/// An engine. It holds at most one command per slot.
///
/// Dropping an engine waits until the kernel no longer uses any buffer of its area.
pub(crate) trait Driver {
    /// Takes a command. The engine may hold it back until [`submit`](Self::submit) to submit several at once.
    fn queue(&mut self, slot: u32, command: &Command);

    /// Submits queued commands to the kernel.
    fn submit(&mut self);

    /// Returns whether [`reap`](Self::reap) has results.
    fn ready(&mut self) -> bool;

    /// Appends the results of ended commands to `outcomes`.
    fn reap(&mut self, outcomes: &mut Vec<Outcome>);

    /// Returns the error with which the kernel refused the last submission; `None` if it took commands.
    fn refused(&self) -> Option<Errno> {
        None
    }

    /// Submits queued commands and sleeps until a command ends, for at most `longest`. A signal may end the
    /// sleep early.
    fn wait(&mut self, longest: Duration);

    /// Returns a bell with which another thread can end its waits; `None` if the engine has none. The waiting
    /// thread must call this before it waits.
    fn bell(&mut self) -> Option<Bell> {
        None
    }
}

/// Ends the wait of a clock on another thread, or its next wait if it is not waiting.
#[derive(Clone)]
pub struct Bell(Arc<dyn Fn() + Send + Sync>);

impl Bell {
    /// Creates a bell; ringing it calls `ring`.
    pub(crate) fn new(ring: impl Fn() + Send + Sync + 'static) -> Self {
        Self(Arc::new(ring))
    }

    /// Ends the wait.
    pub fn ring(&self) {
        (self.0)();
    }
}
