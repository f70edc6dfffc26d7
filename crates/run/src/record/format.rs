//! The two files of a record: their names, first lines, tags and events.

use std::path::{Path, PathBuf};

use penstock_core::{Errno, Io, ReqId, Span, Time};

/// First line of a record.
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

/// Size of the write buffers in bytes, so large that the loop seldom waits for the file.
pub(super) const BUFFER: usize = 1 << 20;

/// An event from outside the policy.
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
        /// Device time of the command.
        service: Span,
        /// Bytes that it carried.
        len: u32,
        /// Error, if it failed.
        error: Option<Errno>,
    },
    /// The bottom device was advanced. Of a device that is polled only recorded if no command came
    /// back.
    Advance,
    /// The bottom device now has another room than follows from the commands started and finished.
    Room {
        /// Number of times that it was started or advanced since the last such event and had the
        /// room that follows from its commands.
        after: u32,
        /// Number of commands that it has room for.
        room: u32,
    },
    /// The bottom device was asked whether it takes a command, and refused.
    Refused {
        /// Number of commands that it took since it last refused.
        after: u32,
    },
    /// The bottom device was asked how long it would take to reach a place, and the answer was not
    /// zero.
    Position {
        /// Number of answers of zero since the last such event.
        after: u32,
        /// Time that it takes.
        takes: Span,
    },
    /// Later events of devices are of the device below the queue with this number; before the first
    /// such event, of the first device.
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
