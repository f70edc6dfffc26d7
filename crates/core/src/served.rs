//! What a policy is built for: the classes above it and the disks below.

use alloc::string::String;
use core::num::NonZeroU32;

use crate::io_prio::IoPrio;
use crate::request::Prio;

/// A class of work.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ClassInfo {
    /// As results name it.
    pub name: String,
    /// Its share of the device, relative to the other classes' weights.
    pub weight: NonZeroU32,
    /// Its priority.
    pub prio: Prio,
    /// The I/O priority of its processes.
    pub ioprio: IoPrio,
}

impl ClassInfo {
    /// The weight of a class that names none, as with cgroup v2's `io.weight`.
    pub const WEIGHT: NonZeroU32 = NonZeroU32::new(100).unwrap();

    /// A class of the default weight and I/O priority, and of the highest priority.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            weight: Self::WEIGHT,
            prio: Prio::default(),
            ioprio: IoPrio::DEFAULT,
        }
    }
}

/// What a policy serves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Served<'a> {
    /// The classes of the requests; a [`ClassId`](crate::ClassId) is an index into them. The queue
    /// of a disk gets none. A request of a class that is not listed has the default weight.
    pub classes: &'a [ClassInfo],
    /// Disks that work in parallel below: those of a modelled array, 1 for anything else.
    pub disks: NonZeroU32,
}

impl Served<'_> {
    /// One disk, and no class is known.
    pub const ONE_DISK: Served<'static> = Served { classes: &[], disks: NonZeroU32::MIN };
}
