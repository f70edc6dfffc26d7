//! What the programs of a class did.

use schemars::JsonSchema;
use serde::Serialize;

use super::distribution::Distribution;

/// What the programs of a class did. Arrivals after the warm-up = n + unfinished.
#[derive(Debug, JsonSchema, Serialize)]
#[schemars(rename = "Programs")]
pub struct ProgramResult {
    /// Programs that arrived after the warm-up and have ended.
    pub n: u64,
    /// Those that had not ended when the run did.
    pub unfinished: u64,
    /// From a program's arrival until its end.
    pub time_ns: Distribution,
    /// From asking for I/O until the first piece was sent; of all that was sent in the measured
    /// time, its end included, whether or not it has finished.
    pub wait_ns: Distribution,
    /// Seconds that they had a processor, of the measured time.
    pub cpu_time_s: f64,
    /// The same as a share of the time of all processors.
    pub cpu_share: f64,
}
