//! Extents of devices and of the files on them in the address space of a run.

use std::ops::Range;

use crate::workload::region::whole_blocks;

/// A device in the address space of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Extent {
    /// First byte.
    pub base: u64,
    /// Capacity in bytes.
    pub capacity: u64,
    /// Block size in bytes, to which the device rounds ranges.
    pub block: u32,
}

impl Extent {
    /// A device that is the whole address space.
    pub fn whole(capacity: u64, block: u32) -> Self {
        Self { base: 0, capacity, block }
    }
}

/// A file in the address space of a run.
#[derive(Clone, Copy)]
pub(crate) struct FileExtent {
    /// First byte.
    pub(crate) first: u64,
    /// Size in bytes, in whole blocks.
    pub(crate) size: u64,
    /// Step between borders that are given as shares.
    pub(crate) step: u64,
}

impl FileExtent {
    /// The whole of `device`, for a job without files.
    pub(crate) fn whole(device: Extent) -> Self {
        let (size, step) = whole_blocks(device.capacity, device.block);
        Self { first: device.base, size, step }
    }

    /// Returns the place of `region`, a part of the file, in the address space of a run.
    pub(crate) fn place(&self, region: Range<u64>) -> Range<u64> {
        self.first + region.start..self.first + region.end
    }
}
