//! How late an emulated device was.

use penstock_live::Lateness;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How late the completions of an emulated device were, against its model's own schedule.
#[derive(Clone, Debug, JsonSchema, Serialize, Deserialize)]
#[schemars(rename = "Emulation")]
pub struct EmulationResult {
    /// Number of completions.
    pub completions: u64,
    /// Arithmetic mean of their lateness in nanoseconds.
    pub mean_ns: f64,
    /// Median of their lateness in nanoseconds.
    pub p50_ns: u64,
    /// 99th percentile of their lateness in nanoseconds.
    pub p99_ns: u64,
    /// Largest lateness in nanoseconds.
    pub max_ns: u64,
    /// Nanoseconds by which an idle model begins before a request arrives, as the kernel takes them
    /// there and back; only served devices have it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub head_start_ns: Option<u64>,
}

/// Counts of a served device since its report was reset.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ServedReport {
    /// Requests that it has answered.
    pub requests: u64,
    /// Most requests that it had at once.
    pub most_at_once: u32,
    /// How late it answered.
    pub emulation: EmulationResult,
}

impl From<&Lateness> for EmulationResult {
    fn from(late: &Lateness) -> Self {
        Self {
            completions: late.count(),
            mean_ns: late.mean_ns(),
            p50_ns: late.p50_ns(),
            p99_ns: late.p99_ns(),
            max_ns: late.max_ns(),
            head_start_ns: None,
        }
    }
}
