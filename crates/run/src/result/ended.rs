//! Why a run ended early.

use schemars::JsonSchema;
use serde::Serialize;

/// Why a run ended early.
#[derive(Clone, Copy, PartialEq, Eq, Debug, JsonSchema, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Ended {
    /// Someone asked for it, for example by Ctrl-C.
    Asked,
    /// The target did not answer.
    Timeout,
    /// The target's length changed.
    Resized,
    /// Every merge waits for memory, and no request is outstanding.
    Deadlock,
    /// Data differed from what was written, where it is verified.
    Differs,
    /// The record of verified writes was lost.
    #[serde(rename = "record-lost")]
    RecordLost,
}
