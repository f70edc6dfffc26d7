//! Requests that failed.

use penstock_core::Op;
use schemars::JsonSchema;
use serde::Serialize;

/// Requests of one class that failed in the same way.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[schemars(rename = "ErrorCount")]
pub struct ErrorResult {
    /// Number of these requests.
    pub requests: u64,
    /// The first of them.
    pub first: FirstError,
}

/// A request that failed.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct FirstError {
    /// When it failed, in seconds from the beginning of the run.
    pub at_s: f64,
    /// The operation that it asked for.
    pub op: OpResult,
    /// First byte.
    pub start: u64,
    /// Length in bytes.
    pub len: u32,
}

/// The operation of a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug, JsonSchema, Serialize)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "Op")]
pub enum OpResult {
    /// Reads data from the device.
    Read,
    /// Writes data to the device.
    Write,
    /// Moves written data to stable media.
    Flush,
    /// Discards data.
    Discard,
}

impl From<Op> for OpResult {
    fn from(op: Op) -> Self {
        match op {
            Op::Read => Self::Read,
            Op::Write => Self::Write,
            Op::Flush => Self::Flush,
            Op::Discard => Self::Discard,
        }
    }
}
