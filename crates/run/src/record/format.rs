//! The two files of a record: their names, their first lines, their tags and what events there are.

use std::path::{Path, PathBuf};

use penstock_core::{Errno, Io, ReqId, Span, Time};

/// What a record begins with.
pub(crate) const RECORD: &str = "penstock-record 1\n";
pub(super) const DECISIONS: &str = "penstock-decisions 1\n";

pub(super) const TURN: u8 = b'T';
pub(super) const ARRIVAL: u8 = b'A';
pub(super) const COMPLETION: u8 = b'D';
pub(super) const ADVANCE: u8 = b'V';
pub(super) const ROOM: u8 = b'R';
pub(super) const REFUSED: u8 = b'F';
pub(super) const POSITION: u8 = b'S';
pub(super) const QUEUE: u8 = b'Q';
pub(super) const END: u8 = b'E';
pub(super) const DECISION: u8 = b'P';

/// A buffer so large that the loop seldom waits for the file.
pub(super) const BUFFER: usize = 1 << 20;

/// One thing that came from outside.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Event {
    /// The loop began a turn.
    Turn(Time),
    /// A request was taken from the source.
    Arrival(Io),
    /// A command came back.
    Completion {
        /// The ticket of its request.
        id: ReqId,
        /// Device time that it cost.
        service: Span,
        /// Bytes that it carried.
        len: u32,
        /// Why it failed, if it did.
        error: Option<Errno>,
    },
    /// The bottom device was advanced. Recorded if it is a device that is not polled.
    Advance,
    /// From here on the bottom device has another room than what was started and finished makes it.
    Room {
        /// How often it was started and advanced since, and had that room.
        after: u32,
        /// For so many commands.
        room: u32,
    },
    /// The bottom device was asked whether it takes a command, and did not.
    Refused {
        /// How often it did since it last did not.
        after: u32,
    },
    /// The bottom device was asked how long it would take to reach a place, and it takes time.
    Position {
        /// How often it said since then that it takes none.
        after: u32,
        /// How long.
        takes: Span,
    },
    /// What follows of devices is of the one below the queue of this number; before that of the first.
    Queue(u16),
    /// The run ended here.
    End,
}

/// The path of the decisions that belong to a record.
pub fn decisions_of(record: &Path) -> PathBuf {
    let mut path = record.as_os_str().to_owned();
    path.push(".decisions");
    path.into()
}
