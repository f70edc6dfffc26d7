//! An event of the kernel's block layer, as a capture keeps it.

use penstock_core::IoPrio;

/// A step in the life of a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Action {
    /// A program issued it.
    Queued,
    /// It got a place in the device's queue.
    Admitted,
    /// It was merged behind a queued request.
    MergedBehind,
    /// It was merged before a queued request.
    MergedBefore,
    /// The scheduler got it.
    Inserted,
    /// The driver got it.
    Issued,
    /// The driver gave it back.
    Requeued,
    /// The device completed it.
    Completed,
}

/// Names of the kernel's events, and what each records. Devices without a request queue, such as
/// LVM volumes, send `block_bio_complete`; others complete requests only.
pub const KERNEL_EVENTS: [(&str, Action); 9] = [
    ("block_bio_queue", Action::Queued),
    ("block_getrq", Action::Admitted),
    ("block_bio_backmerge", Action::MergedBehind),
    ("block_bio_frontmerge", Action::MergedBefore),
    ("block_rq_insert", Action::Inserted),
    ("block_rq_issue", Action::Issued),
    ("block_rq_requeue", Action::Requeued),
    ("block_rq_complete", Action::Completed),
    ("block_bio_complete", Action::Completed),
];

/// The letters of blkparse.
const LETTERS: [(Action, u8); 8] = [
    (Action::Queued, b'Q'),
    (Action::Admitted, b'G'),
    (Action::MergedBehind, b'M'),
    (Action::MergedBefore, b'F'),
    (Action::Inserted, b'I'),
    (Action::Issued, b'D'),
    (Action::Requeued, b'R'),
    (Action::Completed, b'C'),
];

impl Action {
    /// Its letter in the output of blkparse.
    pub fn letter(self) -> u8 {
        let of_action = LETTERS.iter().find(|(action, _)| *action == self);
        of_action.expect("every action has a letter").1
    }

    /// The action of a letter.
    pub(crate) fn of_letter(letter: u8) -> Option<Self> {
        LETTERS.iter().find(|(_, of_action)| *of_action == letter).map(|(action, _)| *action)
    }
}

/// An event of a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CapturedEvent<'a> {
    /// Nanoseconds of the clock of the capture.
    pub at_ns: u64,
    /// The step of the request.
    pub action: Action,
    /// Name of the device; that of a capture is its number, as `8,0`.
    pub device: &'a [u8],
    /// The operation and its flags in the kernel's letters, as `WS`.
    pub letters: &'a [u8],
    /// First sector, of 512 bytes.
    pub sector: u64,
    /// Number of sectors.
    pub sectors: u64,
    /// Number of the processor.
    pub cpu: u32,
    /// Number of the process, or of the one that a completion interrupted.
    pub pid: u32,
    /// Name of the process; empty if the event has none.
    pub process: &'a [u8],
    /// The I/O priority; `None` if the event or the request has none.
    pub ioprio: Option<IoPrio>,
}
