//! The levels of arrays.

/// How an array lays its bytes out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Level {
    /// Striped over the disks.
    Raid0 {
        /// Bytes of a stripe unit: what lies on one disk before the next one follows.
        stripe: u32,
    },
    /// The same on every disk.
    Raid1,
    /// Striped, with a unit of parity in every row, on each disk in turn (left-symmetric).
    Raid5 {
        /// Bytes of a stripe unit.
        stripe: u32,
    },
    /// One disk after the other.
    Jbod,
}

impl Level {
    /// Disks that it needs at least.
    pub const fn least(self) -> usize {
        if matches!(self, Self::Raid5 { .. }) { 3 } else { 1 }
    }
}
