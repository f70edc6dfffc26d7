//! Layouts: how each level splits a request into pieces.

use penstock_core::Op;

use super::jbod::Row;
use super::level::Level;
use super::piece::{Piece, Step};
use super::raid0::Stripes;
use super::{raid1, raid5};

/// The layout of a level.
#[derive(Debug)]
pub(super) enum Layout {
    Raid0(Stripes),
    /// Number of mirrors.
    Raid1(usize),
    Raid5(Stripes),
    Jbod(Row),
}

impl Layout {
    /// Returns the layout over disks of these `sizes`, at least one; `None` if a stripe unit has no
    /// bytes.
    pub(super) fn new(
        level: Level,
        max_extent: u32,
        sizes: impl ExactSizeIterator<Item = u64>,
    ) -> Option<Self> {
        let count = sizes.len() as u64;
        let stripes = |data, unit| {
            let (unit, max_extent) = (u64::from(unit), u64::from(max_extent));
            (unit > 0).then_some(Stripes { disks: count, data, unit, max_extent })
        };
        Some(match level {
            Level::Raid0 { stripe } => Self::Raid0(stripes(count, stripe)?),
            Level::Raid1 => Self::Raid1(sizes.len()),
            Level::Raid5 { stripe } => Self::Raid5(stripes(count - 1, stripe)?),
            Level::Jbod => Self::Jbod(Row::new(sizes)),
        })
    }

    /// Returns the bytes of the array; `smallest` is the capacity of its smallest disk.
    pub(super) fn capacity(&self, smallest: u64) -> u64 {
        match self {
            Self::Raid0(stripes) | Self::Raid5(stripes) => stripes.capacity(smallest),
            Self::Raid1(_) => smallest,
            Self::Jbod(row) => row.capacity(),
        }
    }

    /// Returns the first step of a request.
    pub(super) fn first(&self, op: Op) -> Step {
        let reads = matches!(self, Self::Raid5(_)) && op == Op::Write;
        if reads { Step::Before } else { Step::Itself }
    }

    /// Passes the non-empty pieces of a step to `each`; reads of mirrors go to `mirror`.
    pub(super) fn pieces(
        &self,
        step: Step,
        (op, start, len): (Op, u64, u32),
        mirror: usize,
        each: impl FnMut(Piece),
    ) {
        match self {
            _ if len == 0 => {}
            Self::Raid5(stripes) if op == Op::Write => {
                raid5::writes(stripes, step, start, len, each);
            }
            Self::Raid0(stripes) | Self::Raid5(stripes) => stripes.pieces(op, start, len, each),
            Self::Raid1(disks) => raid1::pieces(*disks, mirror, op, start, len, each),
            Self::Jbod(row) => row.pieces(op, start, len, each),
        }
    }
}
