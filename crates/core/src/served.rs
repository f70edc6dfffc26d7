//! The input for building a policy: the classes above it and the disks below.

use alloc::string::String;
use core::num::NonZeroU32;

use crate::io_prio::IoPrio;
use crate::request::Prio;

/// A class of work.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ClassInfo {
    /// Name in the job and in results.
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

    /// A class with the default weight, the default I/O priority and the highest priority.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            weight: Self::WEIGHT,
            prio: Prio::default(),
            ioprio: IoPrio::DEFAULT,
        }
    }
}

/// The classes and disks that a policy serves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Served<'a> {
    /// The classes of the requests; a [`ClassId`](crate::ClassId) is an index into them. The queue
    /// of a disk gets none. A request of a class that is not listed has the default weight.
    pub classes: &'a [ClassInfo],
    /// Number of disks that work in parallel below: more than 1 for a modelled array only.
    pub disks: NonZeroU32,
}

impl Served<'_> {
    /// A single disk and no classes.
    pub const ONE_DISK: Served<'static> = Served { classes: &[], disks: NonZeroU32::MIN };
}
