//! What follows from the figures of a comparison. The package judges and writes it; the engine has no
//! opinion.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

/// What follows from the figures of a comparison, as data and in words.
#[derive(Debug, JsonSchema, Serialize)]
#[schemars(rename = "Verdict")]
pub struct VerdictResult {
    /// The policy that the others are compared with; null if none serves all classes.
    pub baseline: Option<String>,
    /// Classes that asked for more than they were served, under each policy where one did.
    pub overload: Vec<Overload>,
    /// Requests hardly waited above the device, and no class differs by more than a fifth: there was
    /// nothing for a policy to decide.
    pub nothing_to_decide: bool,
    /// For each class the policies that serve it best, and as well as the best: within 5 %.
    pub best: BTreeMap<String, Vec<String>>,
    /// Policies for which another one is better for some class and as good for all, with that one.
    pub dominated: BTreeMap<String, String>,
    /// Each policy against the baseline, class by class.
    pub changes: Vec<Change>,
    /// The same in words, a line each.
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

/// What one class got under one policy, against the baseline.
///
/// Ratios are of medians if there are rounds, and null where too few requests finished or noise
/// hides how they differ.
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
    /// How many times higher its throughput is; null too for an open loop that is served, which gets
    /// what it asks for.
    pub throughput: Option<f64>,
}
