//! A part of a request on one disk.

use penstock_core::Op;

/// A part of a request on one disk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Piece {
    pub(super) disk: usize,
    pub(super) op: Op,
    pub(super) start: u64,
    pub(super) len: u32,
}

/// A step of a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Step {
    /// Reads before the first write.
    Before,
    /// The request itself.
    Itself,
}
