//! A disk of an array, with the pieces for it.

use std::collections::VecDeque;

use penstock_core::Request;

/// A disk, and the pieces for it.
#[derive(Debug)]
pub(super) struct Disk<D> {
    pub(super) device: D,
    /// Number of pieces that it takes now.
    pub(super) room: u32,
    /// Pieces that it has not yet taken.
    pub(super) waiting: VecDeque<Request>,
    /// Number of pieces at the disk and waiting for it.
    pub(super) outstanding: u32,
}
