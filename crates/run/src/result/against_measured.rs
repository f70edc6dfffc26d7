//! Difference between a run and measured response times.

use schemars::JsonSchema;
use serde::Serialize;

/// Difference between a run of a trace and the response times that were measured with the trace.
#[derive(Clone, Copy, PartialEq, Debug, JsonSchema, Serialize)]
pub struct AgainstMeasured {
    /// Root mean square of the horizontal distance between the distribution function of the
    /// measured response times and that of the run.
    pub rms_ms: f64,
    /// `rms_ms` as a share of the mean that was measured.
    pub rms_relative: f64,
    /// Mean response time of the run, against `measured_mean_ms`.
    pub mean_ms: f64,
    /// Mean of the response times that were measured.
    pub measured_mean_ms: f64,
}
