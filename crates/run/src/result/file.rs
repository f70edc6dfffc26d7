//! What one file got.

use schemars::JsonSchema;
use serde::Serialize;

use super::device::DeviceStatsResult;

/// What one file got. Requests and bytes are those of all classes.
#[derive(Debug, Default, JsonSchema, Serialize)]
#[schemars(rename = "File")]
pub struct FileResult {
    /// Name of the file. A job without files has one, `target`, which is the whole device or target; a
    /// trace of several devices has one for each, by the name that the trace has for it.
    pub name: String,
    /// Name of the modelled device that it is on; left out of a real target.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device: Option<String>,
    /// Path of the real target; left out of a model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Requests that were due after the warm-up and completed without error.
    pub requests: u64,
    /// Bytes that they read or wrote.
    pub bytes: u64,
    /// Bytes a second of what completed without error after the warm-up, whenever it was due, over the
    /// time in which the job asks, as of a class.
    pub bw_bytes: f64,
    /// Share of the measured time in which its real target had something to do; left out of a model, whose
    /// `device_stats` have it, and of a single file, of which it is that of the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device_busy: Option<f64>,
    /// What the disks of its device did; left out of a real target.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device_stats: Option<DeviceStatsResult>,
}
