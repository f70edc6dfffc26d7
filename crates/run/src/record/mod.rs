//! Records of a run: what came from outside, and, apart from it, what the policy decided.
//!
//! A record holds the turns of the loop, the arrivals and the completions of the bottom device, each
//! in the turn in which the loop saw it; never a dispatch. Of a model it also holds what the device
//! answered when it was asked and a replay could not know (`recorded.rs`). The same
//! policy makes the same decisions from it. These are in a second file, only to compare with.
//!
//! Where every disk of an array has a queue, all are in the same two files: a mark says of which one the
//! events or decisions behind it are.
//!
//! Both files begin with a line that names the format and a line of JSON; what follows is binary,
//! little-endian, a tag byte before each event.

mod format;
mod header;
mod reader;
pub(crate) mod recorded;
pub mod replay;
mod tape;
mod writer;

pub(crate) use format::RECORD as BEGINS;
pub use format::{Event, decisions_of};
pub use header::{Header, RecordedDisk, RecordedLane, RecordedServed};
pub use reader::{Decisions, Events};
pub use writer::Recorder;
pub(crate) use writer::check_new;
