//! Demand of an open loop, and how far the device was behind it.

use schemars::JsonSchema;
use serde::Serialize;

/// Demand of an open loop, and how far the device was behind it when the last request came.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[schemars(rename = "Demand")]
pub struct DemandResult {
    /// Requests a second that were due, from the end of the warm-up until the last of them.
    pub iops: f64,
    /// Seconds from the end of the warm-up until the last request was due.
    pub lasted_s: f64,
    /// Seconds from the last due request until all were served, or until the run ended.
    pub behind_s: f64,
    /// Mean latency of the requests due in the second half of the time in which the load asks, over
    /// that of the first half: far above 1 where a backlog grows. Null if no request of one half
    /// completed.
    pub growth: Option<f64>,
}
