//! A hard disk: arm, heads, turning platters, zones, skews and slips, and optionally its cache.
//!
//! Use it for one mechanical drive whose measured facts are at hand, or for a drive made from the
//! figures of a data sheet. The model is that of Ruemmler and Wilkes ("An introduction to disk
//! drive modeling", IEEE Computer 27(3), 1994; `buffer.rs` follows their section on data caching)
//! with the zone tables that `DIXtrac` extracts (Schindler and Ganger, CMU-CS-99-176).
//!
//! An access consists of the command overhead; the seek, which is the longer of arm and head
//! switch, and for a write the settling; the wait until the first wanted sector comes round; and
//! the transfer at the speed of the platter. At a track's end follow a switch of head or cylinder
//! and the wait for the next track's first sector, which the skew mostly hides. A request costs one
//! closed formula for each track that it touches.
//!
//! Invariants: one command is in service, queues stand in front ([`Tagged`],
//! [`Queued`](penstock_core::Queued)); when the run begins, arm and head 0 are at cylinder 0, and
//! the platter stands at `t / period` turns at time `t`, unless it was [`turned`](Hdd::turned); hot
//! paths compute in integers and allocate nothing. Every rounding of a time goes down by less than
//! a nanosecond, so a request that directly follows another one finds its sector just ahead, never
//! just missed. Over a year of modelled time the platter lags by 15 µs.
//!
//! # Divergence from real disks
//!
//! - Without its cache every request goes to the platter: a drive with its cache on is faster on
//!   sequential work. With the cache: one command at a time, so that a hit waits for a write that
//!   is on its way; no write is held back for later; no choice among dirty data. `buffer.rs` says
//!   more.
//! - Without its cache, or where [`Cache::settle`] is zero, an access that needs no seek begins at
//!   once. Real drives take about as long as over one cylinder.
//! - The bus is the drive's alone: no other disk uses it, and no arbitration takes time. A write
//!   begins as soon as its data arrives fast enough. Without the cache a read transfers each sector
//!   when it has passed the head, and nothing is lost when the drive disconnects from the bus or
//!   reconnects.
//! - Defects found in use (remapped, not slipped) are not modelled: no seek to a far spare.
//! - Seeks take the same time at every temperature and place; no retries, no recalibration, no
//!   thermal or media errors, no power states, no vibration.
//! - Without the cache reads begin with the first wanted sector, as writes always do. Drives that
//!   take sectors in any order as they come round save up to half a turn on long requests.
//! - No shingled tracks, no second actuator.

mod access;
mod buffer;
mod bus;
mod disk;
mod drive;
mod geometry;
mod mechanism;
mod observer;
mod options;
mod platter;
mod seek;
mod sweep;
mod tagged;

pub use access::Access;
pub use bus::{BusProtocol, BusTimes, EarlyDisconnect};
pub use disk::Hdd;
pub use drive::{
    Cache, CommandOverheads, Drive, DriveError, ReadAhead, SeekLaw, Spares, TrackOrder, Zone,
};
pub use geometry::{Angle, Place};
pub(crate) use observer::AccessObserver;
pub use options::{Bus, Options, Overheads};
pub use tagged::Tagged;

#[cfg(test)]
mod tests;
