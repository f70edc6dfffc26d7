//! What the disks of a model did.

use schemars::JsonSchema;
use serde::Serialize;

use super::distribution::Milliseconds;

/// What the disks of a model did: all of them together, and each if there are several.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[schemars(rename = "DeviceStats")]
pub struct DeviceStatsResult {
    /// Every access of every disk.
    #[serde(flatten)]
    pub all: DiskResult,
    /// One for each disk of an array, or of the devices that files are on or those of a trace are played
    /// on, in their order; left out if there is one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub disks: Vec<EachDiskResult>,
}

/// What one of several disks did.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[schemars(rename = "EachDisk")]
pub struct EachDiskResult {
    /// The file that is on it, or the device of the trace that is played on it, where each has a device of
    /// its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device: Option<String>,
    /// Its accesses.
    #[serde(flatten)]
    pub own: DiskResult,
}

/// What disks did: accesses that ended after the warm-up and before the run did. A device without an
/// arm has neither seek, rotation nor transfer. A disk with its cache has those of its accesses to the
/// platter, up to the end of what was asked for; written back or read ahead after a hit, they belong
/// to no request. A hit is a request without an access.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[schemars(rename = "Disk")]
pub struct DiskResult {
    /// Arm, head switch and settling, to the first track.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seek_ms: Option<Milliseconds>,
    /// Until the first wanted sector came round.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rotation_ms: Option<Milliseconds>,
    /// From there until the last wanted sector had passed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transfer_ms: Option<Milliseconds>,
    /// How far the arm moved.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub travel: Option<Travel>,
    /// The whole access, overhead and bus included; with a cache, and without an arm, what each
    /// request took.
    pub service_ms: Milliseconds,
    /// Share of the measured time in which the disk was busy; of several, the mean.
    pub utilisation: f64,
}

/// How far the arms of disks moved.
#[derive(Clone, Copy, PartialEq, Debug, JsonSchema, Serialize)]
pub struct Travel {
    /// Cylinders crossed in all accesses and on the way from each to the next: seeks, tracks further in,
    /// and what is read ahead.
    pub cylinders: u64,
    /// The same for each request, a hit of a disk's cache included.
    pub per_request: f64,
}
