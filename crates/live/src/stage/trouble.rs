//! Trouble: why a live run cannot go on.

use std::io;
use std::path::PathBuf;

use penstock_core::{Errno, Span};

use crate::verify::verifier::Difference;

/// Why a live run cannot go on. The command exits with 1, and with 4 if data differs.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Trouble {
    /// A command was in flight for longer than allowed.
    #[error(
        "{}: found no answer for {} to {command}{}{}; expected one within {}\n\
         hint: look at the kernel's log (`dmesg`) and at the disk; for one that is only slow, raise \
         `live.timeout` of the job, or `timeout` of the gate",
        path.display(), seconds(*waited), and_others(*others), reason(*refused), seconds(*patience)
    )]
    Silent {
        /// The target.
        path: PathBuf,
        /// A description of the oldest command: its operation, length and place.
        command: String,
        /// How many more are in flight there.
        others: u32,
        /// How long it has waited.
        waited: Span,
        /// How long it may be in flight.
        patience: Span,
        /// Why the kernel took no commands at the last submission, if it took none.
        refused: Option<Errno>,
    },
    /// The file was cut or has grown.
    #[error(
        "{}: found a file of {found} bytes; expected {expected}, as when the run began\n\
         hint: somebody changed it during the run; it is left as it is: remove it, and create it \
         anew", path.display()
    )]
    Resized {
        /// The target.
        path: PathBuf,
        /// Its length in bytes.
        found: u64,
        /// Its length at the beginning, in bytes.
        expected: u64,
    },
    /// Data is not what was written.
    #[error(
        "{}: found {} in the block at byte {}; expected {}\n\
         hint: the disk, its driver or another program changed or lost it: look at the kernel's log \
         (`dmesg`)", .0.path.display(), .0.found, .0.offset, .0.expected
    )]
    Differs(Difference),
    /// A page of the record of verified writes was lost.
    #[error(
        "{}: a page of the record of its verified writes was lost; expected all of it\n\
         hint: the file was cut, or its disk failed: look at the kernel's log (`dmesg`)",
        path.display()
    )]
    RecordLost {
        /// The target.
        path: PathBuf,
    },
}

fn and_others(others: u32) -> String {
    match others {
        0 => String::new(),
        1 => ", nor to another command".into(),
        _ => format!(", nor to {others} other commands"),
    }
}

fn reason(refused: Option<Errno>) -> String {
    let error = refused.map(|error| io::Error::from_raw_os_error(error.code()));
    error.map_or_else(String::new, |error| format!(" (the kernel takes no commands: {error})"))
}

fn seconds(span: Span) -> String {
    format!("{:.1} s", span.ns() as f64 / 1e9)
}
