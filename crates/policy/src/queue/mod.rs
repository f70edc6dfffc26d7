//! What policies queue in: lists, a sorted index, requests by position, merged chains.
//!
//! All are indexed by the slot of a ticket, so they need no memory of their own per request
//! once they have grown to the largest slot.

mod chains;
mod list;
mod positions;
mod sorted;

pub use chains::Chains;
pub use list::{Links, List};
pub use positions::Positions;
pub use sorted::Sorted;

/// No slot.
const NIL: u32 = u32::MAX;

/// Grows `nodes` so that `slot` can be indexed.
fn reach<T: Clone>(nodes: &mut alloc::vec::Vec<T>, slot: u32, empty: T) {
    if slot as usize >= nodes.len() {
        nodes.resize(slot as usize + 1, empty);
    }
}
