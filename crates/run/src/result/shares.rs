//! What a class got of the device, next to what its weight promises.

use schemars::JsonSchema;
use serde::Serialize;

/// What a class got of the device, next to what its weight promises.
#[derive(Debug, Default, JsonSchema, Serialize)]
#[schemars(rename = "Shares")]
pub struct ShareResult {
    /// Its weight, relative to the weights of the other classes.
    pub weight: u32,
    /// Its weight over the weights of all classes that had requests after the warm-up; null if it had
    /// none.
    pub ideal_share: Option<f64>,
    /// `share` less `ideal_share`, in percentage points.
    pub share_error_pct: Option<f64>,
    /// It got less than its ideal share because it asked for less. An open loop did if all its
    /// requests, those left unfinished too, need less device time than its part of what all classes
    /// used; another class did if on average less than one of its requests waited above the device,
    /// so that there was nothing more to send.
    pub limited_by_demand: bool,
    /// Its throughput over its throughput alone on the device, in bytes a second or, without bytes, in
    /// requests; null unless the same round has a run of `alone:CLASS`.
    pub of_alone: Option<f64>,
    /// Its part of the sum of all classes' `of_alone`, less `ideal_share`, in percentage points; null
    /// unless every class with requests ran alone too.
    pub felt_error_pct: Option<f64>,
}
