//! Data structures of policies: lists, a sorted index, requests by position, merged chains, chains
//! in lanes, a queue for each class.
//!
//! All are indexed by the slot of a ticket, so they allocate nothing per request once they have
//! grown to the largest slot.

mod backlog;
mod chains;
mod exact;
mod lanes;
mod line;
mod list;
mod merges;
mod positions;
mod slots;
mod sorted;
mod tournament;

pub use backlog::{Backlog, Taken};
pub use chains::{Added, Chains};
pub use lanes::Lanes;
pub use line::Line;
pub use list::{Links, List};
pub(crate) use merges::max_sectors;
pub use merges::{MAX_SECTORS, Merges};
pub use positions::Positions;
pub(crate) use slots::put;
pub use sorted::Sorted;
pub use tournament::Tournament;
