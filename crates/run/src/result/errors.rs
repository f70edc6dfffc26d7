//! Requests that failed.

use schemars::JsonSchema;
use serde::Serialize;

/// Requests of one class that failed in the same way.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[schemars(rename = "ErrorCount")]
pub struct ErrorResult {
    /// How many.
    pub requests: u64,
    /// The first of them.
    pub first: FirstError,
}

/// A request that failed.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct FirstError {
    /// Seconds of the run until then.
    pub at_s: f64,
    /// What it asked for.
    pub op: &'static str,
    /// First byte.
    pub start: u64,
    /// Bytes.
    pub len: u32,
}
