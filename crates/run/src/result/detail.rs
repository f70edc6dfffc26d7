//! Whole distributions, and the course of a run over time: what pictures are drawn from.

use schemars::JsonSchema;
use serde::Serialize;

use super::arm::Arm;

/// One run in detail.
#[derive(Debug, JsonSchema, Serialize)]
pub struct Detail {
    /// Seconds that a window lasts.
    pub window_s: f64,
    /// One for each class, in the order of the job.
    pub classes: Vec<ClassDetail>,
    /// The policy's own counters over time; left out of a policy that has none. Of classes, those of
    /// the first eight that the policy names, and of all others sixteen; where each disk has a policy
    /// of its own, none of classes, and those of the first eight disks.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub policy: Vec<CounterSeries>,
    /// What the arm did in the stretch of the run that is drawn, of the first disk; left out of a
    /// device without an arm.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arm: Option<Arm>,
}

/// One counter of the policy over time.
#[derive(Clone, PartialEq, Eq, Debug, JsonSchema, Serialize)]
pub struct CounterSeries {
    /// Its name, as in `policy_stats`.
    pub name: String,
    /// The same without the disk and the class that it is of.
    pub counter: String,
    /// The class that it is of; null if it is of none.
    pub of_class: Option<String>,
    /// The disk whose policy it is of; null if one policy has all.
    pub disk: Option<usize>,
    /// Whether it only grows (`total`), or goes up and down (`level`).
    pub kind: CounterKind,
    /// A value for each window of a class: of a total what was added in it, of a level the value at its
    /// end; null before there was one.
    pub values: Vec<Option<u64>>,
}

/// How the value of a counter moves.
#[derive(Clone, Copy, PartialEq, Eq, Debug, JsonSchema, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CounterKind {
    /// It only grows.
    Total,
    /// It goes up and down.
    Level,
}

/// One class of a run in detail. What is due before the warm-up's end is in the series only.
#[derive(Debug, JsonSchema, Serialize)]
pub struct ClassDetail {
    /// Name of the class.
    pub name: String,
    /// Latencies: upper bounds in nanoseconds, ascending, and how many lie at or below each and
    /// above the one before.
    pub lat_ns: Vec<(u64, u64)>,
    /// The same of waits.
    pub wait_ns: Vec<(u64, u64)>,
    /// Over time, a row for each window.
    pub series: Vec<Row>,
}

/// One class in one window.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct Row {
    /// Where the window begins, in seconds from the beginning of the run.
    pub at_s: f64,
    /// Requests that completed in it.
    pub requests: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Median of their latencies in nanoseconds; null if there were none.
    pub p50_ns: Option<u64>,
    /// 99th percentile of their latencies; null if there were none.
    pub p99_ns: Option<u64>,
    /// Requests outstanding, in the mean over the window.
    pub outstanding: f64,
    /// Device time in seconds of what completed in it.
    pub device_time_s: f64,
}
