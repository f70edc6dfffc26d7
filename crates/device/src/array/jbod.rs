//! Just a bunch of disks, one after the other. A request that crosses borders between disks has a
//! piece on each.

use penstock_core::Op;

use super::piece::Piece;

/// Disks one after the other.
#[derive(Debug)]
pub(super) struct Row {
    /// The end of each disk.
    ends: Box<[u64]>,
}

impl Row {
    pub(super) fn new(capacities: impl Iterator<Item = u64>) -> Self {
        let end = |sum: &mut u64, bytes: u64| {
            *sum = sum.saturating_add(bytes);
            Some(*sum)
        };
        Self { ends: capacities.scan(0, end).collect() }
    }

    pub(super) fn capacity(&self) -> u64 {
        self.ends.last().copied().unwrap_or(0)
    }

    pub(super) fn pieces(&self, op: Op, start: u64, len: u32, mut each: impl FnMut(Piece)) {
        let end = start + u64::from(len);
        let mut at = start;
        let mut disk = self.ends.partition_point(|&end| end <= start);
        while at < end {
            let begins = if disk == 0 { 0 } else { self.ends[disk - 1] };
            let to = end.min(self.ends[disk]);
            if to > at {
                each(Piece { disk, op, start: at - begins, len: (to - at) as u32 });
            }
            at = to;
            disk += 1;
        }
    }
}
