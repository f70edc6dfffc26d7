//! How far a run is from response times that were measured.

use schemars::JsonSchema;
use serde::Serialize;

/// How far a run is from what was measured.
#[derive(Clone, Copy, PartialEq, Debug, JsonSchema, Serialize)]
pub struct AgainstMeasured {
    /// Root mean square of the horizontal distance between the two distribution functions.
    pub rms_ms: f64,
    /// The same as a share of the mean that was measured.
    pub rms_relative: f64,
    /// Mean response time here.
    pub mean_ms: f64,
    /// Mean response time that was measured.
    pub measured_mean_ms: f64,
}
