//! What merges of files came to.

use std::path::PathBuf;

use serde::Serialize;

use crate::result::{BlockedResult, World};

/// What merges of files came to. Times of an emulated run are those of the model, whatever its speed.
#[derive(Debug, Serialize)]
pub struct MergesResult {
    /// Whether the disks were real.
    pub world: World,
    /// The disks, by path; the model before each, if there is one, is `model`.
    pub disks: Vec<PathBuf>,
    /// `DEVICE[@SPEED]`, of an emulated run.
    pub model: Option<String>,
    /// The policy before each disk.
    pub policy: String,
    /// Seconds until the last merge had written its last block.
    pub makespan_s: f64,
    /// Each merge.
    pub merges: Vec<MergedResult>,
    /// How far the merges were apart at most, as a part of an output.
    pub divergence_max: f64,
    /// The most writes that were at one disk at once, waiting or in service.
    pub max_queued_writes: u64,
    /// Seconds of a processor that all of it took, whatever the speed of a model.
    pub cpu_s: f64,
    /// Whether every file went past the page cache.
    pub direct: bool,
    /// What could not be done as it should be, in words.
    pub remarks: Vec<String>,
}

/// One merge.
#[derive(Debug, Serialize)]
pub struct MergedResult {
    /// Its runs.
    pub inputs: Vec<PathBuf>,
    /// The file with all of their records.
    pub output: PathBuf,
    /// The disk of each run, and of the output, by number.
    pub disks: Vec<u32>,
    /// The same of the output.
    pub output_disk: u32,
    /// Bytes of the output.
    pub bytes: u64,
    /// Seconds until it had written its last block.
    pub finish_s: f64,
    /// Seconds of a processor that merging took, without reading and writing, whatever the speed of a
    /// model.
    pub cpu_s: f64,
    /// What it waited for.
    pub blocked_s: BlockedResult,
}
