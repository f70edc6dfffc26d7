//! The levels of arrays.

/// The layout of an array's bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Level {
    /// Stripes over the disks.
    Raid0 {
        /// Bytes of a stripe unit, which lies on one disk before the next disk follows.
        stripe: u32,
    },
    /// Every disk has the same bytes.
    Raid1,
    /// Stripes with a unit of parity in every row, on each disk in turn (left-symmetric).
    Raid5 {
        /// Bytes of a stripe unit.
        stripe: u32,
    },
    /// Concatenates the disks.
    Jbod,
}

impl Level {
    /// Fewest disks.
    pub const fn least(self) -> usize {
        if matches!(self, Self::Raid5 { .. }) { 3 } else { 1 }
    }
}
