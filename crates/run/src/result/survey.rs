//! Results of a survey of stability.

use std::num::NonZeroU32;

use schemars::JsonSchema;
use serde::Serialize;

use super::stability::ClassStability;

/// Inputs to the cycle length of `fairio`, in addition to the figures of the run.
#[derive(Debug, JsonSchema, Serialize)]
#[schemars(rename = "Survey")]
pub struct SurveyResult {
    /// Disks that work side by side.
    pub disks: NonZeroU32,
    /// Largest number of requests at the device at once.
    pub load: u32,
    /// How stable the requests of each class are, in the order of the job.
    pub classes: Vec<ClassStability>,
}
