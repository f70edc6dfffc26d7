//! Requests that failed.

use penstock_core::Op;
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
    pub op: OpResult,
    /// First byte.
    pub start: u64,
    /// Bytes.
    pub len: u32,
}

/// What a request asks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, JsonSchema, Serialize)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "Op")]
pub enum OpResult {
    /// Data from the device.
    Read,
    /// Data to the device.
    Write,
    /// What was written goes to stable media.
    Flush,
    /// Data is given up.
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
