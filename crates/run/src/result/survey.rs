//! What a survey of stability found.

use std::num::NonZeroU32;

use schemars::JsonSchema;
use serde::Serialize;

use crate::stability::ClassStability;

/// What the length of a cycle of `fairio` depends on, beside the figures of the run.
#[derive(Debug, JsonSchema, Serialize)]
#[schemars(rename = "Survey")]
pub struct SurveyResult {
    /// Disks that work side by side.
    pub disks: NonZeroU32,
    /// Requests that were at the device at once, at most.
    pub load: u32,
    /// How stable the requests of each class are, in the order of the job.
    pub classes: Vec<ClassStability>,
}
