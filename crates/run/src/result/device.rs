//! Figures of the disks of a model.

use schemars::JsonSchema;
use serde::Serialize;

use super::distribution::Milliseconds;

/// Figures of the disks of a model: of all together, and of each one if there are several.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[schemars(rename = "DeviceStats")]
pub struct DeviceStatsResult {
    /// Figures of all disks together.
    #[serde(flatten)]
    pub all: DiskResult,
    /// Figures of each disk: of an array, or of the devices that files are on or that the devices
    /// of a trace are played on, in their order; left out if there is one disk.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub disks: Vec<EachDiskResult>,
}

/// Figures of one of several disks.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[schemars(rename = "EachDisk")]
pub struct EachDiskResult {
    /// The file on it, or the device of the trace that is played on it, where each has a device of
    /// its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device: Option<String>,
    /// Figures of this disk.
    #[serde(flatten)]
    pub own: DiskResult,
}

/// Figures of disks, over accesses that ended after the warm-up and before the run did. A device
/// without an arm has neither seek, rotation nor transfer. For a disk with its cache these are of
/// its accesses to the platter, up to the end of the requested data; accesses that write back, or
/// that read ahead after a hit, belong to no request. A hit is a request without an access.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[schemars(rename = "Disk")]
pub struct DiskResult {
    /// Time to move the arm to the first track, head switch and settling included.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seek_ms: Option<Milliseconds>,
    /// Time until the first wanted sector came round.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rotation_ms: Option<Milliseconds>,
    /// Time from the first wanted sector until the last had passed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transfer_ms: Option<Milliseconds>,
    /// How far the arm moved.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub travel: Option<Travel>,
    /// Time of the whole access, overhead and bus included; with a cache, and without an arm,
    /// device time of each request.
    pub service_ms: Milliseconds,
    /// Share of the measured time in which the disk was busy; the mean if there are several disks.
    pub utilisation: f64,
}

/// How far the arms of disks moved.
#[derive(Clone, Copy, PartialEq, Debug, JsonSchema, Serialize)]
pub struct Travel {
    /// Cylinders crossed in all accesses and on the way from each to the next: seeks, further
    /// tracks of an access, and read-ahead.
    pub cylinders: u64,
    /// Cylinders crossed per request, where a hit of a disk's cache counts as a request too.
    pub per_request: f64,
}
