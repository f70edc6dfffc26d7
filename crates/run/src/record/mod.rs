//! Records of a run: the events from outside, and, in a separate file, the policy's decisions.
//!
//! A record holds the turns of the loop, the arrivals and the completions of the bottom device,
//! each in the turn in which the loop saw it; never a dispatch. For a model it also holds the
//! answers of the device that a replay could not know (`recorded.rs`). From these the same policy
//! makes the same decisions. The decisions are in a second file, only for comparison.
//!
//! Where every disk of an array has a queue, all share the two files: a mark names the queue of the
//! events or decisions after it.
//!
//! Both files begin with a line that names the format and a line of JSON; what follows is binary,
//! little-endian, a tag byte before each event.

mod format;
mod header;
mod played;
mod reader;
pub(crate) mod recorded;
pub mod replay;
mod tape;
mod verdict;
mod writer;

pub(crate) use format::RECORD as BEGINS;
pub use format::{Event, decisions_of};
pub use header::{Header, RecordedDisk, RecordedLane, RecordedServed};
pub use reader::{Decisions, Events};
pub use writer::Recorder;
