//! Tables indexed by the slot of a ticket.

use alloc::vec::Vec;

/// The value that stands for no slot.
pub(super) const NIL: u32 = u32::MAX;

/// Stores `node` at `slot` of `nodes`, which grows if necessary.
pub(crate) fn put<T: Clone>(nodes: &mut Vec<T>, slot: u32, node: T) {
    match nodes.get_mut(slot as usize) {
        Some(place) => *place = node,
        None => nodes.resize(slot as usize + 1, node),
    }
}
