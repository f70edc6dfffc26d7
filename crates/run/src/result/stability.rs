//! How stable the requests of each class are: the figures of a survey.

use schemars::JsonSchema;
use serde::Serialize;

/// How stable the requests of a class are.
#[derive(Clone, PartialEq, Debug, JsonSchema, Serialize)]
pub struct ClassStability {
    /// Reads and writes that were asked for.
    pub requests: u64,
    /// Complete blocks of these requests.
    pub blocks: u64,
    /// Requests of a block.
    pub block: u64,
    /// Mean device time of the requests that completed without error; `None` if none did.
    pub service_ns: Option<u64>,
    /// Each characteristic that is known of two blocks or more.
    pub characteristics: Vec<Characteristic>,
}

/// How unstable one characteristic is.
#[derive(Clone, PartialEq, Debug, JsonSchema, Serialize)]
pub struct Characteristic {
    /// `size`, `rate`, `pattern`, `type` or `service time`.
    pub name: &'static str,
    /// 0 if it is the same in every block; 1 if it varies by as much as its mean.
    pub instability: f64,
    /// Correlation of each block with the next; `None` if all are equal.
    pub lag1: Option<f64>,
}
