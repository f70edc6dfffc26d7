//! Where devices, and the files on them, lie in the address space of a run.

use std::ops::Range;

use crate::workload::region::whole_blocks;

/// A device as a part of the address space of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Extent {
    /// Its first byte.
    pub base: u64,
    /// Its bytes.
    pub capacity: u64,
    /// What it rounds ranges to, in bytes.
    pub block: u32,
}

impl Extent {
    /// A device that is the whole address space.
    pub fn whole(capacity: u64, block: u32) -> Self {
        Self { base: 0, capacity, block }
    }
}

/// A file on its device.
#[derive(Clone, Copy)]
pub(crate) struct Lying {
    /// Its first byte, in the address space of a run.
    pub(crate) first: u64,
    /// Its bytes in whole blocks.
    pub(crate) size: u64,
    /// The step between borders that are given as shares.
    pub(crate) step: u64,
}

impl Lying {
    /// What a job without files has: all of `device`.
    pub(crate) fn all_of(device: Extent) -> Self {
        let (size, step) = whole_blocks(device.capacity, device.block);
        Self { first: device.base, size, step }
    }

    /// The place of `region`, a part of the file, in the address space of a run.
    pub(crate) fn place(&self, region: Range<u64>) -> Range<u64> {
        self.first + region.start..self.first + region.end
    }
}
