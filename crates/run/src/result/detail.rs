//! Whole distributions, and the course of a run over time: what pictures are drawn from.

use schemars::JsonSchema;
use serde::Serialize;

/// One run in detail.
#[derive(Debug, JsonSchema, Serialize)]
pub struct Detail {
    /// Seconds that a window lasts.
    pub window_s: f64,
    /// One for each class, in the order of the job.
    pub classes: Vec<ClassDetail>,
}

impl Detail {
    /// The classes of both, if their windows are equally long.
    pub(crate) fn join(mut self, other: Self) -> Option<Self> {
        self.classes.extend(other.classes);
        (self.window_s.to_bits() == other.window_s.to_bits()).then_some(self)
    }
}

/// One class of a run in detail. What is due before the warm-up's end is in the series only.
#[derive(Debug, JsonSchema, Serialize)]
pub struct ClassDetail {
    /// Name of the class.
    pub name: String,
    /// Latencies: upper bounds in nanoseconds, ascending, and how many lie at or below each and
    /// above the one before.
    pub lat_ns: Vec<(u64, u64)>,
    /// The same of waits.
    pub wait_ns: Vec<(u64, u64)>,
    /// Over time, a row for each window.
    pub series: Vec<Row>,
}

/// One class in one window.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct Row {
    /// Where the window begins, in seconds from the beginning of the run.
    pub at_s: f64,
    /// Requests that completed in it.
    pub requests: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Median of their latencies in nanoseconds; null if there were none.
    pub p50_ns: Option<u64>,
    /// 99th percentile of their latencies; null if there were none.
    pub p99_ns: Option<u64>,
    /// Requests outstanding, in the mean over the window.
    pub outstanding: f64,
    /// Device time in seconds of what completed in it.
    pub device_time_s: f64,
}
