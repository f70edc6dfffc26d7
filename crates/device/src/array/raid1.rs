//! Mirrors: a write goes to all of them, a read to one.

use penstock_core::{Device, Op, Time};

use super::disk::Disk;
use super::piece::Piece;

/// Returns the mirror for a read from `start`: the one with the fewest pieces; of equals the one
/// that reaches `start` first, and then the first.
pub(super) fn nearest<D: Device>(disks: &[Disk<D>], now: Time, start: u64) -> usize {
    let least = disks.iter().map(|disk| disk.outstanding).min();
    let idle = disks.iter().enumerate().filter(|(_, disk)| Some(disk.outstanding) == least);
    let cost = |(_, disk): &(usize, &Disk<D>)| disk.device.position(now, Op::Read, start);
    idle.min_by_key(cost).map_or(0, |(number, _)| number)
}

/// Passes the pieces of a request to `each`; a read has one piece, on `mirror`.
pub(super) fn pieces(
    disks: usize,
    mirror: usize,
    op: Op,
    start: u64,
    len: u32,
    each: impl FnMut(Piece),
) {
    let range = if op == Op::Read { mirror..mirror + 1 } else { 0..disks };
    range.map(|disk| Piece { disk, op, start, len }).for_each(each);
}
