//! Size and layout of a place.

use std::num::NonZeroU32;

use penstock_core::Seed;
use penstock_jobs::devices::DeviceSpec;
use penstock_live::Null;

use crate::place::live_target::Live;

/// Size and layout of a place.
#[derive(Clone, Copy)]
pub(crate) struct Geometry {
    /// Bytes that a job may use.
    pub(crate) capacity: u64,
    /// Block size to which ranges are rounded, in bytes.
    pub(crate) block: u32,
    /// Disks that work side by side. Each real target has its own policy, which serves one disk.
    pub(crate) disks: NonZeroU32,
    /// Number of equally large disks that lie behind each other in the address space; one, if it
    /// has no such layout.
    pub(crate) side_by_side: NonZeroU32,
}

impl Geometry {
    /// The target that does nothing.
    pub(super) const NULL: Self = Self::of_one_disk(Null::CAPACITY, 1);

    const fn of_one_disk(capacity: u64, block: u32) -> Self {
        Self { capacity, block, disks: NonZeroU32::MIN, side_by_side: NonZeroU32::MIN }
    }

    /// The device that `spec` describes.
    pub(super) fn of_model(spec: &DeviceSpec) -> Self {
        let (capacity, block) = size(spec);
        Self { capacity, block, disks: disks(spec), side_by_side: spec.side_by_side() }
    }

    /// Devices behind each other, of which all but the size is that of the first.
    pub(super) fn of_models(specs: &[&DeviceSpec]) -> Self {
        Self { disks: disks(specs[0]), ..Self::behind_each_other(&sizes(specs)) }
    }

    /// Real targets behind each other.
    pub(super) fn of_targets(targets: &[Live]) -> Self {
        Self::behind_each_other(&targets.iter().map(Live::size).collect::<Vec<_>>())
    }

    fn behind_each_other(sizes: &[(u64, u32)]) -> Self {
        let capacity = sizes.iter().fold(0, |sum: u64, (bytes, _)| sum.saturating_add(*bytes));
        let block = sizes.iter().map(|(_, block)| *block).max().unwrap_or(1);
        Self::of_one_disk(capacity, block)
    }

    /// At most `capacity` bytes of it.
    pub(super) fn cut_to(self, capacity: u64) -> Self {
        Self { capacity: self.capacity.min(capacity), ..self }
    }
}

/// The capacity and the block of each of `models`.
pub(super) fn sizes(models: &[&DeviceSpec]) -> Vec<(u64, u32)> {
    let mut sizes: Vec<(u64, u32)> = Vec::with_capacity(models.len());
    for (number, spec) in models.iter().enumerate() {
        // Models of one kind are equal, and there may be many.
        let like_the_last = number.checked_sub(1).filter(|&before| models[before] == *spec);
        sizes.push(like_the_last.map_or_else(|| size(spec), |before| sizes[before]));
    }
    sizes
}

/// Number of disks of a model that work side by side.
pub(crate) fn disks(spec: &DeviceSpec) -> NonZeroU32 {
    NonZeroU32::new(spec.disks()).expect("an array has disks")
}

fn size(spec: &DeviceSpec) -> (u64, u32) {
    let device = spec.build(Seed(0));
    (device.capacity(), device.block())
}
