//! How well a live run kept its schedule.

use schemars::JsonSchema;
use serde::Serialize;

use super::distribution::Distribution;

/// How many requests that were planned ahead a live run handed over, and how late.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[schemars(rename = "Schedule")]
pub struct ScheduleResult {
    /// Arrivals that were planned for the whole run. Here and in `due`, at most 4,194,304 arrivals
    /// that were not handed over are counted.
    pub scheduled: u64,
    /// Planned arrivals that were due before the run ended.
    pub due: u64,
    /// Planned arrivals that were handed over.
    pub made: u64,
    /// Seconds from the end of the warm-up until the last planned arrival.
    pub scheduled_s: f64,
    /// Seconds from the end of the warm-up until the last arrival was handed over.
    pub taken_s: f64,
    /// Lateness of the arrivals that were handed over.
    pub lateness_ns: Distribution,
    /// Shares of the arrivals that were on time.
    pub held: Held,
    /// Requests more than 1 ms late that came while the device's queue was full.
    pub late_while_full: u64,
    /// Seconds of the run in which the generator was ready but had no processor; left out for a
    /// class, and if the kernel does not report it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub processor_wait_s: Option<f64>,
}

/// Shares of the due arrivals that were handed over on time.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct Held {
    /// Handed over at most 100 µs late.
    pub within_100us: f64,
    /// Handed over at most 1 ms late.
    pub within_1ms: f64,
    /// Handed over at most 10 ms late.
    pub within_10ms: f64,
}
