//! Figures of one class, by operation.

use schemars::JsonSchema;
use serde::Serialize;

use super::distribution::Distribution;

/// Figures of one class, by operation.
#[derive(Debug, Default, JsonSchema, Serialize)]
#[schemars(rename = "Ops")]
pub struct OpsResult {
    /// Its reads.
    pub read: ByOpResult,
    /// Its writes.
    pub write: ByOpResult,
    /// Its trims; left out if there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub discard: Option<ByOpResult>,
    /// Its flushes; left out if there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flush: Option<ByOpResult>,
}

/// Figures of one operation of a class, in the fields of the class.
#[derive(Debug, Default, JsonSchema, Serialize)]
#[schemars(rename = "ByOp")]
pub struct ByOpResult {
    /// Requests that were due after the warm-up and completed without error.
    pub requests: u64,
    /// Bytes that they read or wrote.
    pub bytes: u64,
    /// Requests a second.
    pub iops: f64,
    /// Bytes a second.
    pub bw_bytes: f64,
    /// Time from the intended arrival until the last piece was done.
    pub lat_ns: Distribution,
}
