//! The result of merges of files.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::rc::Rc;

use penstock_jobs::path_text;
use penstock_live::{Answers, Lateness};
use schemars::JsonSchema;
use serde::Serialize;

use crate::result::{BlockedResult, EmulationResult, World};

/// The JSON of `merge`: the round with the median makespan, and all rounds. Times of an emulated run are
/// those of the model, whatever its speed.
#[derive(Debug, JsonSchema, Serialize)]
#[schemars(rename = "Merges")]
pub struct MergesResult {
    /// Whether the times are those of real disks or of models of disks.
    pub world: World,
    /// The folder on each disk.
    #[serde(serialize_with = "path_text::serialize_all")]
    pub disks: Vec<PathBuf>,
    /// The model before each disk, as `DEVICE[@SPEED]`; null on real disks.
    pub model: Option<String>,
    /// The policy before each disk.
    pub policy: String,
    /// Seconds until the last merge had written its last block.
    pub makespan_s: f64,
    /// The merges, in the order in which they were named.
    pub merges: Vec<MergedResult>,
    /// The largest difference between the progress of two merges at one time, as a part of an output.
    pub divergence_max: f64,
    /// The largest number of writes at one disk at one time, waiting or in service.
    pub max_queued_writes: u64,
    /// Seconds of processor time of all merges, whatever the speed of a model.
    pub cpu_s: f64,
    /// Whether every file was read and written past the page cache. Always false in an emulated run, where
    /// the models determine the times.
    pub direct: bool,
    /// How well the models kept their schedules; only in an emulated run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub emulation: Option<ModelsResult>,
    /// The kernel's scheduler in front of each real disk below the folders, by the name of the disk; null for
    /// a disk without one. Left out of an emulated run, and where no disk is listed.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub schedulers: BTreeMap<String, Option<String>>,
    /// Notes on what limits the figures.
    pub remarks: Vec<String>,
    /// The program that merged the same files after this round, as `--beside` says; empty without it.
    pub beside: Vec<OtherProgramResult>,
    /// All rounds.
    pub rounds: Vec<RoundOfMerges>,
}

/// Another program that did the same merges, with a process for each.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[schemars(rename = "OtherProgram")]
pub struct OtherProgramResult {
    /// The name of the program: `sort`.
    pub command: String,
    /// Seconds until the last process had ended.
    pub makespan_s: f64,
    /// Seconds of processor time of all processes.
    pub cpu_s: f64,
    /// Whether all outputs have the same bytes.
    pub identical: bool,
}

/// A round of merges.
#[derive(Debug, JsonSchema, Serialize)]
#[schemars(rename = "RoundOfMerges")]
pub struct RoundOfMerges {
    /// Seconds until the last merge had written its last block.
    pub makespan_s: f64,
    /// Seconds until each merge had written its last block.
    pub finish_s: Vec<f64>,
    /// Seconds of processor time of all merges.
    pub cpu_s: f64,
    /// The largest difference between the progress of two merges at one time, as a part of an output.
    pub divergence_max: f64,
    /// The largest number of writes at one disk at one time.
    pub max_queued_writes: u64,
    /// The program that merged the same files after this round; empty without `--beside`.
    pub beside: Vec<OtherProgramResult>,
}

/// How well models kept their schedules, in real time.
#[derive(Debug, JsonSchema, Serialize)]
#[schemars(rename = "Models")]
pub struct ModelsResult {
    /// How late completions were reported. This changes no result: a merge goes on as if they had been in time.
    pub lateness: EmulationResult,
    /// How long completions waited for their files, for requests that took longer there than on the model.
    /// This does change the times of merges.
    pub file_waits: EmulationResult,
}

impl ModelsResult {
    /// Adds up the answers of the models of all disks. There is at least one disk.
    pub(super) fn from_answers(disks: &[Rc<Answers>]) -> Self {
        let sum = |part: fn(&Answers) -> Lateness| {
            let parts = disks.iter().map(|disk| part(disk)).reduce(|mut sum, part| {
                sum.add(&part);
                sum
            });
            EmulationResult::from(&parts.expect("a disk at least"))
        };
        Self {
            lateness: sum(|disk| disk.lateness().clone()),
            file_waits: sum(|disk| disk.file_waits().clone()),
        }
    }
}

/// A merge.
#[derive(Debug, JsonSchema, Serialize)]
#[schemars(rename = "Merged")]
pub struct MergedResult {
    /// The files that were merged.
    #[serde(serialize_with = "path_text::serialize_all")]
    pub inputs: Vec<PathBuf>,
    /// The file with all of their records.
    #[serde(serialize_with = "path_text::serialize")]
    pub output: PathBuf,
    /// The disk of each run, by number.
    pub disks: Vec<u32>,
    /// The disk of the output, by number.
    pub output_disk: u32,
    /// Bytes of the output.
    pub bytes: u64,
    /// Seconds until the last block was written.
    pub finish_s: f64,
    /// Seconds of processor time for comparing and copying records, without reading and writing, whatever the
    /// speed of a model.
    pub cpu_s: f64,
    /// Seconds in which the merge waited, by reason.
    pub blocked_s: BlockedResult,
}
