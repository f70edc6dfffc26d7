//! Complete distributions and figures over time: the data of charts.

use schemars::JsonSchema;
use serde::Serialize;

use super::arm::Arm;

/// Details of one run.
#[derive(Debug, JsonSchema, Serialize)]
pub struct Detail {
    /// Seconds that a window lasts.
    pub window_s: f64,
    /// Details of each class, in the order of the job.
    pub classes: Vec<ClassDetail>,
    /// Requests and times of each agent, in the order of the job, a copy or file after the other;
    /// left out for a workload without agents.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub agents: Vec<AgentDetail>,
    /// The policy's own counters over time; left out if it has none. At most the counters of the
    /// first eight classes that the policy names, and sixteen others; where each disk has a policy
    /// of its own, no counters of classes, and only those of the first eight disks.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub policy: Vec<CounterSeries>,
    /// Accesses of the arm of the first disk in the stretch of the run that is drawn; left out for
    /// a device without an arm.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arm: Option<Arm>,
}

/// Requests and time of an agent. Its flushes move the end of its time and are not counted.
#[derive(Clone, PartialEq, Debug, JsonSchema, Serialize)]
pub struct AgentDetail {
    /// Name of its class.
    pub of_class: String,
    /// Requests that completed without an error.
    pub requests: u64,
    /// Bytes of these requests.
    pub bytes: u64,
    /// Seconds from the beginning of the run until its first request was due; null if it issued
    /// none.
    pub began_s: Option<f64>,
    /// Seconds from the beginning of the run until its last request completed; null if none did.
    pub ended_s: Option<f64>,
}

/// A counter of the policy over time.
#[derive(Clone, PartialEq, Eq, Debug, JsonSchema, Serialize)]
pub struct CounterSeries {
    /// Its name, as in `policy_stats`.
    pub name: String,
    /// The name without disk and class.
    pub counter: String,
    /// The class that it counts; null if it belongs to no class.
    pub of_class: Option<String>,
    /// The disk whose policy it belongs to; null if one policy serves all disks.
    pub disk: Option<usize>,
    /// Whether it only grows (`total`), or goes up and down (`level`).
    pub kind: CounterKind,
    /// A value for each window: for a total what was added in the window, for a level the value at
    /// its end; null before the counter existed.
    pub values: Vec<Option<u64>>,
}

/// How the value of a counter moves.
#[derive(Clone, Copy, PartialEq, Eq, Debug, JsonSchema, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CounterKind {
    /// A value that only grows.
    Total,
    /// A value that goes up and down.
    Level,
}

/// Details of one class of a run. Requests due before the end of the warm-up count in the series
/// only.
#[derive(Debug, JsonSchema, Serialize)]
pub struct ClassDetail {
    /// Name of the class.
    pub name: String,
    /// Latencies as pairs: the upper bound of a bucket in nanoseconds, ascending, and the number of
    /// values in the bucket.
    pub lat_ns: Vec<(u64, u64)>,
    /// Waits, as pairs like those of `lat_ns`.
    pub wait_ns: Vec<(u64, u64)>,
    /// Figures over time, a row for each window.
    pub series: Vec<Row>,
}

/// Figures of one class in one window.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct Row {
    /// Where the window begins, in seconds from the beginning of the run.
    pub at_s: f64,
    /// Requests that completed in it.
    pub requests: u64,
    /// Bytes of these requests.
    pub bytes: u64,
    /// Median of their latencies in nanoseconds; null if there were none.
    pub p50_ns: Option<u64>,
    /// 99th percentile of their latencies; null if there were none.
    pub p99_ns: Option<u64>,
    /// Mean number of requests outstanding over the window.
    pub outstanding: f64,
    /// Device time in seconds of the requests that completed in it.
    pub device_time_s: f64,
}
