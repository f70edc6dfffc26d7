//! The interface of an engine: it takes commands and returns results, whatever the system call.
//!
//! Everything that engines have in common (slots, rounding, short transfers, device time) is in
//! `hub`; a new engine implements [`Driver`] and nothing else.

use std::sync::Arc;
use std::time::Duration;

use penstock_core::Errno;

/// What a command does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Action {
    /// Into the buffer.
    Read,
    /// From the buffer.
    Write,
    /// From the buffer; on stable media when it is done.
    WriteThrough,
    /// Data of completed writes goes to stable media. No range.
    Flush,
    /// The range reads as zeros from now on and takes no space.
    Discard,
}

/// One command as an engine sees it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Command {
    pub(crate) action: Action,
    /// Which of the open files.
    pub(crate) file: u32,
    /// First byte of the target.
    pub(crate) start: u64,
    /// Bytes.
    pub(crate) len: u32,
    /// Where in the area of buffers its data lies.
    pub(crate) buffer: usize,
}

/// How a command ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Outcome {
    /// The slot that it was queued under.
    pub(crate) slot: u32,
    /// Bytes transferred, or a negated error number.
    pub(crate) result: i32,
}

/// An engine. It never has more commands than it was built for, one for each slot.
///
/// Dropping one waits until the kernel uses no buffer of its area any more.
pub(crate) trait Driver {
    /// Takes a command. It may wait for others; [`hand_on`](Self::hand_on) submits it.
    fn queue(&mut self, slot: u32, command: &Command);

    /// Submits queued commands to the kernel.
    fn hand_on(&mut self);

    /// Whether [`reap`](Self::reap) has results.
    fn ready(&mut self) -> bool;

    /// Moves ended commands to `outcomes`.
    fn reap(&mut self, outcomes: &mut Vec<Outcome>);

    /// Why the kernel took nothing at the last submission; `None` if it took commands.
    fn refused(&self) -> Option<Errno> {
        None
    }

    /// Submits queued commands to the kernel, and sleeps until a command ends or at most `longest`
    /// has passed. A signal may end it early.
    fn wait(&mut self, longest: Duration);

    /// Ends its waits from another thread; `None` if it cannot do so. The waiting thread must ask
    /// for it before it waits.
    fn bell(&mut self) -> Option<Bell> {
        None
    }
}

/// Ends the wait of a clock on another thread, or its next wait if it is not waiting.
#[derive(Clone)]
pub struct Bell(Arc<dyn Fn() + Send + Sync>);

impl Bell {
    /// A bell that is rung by calling `ring`.
    pub(crate) fn new(ring: impl Fn() + Send + Sync + 'static) -> Self {
        Self(Arc::new(ring))
    }

    /// Rings it.
    pub fn ring(&self) {
        (self.0)();
    }
}
