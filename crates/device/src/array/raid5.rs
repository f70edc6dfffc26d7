//! Writes to stripes with parity.
//!
//! In row `r` of `n` disks the parity lies on disk `n − 1 − (r mod n)` and data unit `k` on disk
//! `(k − r) mod n`. A row is written with its new parity. The parity is computed in the way that
//! reads from fewer disks: from the old data and the old parity (read-modify-write), or from the
//! unchanged data (reconstruct-write). If both read from equally many disks, the first way is
//! taken, since it does not touch the other disks. A whole row needs no read.

use penstock_core::Op;

use super::piece::{Piece, Step};
use super::raid0::{Joined, Stripes};

/// Passes the pieces of a step of a write of `len` bytes from `start` to `each`, disk by disk;
/// `len` is above zero.
pub(super) fn writes(
    stripes: &Stripes,
    step: Step,
    start: u64,
    len: u32,
    mut each: impl FnMut(Piece),
) {
    let op = if step == Step::Before { Op::Read } else { Op::Write };
    let width = stripes.unit * stripes.data;
    let end = start + u64::from(len);
    for disk in 0..stripes.disks {
        let mut joined = Joined::new(disk as usize, op, stripes.max_extent);
        for row in start / width..=(end - 1) / width {
            let from = start.saturating_sub(row * width);
            let written = Written::new(stripes, from, width.min(end - row * width));
            let unit = (disk + row) % stripes.disks;
            let (from, to) = match step {
                Step::Before => written.read(unit),
                Step::Itself => written.write(unit),
            };
            if to > from {
                let row = row * stripes.unit;
                joined.add(row + from, row + to, &mut each);
            }
        }
        joined.flush(&mut each);
    }
}

/// The written part of one row, as bytes of the row's data.
struct Written {
    /// Bytes of a unit.
    unit: u64,
    /// Number of data units in a row, which is also the number of the parity unit.
    parity: u64,
    from: u64,
    to: u64,
    /// Whether the parity is computed from the unchanged data.
    reconstructs: bool,
}

const NOTHING: (u64, u64) = (0, 0);

impl Written {
    fn new(stripes: &Stripes, from: u64, to: u64) -> Self {
        let (unit, parity) = (stripes.unit, stripes.data);
        let mut row = Self { unit, parity, from, to, reconstructs: false };
        let (first, last) = row.units();
        let modify = last - first + 2;
        row.reconstructs = true;
        let reads = |unit: &u64| row.read(*unit) != NOTHING;
        let reconstruct = (0..parity).filter(reads).count() as u64;
        row.reconstructs = reconstruct < modify;
        row
    }

    /// Returns the first and the last unit that are written.
    fn units(&self) -> (u64, u64) {
        (self.from / self.unit, (self.to - 1) / self.unit)
    }

    /// Returns the written part of data unit `unit`, in bytes from its beginning.
    fn data(&self, unit: u64) -> (u64, u64) {
        let begins = unit * self.unit;
        let to = self.to.clamp(begins, begins + self.unit) - begins;
        let from = self.from.clamp(begins, begins + self.unit) - begins;
        if to > from { (from, to) } else { NOTHING }
    }

    /// Returns the part of the parity that changes: the written part of a single unit, or the whole
    /// unit if several are written.
    fn changed(&self) -> (u64, u64) {
        let (first, last) = self.units();
        if first == last { self.data(first) } else { (0, self.unit) }
    }

    fn write(&self, unit: u64) -> (u64, u64) {
        if unit == self.parity { self.changed() } else { self.data(unit) }
    }

    fn read(&self, unit: u64) -> (u64, u64) {
        if !self.reconstructs {
            return self.write(unit);
        }
        if unit == self.parity {
            return NOTHING;
        }
        let ((from, to), (lowest, highest)) = (self.data(unit), self.changed());
        // A unit is written at its end, at its beginning, as a whole, or not at all, so the rest is
        // one range. With several units there are no other cases, and a single unit has no rest.
        match (from > lowest, to < highest) {
            _ if (from, to) == NOTHING => (lowest, highest),
            (true, _) => (lowest, from),
            (_, true) => (to, highest),
            _ => NOTHING,
        }
    }
}
