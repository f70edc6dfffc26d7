//! Share of the device that a class got, next to what its weight promises.

use schemars::JsonSchema;
use serde::Serialize;

/// Share of the device that a class got, next to what its weight promises.
#[derive(Debug, Default, JsonSchema, Serialize)]
#[schemars(rename = "Shares")]
pub struct ShareResult {
    /// Its weight, relative to the weights of the other classes.
    pub weight: u32,
    /// Whether the job gives the weight. If not, it follows from the I/O priority, and nothing
    /// promises the class a share.
    pub weight_is_given: bool,
    /// Its weight over the sum of the weights of all classes that had requests after the warm-up;
    /// null if it had none.
    pub ideal_share: Option<f64>,
    /// `share` less `ideal_share`, in percentage points.
    pub share_error_pct: Option<f64>,
    /// Whether it got less than its ideal share because it asked for less. For an open loop: all
    /// its requests, unfinished ones included, need less device time than its ideal share of the
    /// device time that all classes used. For another class: on average less than one of its
    /// requests waited above the device, so that there was nothing more to send.
    pub limited_by_demand: bool,
    /// Its throughput over its throughput when it runs alone on the device, in bytes a second or,
    /// without bytes, in requests a second; null unless the same round has a run of `alone:CLASS`.
    pub of_alone: Option<f64>,
    /// Its share of the sum of all classes' `of_alone`, less `ideal_share`, in percentage points;
    /// null unless every class with requests also ran alone.
    pub felt_error_pct: Option<f64>,
}
