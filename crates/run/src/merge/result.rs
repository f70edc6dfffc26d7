//! What merges of files came to.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::rc::Rc;

use penstock_live::{Answers, Lateness};
use schemars::JsonSchema;
use serde::Serialize;

use crate::result::{BlockedResult, EmulationResult, World};

/// What `merge` prints with `--json`: the round with the median makespan, and all of them. Times of an
/// emulated run are those of the model, whatever its speed.
#[derive(Debug, JsonSchema, Serialize)]
#[schemars(rename = "Merges")]
pub struct MergesResult {
    /// Whether real disks took that long, or models of disks.
    pub world: World,
    /// The disks: folders, or targets, of which a loop device is `loop:` and the path of its file. The model
    /// before each, if there is one, is `model`.
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
    /// Whether every file went past the page cache. Below models none does: it is they that take the time.
    pub direct: bool,
    /// Of an emulated run: how well the models kept their schedules; left out elsewhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub emulation: Option<ModelsResult>,
    /// The kernel's scheduler in front of each real disk below these, by its name; null of a disk
    /// without one. Left out of an emulated run, and where no disk is listed.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub schedulers: BTreeMap<String, Option<String>>,
    /// What has to be known of the figures, in words.
    pub remarks: Vec<String>,
    /// Other programs that merged the same files then, in the order in which they were named.
    pub beside: Vec<OtherProgramResult>,
    /// Every round.
    pub rounds: Vec<RoundOfMerges>,
}

/// What another program took for the same merges, a process for each.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[schemars(rename = "OtherProgram")]
pub struct OtherProgramResult {
    /// `sort`, or the command as it was given.
    pub command: String,
    /// Seconds until the last process had ended.
    pub makespan_s: f64,
    /// Seconds of a processor that all of them took.
    pub cpu_s: f64,
    /// Whether all outputs have the same bytes.
    pub identical: bool,
}

/// One round of merges.
#[derive(Debug, JsonSchema, Serialize)]
#[schemars(rename = "RoundOfMerges")]
pub struct RoundOfMerges {
    /// Seconds until the last merge had written its last block.
    pub makespan_s: f64,
    /// The same of each merge.
    pub finish_s: Vec<f64>,
    /// Seconds of a processor that all of it took.
    pub cpu_s: f64,
    /// How far the merges were apart at most, as a part of an output.
    pub divergence_max: f64,
    /// The most writes that were at one disk at once.
    pub max_queued_writes: u64,
    /// Other programs that merged the same files then.
    pub beside: Vec<OtherProgramResult>,
}

/// How well models kept their schedules, in real time.
#[derive(Debug, JsonSchema, Serialize)]
#[schemars(rename = "Models")]
pub struct ModelsResult {
    /// How late their completions were reported. A merge goes on as if it had them in time.
    pub lateness: EmulationResult,
    /// How long completions waited for their files, of requests that took longer there than on the
    /// model. That counts.
    pub file_waits: EmulationResult,
}

impl ModelsResult {
    /// Those of the models of all disks, of which there is one at least.
    pub(super) fn of(disks: &[Rc<Answers>]) -> Self {
        let sum = |of: fn(&Answers) -> Lateness| {
            let all = disks.iter().map(|disk| of(disk)).reduce(|mut sum, one| {
                sum.add(&one);
                sum
            });
            EmulationResult::from(&all.expect("a disk at least"))
        };
        Self {
            lateness: sum(|disk| disk.lateness().clone()),
            file_waits: sum(|disk| disk.file_waits().clone()),
        }
    }
}

/// One merge.
#[derive(Debug, JsonSchema, Serialize)]
#[schemars(rename = "Merged")]
pub struct MergedResult {
    /// Its runs: files, or on a target `PATH@BYTE`, the path of the target and the first byte of the run.
    pub inputs: Vec<PathBuf>,
    /// The file with all of their records, or the place of them on a target.
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
