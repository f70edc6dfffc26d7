//! How a live run held its schedule.

use schemars::JsonSchema;
use serde::Serialize;

use super::distribution::Distribution;

/// How a live run held its schedule. Of the requests that were planned ahead, and due after the
/// warm-up, it counts those that were handed over, and how late.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[schemars(rename = "Schedule")]
pub struct ScheduleResult {
    /// Arrivals that were planned for the whole run. Of those that were not made the first
    /// 4,194,304 are counted, here and in `due`.
    pub scheduled: u64,
    /// Those among them that were due before it ended.
    pub due: u64,
    /// Those among them that were handed over.
    pub made: u64,
    /// Seconds from the end of the warm-up until the last planned arrival.
    pub scheduled_s: f64,
    /// Seconds from there until the last that was made was handed over.
    pub taken_s: f64,
    /// How late those that were made were handed over.
    pub lateness_ns: Distribution,
    /// How many were on time.
    pub held: Held,
    /// Requests more than 1 ms late that came while the device's queue was full.
    pub late_while_full: u64,
    /// Seconds of the run in which the generator was ready and had no processor; left out of a
    /// class, and where the kernel does not say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub processor_wait_s: Option<f64>,
}

/// Shares of the arrivals that were due.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct Held {
    /// Handed over at most 100 µs late.
    pub within_100us: f64,
    /// At most 1 ms late.
    pub within_1ms: f64,
    /// At most 10 ms late.
    pub within_10ms: f64,
}
