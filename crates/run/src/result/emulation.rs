//! How late an emulated device was.

use penstock_live::Lateness;
use schemars::JsonSchema;
use serde::Serialize;

/// How late the completions of an emulated device were, against its model's own schedule.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[schemars(rename = "Emulation")]
pub struct EmulationResult {
    /// Completions.
    pub completions: u64,
    /// Arithmetic mean of their lateness in nanoseconds.
    pub mean_ns: f64,
    /// Median.
    pub p50_ns: u64,
    /// 99th percentile.
    pub p99_ns: u64,
    /// The worst.
    pub max_ns: u64,
}

impl From<&Lateness> for EmulationResult {
    fn from(late: &Lateness) -> Self {
        Self {
            completions: late.count(),
            mean_ns: late.mean_ns(),
            p50_ns: late.p50_ns(),
            p99_ns: late.p99_ns(),
            max_ns: late.max_ns(),
        }
    }
}
