//! The arm of a disk in a stretch of a run.

use schemars::JsonSchema;
use serde::Serialize;

/// The arm of a disk in a stretch of a run.
#[derive(Clone, PartialEq, Eq, Debug, JsonSchema, Serialize)]
pub struct Arm {
    /// Where the stretch begins, in nanoseconds of the run.
    pub from_ns: u64,
    /// Where it ends: as requested, or earlier, with the run or with the last access that is kept.
    pub until_ns: u64,
    /// Accesses that began in the stretch, in their order.
    pub accesses: Vec<ArmAccess>,
    /// Periods in which the disk was idle although requests were queued for it, in their order: the
    /// policy held it for a request to come. Empty for a policy that serves several disks.
    pub held: Vec<HeldIdle>,
}

/// An access of the arm.
#[derive(Clone, PartialEq, Eq, Debug, JsonSchema, Serialize)]
pub struct ArmAccess {
    /// When it begins, in nanoseconds of the run.
    pub begins_ns: u64,
    /// When the arm reaches the first track.
    pub arrives_ns: u64,
    /// When the last sector has passed.
    pub ends_ns: u64,
    /// Cylinder from which the arm moves.
    pub start: u32,
    /// Cylinder of the first track.
    pub first: u32,
    /// Cylinder where the access ends; for a disk with its cache, where its first track ends.
    pub last: u32,
    /// Whether it writes.
    pub write: bool,
}

/// A period in which a disk was idle although requests were queued for it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, JsonSchema, Serialize)]
pub struct HeldIdle {
    /// Start of the period, in nanoseconds of the run.
    pub from_ns: u64,
    /// End of the period, in nanoseconds of the run.
    pub until_ns: u64,
}
