//! Tables that are indexed by the slot of a ticket.

use alloc::vec::Vec;

/// No slot.
pub(super) const NIL: u32 = u32::MAX;

/// Grows `nodes` so that `slot` can be indexed.
pub(super) fn reach<T: Clone>(nodes: &mut Vec<T>, slot: u32, empty: T) {
    if slot as usize >= nodes.len() {
        nodes.resize(slot as usize + 1, empty);
    }
}
