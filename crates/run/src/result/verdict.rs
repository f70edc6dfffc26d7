//! Conclusions from the figures of a comparison. The package draws and writes them; the engine does
//! not judge.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

/// Conclusions from the figures of a comparison, as data and in words.
#[derive(Debug, JsonSchema, Serialize)]
#[schemars(rename = "Verdict")]
pub struct VerdictResult {
    /// The policy that the others are compared with; null if none serves all classes.
    pub baseline: Option<String>,
    /// Classes that asked for more than they were served, under each policy where one did.
    pub overload: Vec<Overload>,
    /// Whether there was nothing for a policy to decide: requests hardly waited above the device,
    /// and no class differs by more than a fifth.
    pub nothing_to_decide: bool,
    /// Policies that serve each class best, or within 5 % of the best.
    pub best: BTreeMap<String, Vec<String>>,
    /// Policies for which another policy is better for some class and as good for all, each with
    /// that other policy.
    pub dominated: BTreeMap<String, String>,
    /// Differences of each policy from the baseline, class by class.
    pub changes: Vec<Change>,
    /// Conclusions in words, one line each.
    pub lines: Vec<String>,
}

/// A class that asked for more than it was served.
#[derive(Debug, JsonSchema, Serialize)]
pub struct Overload {
    /// The policy.
    pub policy: String,
    /// Name of the class.
    pub name: String,
    /// Requests a second that it asked for.
    pub asked_iops: f64,
    /// Requests a second that were served.
    pub served_iops: f64,
    /// Seconds of work that waited when the last request came.
    pub behind_s: f64,
}

/// Difference of one class under one policy from the baseline.
///
/// Ratios are of medians if there are rounds. They are null where too few requests finished or
/// noise hides the difference.
#[derive(Debug, JsonSchema, Serialize)]
pub struct Change {
    /// The policy.
    pub policy: String,
    /// Name of the class.
    pub name: String,
    /// How many times shorter its median latency is.
    pub p50: Option<f64>,
    /// How many times shorter its 95th percentile is.
    pub p95: Option<f64>,
    /// How many times shorter its 99th percentile is.
    pub p99: Option<f64>,
    /// How many times higher its throughput is; null too for an open loop that is fully served,
    /// since it gets what it asks for.
    pub throughput: Option<f64>,
}
