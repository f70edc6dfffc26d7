//! Stripes: units of bytes that go round the disks.
//!
//! Unit `u` lies on disk `u mod n`. Without parity its row is `u div n`. With parity, in the
//! left-symmetric layout, a row has one unit fewer: the row is `u div (n − 1)`, the disk is the
//! same.

use penstock_core::Op;

use super::piece::Piece;

/// The geometry of stripes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stripes {
    pub(super) disks: u64,
    /// Units of data in a row.
    pub(super) data: u64,
    /// Bytes of a unit.
    pub(super) unit: u64,
    /// Most bytes of joined pieces.
    pub(super) max_extent: u64,
}

impl Stripes {
    /// Returns the bytes of data on disks of `disk` bytes each.
    pub(super) fn capacity(&self, disk: u64) -> u64 {
        (disk / self.unit).saturating_mul(self.unit).saturating_mul(self.data)
    }

    /// Passes the pieces of `len` bytes from `start` to `each`, disk by disk; `len` is above zero.
    pub(super) fn pieces(&self, op: Op, start: u64, len: u32, mut each: impl FnMut(Piece)) {
        let end = start + u64::from(len);
        let first = start / self.unit;
        let from = start - first * self.unit;
        if from + u64::from(len) <= self.unit {
            let start = first / self.data * self.unit + from;
            each(Piece { disk: (first % self.disks) as usize, op, start, len });
            return;
        }
        let last = (end - 1) / self.unit;
        for unit in first..=last.min(first + self.disks - 1) {
            let disk = (unit % self.disks) as usize;
            let mut joined = Joined::new(disk, op, self.max_extent);
            let mut unit = unit;
            while unit <= last {
                let data = unit * self.unit;
                let row = unit / self.data * self.unit;
                let from = start.saturating_sub(data);
                let to = self.unit.min(end - data);
                joined.add(row + from, row + to, &mut each);
                unit += self.disks;
            }
            joined.flush(&mut each);
        }
    }
}

/// Pieces of one request on one disk, joined where they are neighbours.
pub(super) struct Joined {
    disk: usize,
    op: Op,
    most: u64,
    from: u64,
    to: u64,
}

impl Joined {
    pub(super) fn new(disk: usize, op: Op, most: u64) -> Self {
        Self { disk, op, most, from: 0, to: 0 }
    }

    /// Adds the bytes from `from` to `to`. Earlier bytes that cannot be joined with them go to
    /// `each`.
    pub(super) fn add(&mut self, from: u64, to: u64, each: &mut impl FnMut(Piece)) {
        if self.to != from || to - self.from > self.most {
            self.flush(each);
            self.from = from;
        }
        self.to = to;
    }

    /// Passes the last piece to `each`.
    pub(super) fn flush(&mut self, each: &mut impl FnMut(Piece)) {
        if self.to > self.from {
            let len = (self.to - self.from) as u32;
            each(Piece { disk: self.disk, op: self.op, start: self.from, len });
        }
        (self.from, self.to) = (0, 0);
    }
}
