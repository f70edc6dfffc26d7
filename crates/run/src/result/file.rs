//! Figures of one file.

use schemars::JsonSchema;
use serde::Serialize;

use super::device::DeviceStatsResult;

/// Figures of one file, over the requests of all classes.
#[derive(Debug, Default, JsonSchema, Serialize)]
#[schemars(rename = "File")]
pub struct FileResult {
    /// Name of the file. A job without files has one, `target`, which is the whole device or
    /// target; a trace of several devices has one for each, under the name that the trace gives it.
    pub name: String,
    /// Name of the modelled device that it is on; left out for a real target.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device: Option<String>,
    /// Name in the job of the device or real target that it shares with other files: for a target,
    /// the first of them; left out if it shares none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shared: Option<String>,
    /// Path of the real target; left out for a model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Requests that were due after the warm-up and completed without error.
    pub requests: u64,
    /// Bytes that they read or wrote.
    pub bytes: u64,
    /// Bytes a second of the requests that completed without error after the warm-up, whenever they
    /// were due, over the time in which the job asks, as for a class.
    pub bw_bytes: f64,
    /// Share of the measured time in which its real target had something to do; left out for a
    /// model, whose `device_stats` have it, and for a single file, where it is `device_busy` of the
    /// run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device_busy: Option<f64>,
    /// Figures of the disks of its device, whatever other files are on it; left out for a real
    /// target.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device_stats: Option<DeviceStatsResult>,
}
