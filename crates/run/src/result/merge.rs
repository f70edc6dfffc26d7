//! Figures of merges side by side.

use schemars::JsonSchema;
use serde::Serialize;

/// Figures of the merges of a job, from the beginning of the run on, warm-up included. Lists have
/// an entry for each job, in the order of the classes.
#[derive(Debug, JsonSchema, Serialize)]
#[schemars(rename = "Merge")]
pub struct MergeResult {
    /// Seconds until the last job had written its last block; null if one had not when the run ended.
    pub makespan_s: Option<f64>,
    /// Seconds until each job had written its last block; null for a job that had not.
    pub finish_s: Vec<Option<f64>>,
    /// Largest lead of the first job over the last one, in blocks used up, as a part of the blocks
    /// of a job.
    pub divergence_max: f64,
    /// Mean of that lead over time, until the last job had finished.
    pub divergence_mean: f64,
    /// The most writes that were at one disk at once, waiting or in service.
    pub max_queued_writes: u64,
    /// Seconds that each job waited, by reason.
    pub blocked_s: Vec<BlockedResult>,
    /// Mean device time of a read, in milliseconds; 0 if there was none.
    pub read_ms: f64,
    /// Mean device time of a write, in milliseconds; 0 if there was none.
    pub write_ms: f64,
    /// Write time per block, times the number of disks less one, over read time per block: the load on the
    /// disk of the output if a job reads from all other disks in parallel. From about 1 on, jobs race if
    /// each writes a disk from which the other jobs read and it does not. Null if nothing was read or
    /// written.
    pub f_eff: Option<f64>,
}

/// Seconds that a merge could not use up a block.
#[derive(Debug, JsonSchema, Serialize)]
#[schemars(rename = "Blocked")]
pub struct BlockedResult {
    /// Seconds of waiting for blocks that it had asked for.
    pub read: f64,
    /// Seconds of waiting for memory.
    pub memory: f64,
}
