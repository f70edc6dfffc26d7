//! Figures of the programs of a class.

use schemars::JsonSchema;
use serde::Serialize;

use super::distribution::Distribution;

/// Figures of the programs of a class. Arrivals after the warm-up = n + unfinished.
#[derive(Debug, JsonSchema, Serialize)]
#[schemars(rename = "Programs")]
pub struct ProgramResult {
    /// Programs that arrived after the warm-up and have ended.
    pub n: u64,
    /// Programs that arrived after the warm-up and had not ended when the run did.
    pub unfinished: u64,
    /// Time from a program's arrival until its end.
    pub time_ns: Distribution,
    /// Time from asking for I/O until the first piece was sent; over everything sent in the
    /// measured time, whether or not it has finished. The end of the run belongs to the measured
    /// time.
    pub wait_ns: Distribution,
    /// Seconds of the measured time in which they had a processor.
    pub cpu_time_s: f64,
    /// Share of the time of all processors that they had.
    pub cpu_share: f64,
}
