//! Captures of the kernel's block events: from the pages of its ring buffers to our file, and back.
//!
//! [`Incoming`] reads the pages, [`KernelEvents`] knows how this kernel lays them out, [`Recorder`]
//! makes a file of the events, and `Encoder` and `Decoder` are the file `.ptrace`. Invariants: a file has its events in order of
//! time; pages and files of any content end in events or in an error.

mod event;
mod file;
mod incoming;
mod of_trace;
mod pages;
mod recorder;

pub use event::{Action, CapturedEvent, KERNEL_EVENTS};
pub(super) use file::{Decoded, Decoder, Encoder, HEAD_BYTES, size};
pub use incoming::{CapturedDisk, Incoming};
pub(super) use of_trace::events;
pub use pages::{KernelEvents, PageError};
pub use recorder::{CaptureCounts, Recorder};
