//! The kernel's counts for the disks below a real target.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

/// Requests that a live run asked for, warm-up included, and the kernel's counts meanwhile.
#[derive(Debug, JsonSchema, Serialize)]
#[schemars(rename = "Kernel")]
pub struct KernelResult {
    /// Requests and bytes that the run asked for.
    pub asked: AskedResult,
    /// The kernel's counts for each disk, by name.
    pub disks: BTreeMap<String, KernelDiskResult>,
}

/// Requests and bytes that a run asked for, however they were split or merged.
#[derive(Clone, Copy, Debug, Default, JsonSchema, Serialize)]
#[schemars(rename = "Asked")]
pub struct AskedResult {
    /// Requests that read.
    pub reads: u64,
    /// Bytes that they read.
    pub read_bytes: u64,
    /// Requests that wrote.
    pub writes: u64,
    /// Bytes that they wrote.
    pub write_bytes: u64,
}

impl AskedResult {
    /// Adds the counts of another part of the run.
    pub(crate) fn plus(self, other: Self) -> Self {
        Self {
            reads: self.reads + other.reads,
            read_bytes: self.read_bytes + other.read_bytes,
            writes: self.writes + other.writes,
            write_bytes: self.write_bytes + other.write_bytes,
        }
    }
}

/// The kernel's counts for a disk (`/proc/diskstats`).
#[derive(Debug, JsonSchema, Serialize)]
#[schemars(rename = "KernelDisk")]
pub struct KernelDiskResult {
    /// Reads that the disk completed.
    pub reads: u64,
    /// Reads that were merged into others before they reached the disk.
    pub reads_merged: u64,
    /// Bytes that were read.
    pub read_bytes: u64,
    /// Writes that the disk completed.
    pub writes: u64,
    /// Writes that were merged into others before they reached the disk.
    pub writes_merged: u64,
    /// Bytes that were written.
    pub write_bytes: u64,
    /// Mean number of requests in the queue or at the disk over time.
    pub in_flight: f64,
}
