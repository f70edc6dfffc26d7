//! How far a run is from response times that were measured.

use schemars::JsonSchema;
use serde::Serialize;

/// How far a run of a trace of measured response times is from them.
#[derive(Clone, Copy, PartialEq, Debug, JsonSchema, Serialize)]
pub struct AgainstMeasured {
    /// Of a trace of measured response times: root mean square of the horizontal distance between
    /// their distribution function and that of the run.
    pub rms_ms: f64,
    /// `rms_ms` as a share of the mean that was measured.
    pub rms_relative: f64,
    /// Mean response time of the run, against `measured_mean_ms`.
    pub mean_ms: f64,
    /// Mean of the response times that were measured.
    pub measured_mean_ms: f64,
}
