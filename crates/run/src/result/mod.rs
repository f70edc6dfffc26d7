//! The schema of results, for modelled and for live runs. Field names follow fio's JSON where fio
//! has one.

pub(crate) mod buckets;
pub(crate) mod parts;
pub(crate) mod version;
pub(crate) mod without_detail;

mod against_measured;
mod arm;
mod class;
mod demand;
mod detail;
mod device;
mod distribution;
mod emulation;
mod ended;
mod errors;
mod file;
mod kernel;
mod merge;
mod ops;
mod params;
mod passes;
mod programs;
mod requests;
mod schedule;
mod shares;
mod stability;
mod survey;
mod verdict;
mod verify;

use std::collections::BTreeMap;
use std::io;

use penstock_core::ClassId;
use schemars::JsonSchema;
use serde::Serialize;

use self::params::Params;
use crate::result::parts::ThreadParts;

pub use self::against_measured::AgainstMeasured;
pub use self::arm::{Arm, ArmAccess, HeldIdle};
pub use self::class::ClassResult;
pub use self::demand::DemandResult;
pub use self::detail::{AgentDetail, ClassDetail, CounterKind, CounterSeries, Detail, Row};
pub use self::device::{DeviceStatsResult, DiskResult, EachDiskResult, Travel};
pub use self::distribution::{Distribution, Milliseconds};
pub use self::emulation::{EmulationResult, ServedReport};
pub use self::ended::Ended;
pub use self::errors::{ErrorResult, FirstError, OpResult};
pub use self::file::FileResult;
pub use self::kernel::{AskedResult, KernelDiskResult, KernelResult};
pub use self::merge::{BlockedResult, MergeResult};
pub use self::ops::{ByOpResult, OpsResult};
pub use self::passes::{FileTestResult, WorkerResult};
pub use self::programs::ProgramResult;
pub use self::requests::Requests;
pub use self::schedule::{Held, ScheduleResult};
pub use self::shares::ShareResult;
pub use self::stability::{Characteristic, ClassStability};
pub use self::survey::SurveyResult;
pub use self::verdict::VerdictResult;
pub use self::verify::{DifferenceResult, VerifyResult};

/// The output of `compare` and `run` with `--json`.
#[derive(Debug, JsonSchema, Serialize)]
pub struct Comparison {
    /// Version of Penstock.
    pub penstock: &'static str,
    /// The job as it was read, with what `--set` changed.
    pub job: JobResult,
    /// Seed of every random number.
    pub seed: u64,
    /// `simulated`, `emulated` or `measured`.
    pub world: World,
    /// Name of the modelled device, or path of the target.
    pub device: String,
    /// The machine that ran it.
    pub machine: Machine,
    /// Facts about all runs that a reader of their figures must know, in words; left out if there
    /// are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<String>,
    /// The run of each policy, in the order in which they were named.
    pub runs: Vec<RunResult>,
    /// Conclusions from the figures; left out of the result that the engine hands to the package.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verdict: Option<VerdictResult>,
}

/// The job of a result.
#[derive(Debug, JsonSchema, Serialize)]
#[schemars(rename = "Job")]
pub struct JobResult {
    /// The file, as it was given.
    pub file: String,
    /// The whole job as TOML, with every default in place.
    pub text: String,
    /// The changes made with `--set`, in order.
    pub set: Vec<String>,
}

/// Whether a figure comes from a model or from the machine.
#[derive(Clone, Copy, PartialEq, Eq, Debug, JsonSchema, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum World {
    /// Virtual time over a modelled device.
    Simulated,
    /// Real time over a modelled device.
    Emulated,
    /// Real time over a real target.
    Measured,
}

/// The machine that ran the job.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct Machine {
    /// Model name of the processor.
    pub cpu: String,
    /// Processors that this run could use.
    pub cpus: usize,
    /// Name and release of the kernel.
    pub kernel: String,
    /// When a live comparison began, in seconds since 1970. A model's result does not depend on it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub began_unix_s: Option<u64>,
    /// How the target was driven; left out for a model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub engine: Option<&'static str>,
}

/// The run of one policy.
#[derive(Debug, Default, JsonSchema, Serialize)]
#[schemars(rename = "Run")]
pub struct RunResult {
    /// Name of the policy.
    pub policy: String,
    /// Number of the round, from 0, if there are several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub round: Option<u32>,
    /// Seed of the round, if there are several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// Its parameters, with every default in place.
    #[schemars(with = "Params")]
    pub params: serde_json::Value,
    /// Difference from the measured response times, if the run played a trace that has them.
    #[serde(flatten)]
    pub against_measured: Option<AgainstMeasured>,
    /// Seconds that were measured: from the end of the warm-up to the end of the run. A run that
    /// finishes its work early still counts as long as planned.
    pub duration_s: f64,
    /// Whether it was ended early, so that the figures are of the part that ran; left out if not.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub interrupted: bool,
    /// Why it was ended early, if it was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended: Option<Ended>,
    /// Description of the failure, if the run could not go on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// How well the schedule was kept; null in virtual time, and if nothing was planned ahead, as
    /// in closed loops and traces played as fast as possible. Under the kernel's scheduler only
    /// classes have one.
    pub schedule: Option<ScheduleResult>,
    /// How late a model answered in real time; left out of other runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub emulation: Option<EmulationResult>,
    /// Facts that limit what the figures of this run say, in words; left out if there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<String>,
    /// The kernel's scheduler in front of each disk below a real target, by the name of the disk;
    /// null for a disk without one. Left out of other runs, and where no disk is listed.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub schedulers: BTreeMap<String, Option<String>>,
    /// Requests and bytes that a live run asked for, kept until the kernel's counts are read.
    #[serde(skip)]
    pub(crate) asked: AskedResult,
    /// The kernel's counts for the disks below a real target; left out of other runs, and where no
    /// disk is listed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kernel: Option<KernelResult>,
    /// Share of the measured time in which the device had something to do; the mean if there are
    /// several disks.
    pub device_busy: f64,
    /// Figures of the disks of a model; left out of a run on a real target.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device_stats: Option<DeviceStatsResult>,
    /// Figures of the merges of a job; left out if the job has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub merge: Option<MergeResult>,
    /// Results of verification; left out if the job has no `verify`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verify: Option<VerifyResult>,
    /// The policy's own counters, by name; left out if it has none.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub policy_stats: BTreeMap<String, u64>,
    /// Figures of each class, in the order of the job.
    pub classes: Vec<ClassResult>,
    /// Figures of each file, in the order of the job, or of each device of a trace with several
    /// devices; a job without files has one, `target`.
    pub files: Vec<FileResult>,
    /// Complete distributions and figures over time, if they were asked for; `--json` does not
    /// print them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<Detail>,
    /// Every request, if that was asked for; not in the JSON.
    #[serde(skip)]
    pub requests: Option<Requests>,
    /// Measurements of one of several threads; not in the JSON.
    #[serde(skip)]
    pub(crate) parts: Option<ThreadParts>,
    /// How stable the requests of each class are, if that was asked for; not in the JSON.
    #[serde(skip)]
    pub(crate) stability: Option<io::Result<Vec<ClassStability>>>,
    /// Results of a survey of stability; left out if none was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub survey: Option<SurveyResult>,
}

impl RunResult {
    /// Creates an empty result for a run of `policy` with `params`.
    pub(crate) fn new(policy: &str, params: serde_json::Value) -> Self {
        Self { policy: policy.into(), params, ..Self::default() }
    }

    /// Adds the counters, the end and the remarks of `other`, of another thread of the run.
    pub(crate) fn absorb(&mut self, other: Self) {
        self.policy_stats.extend(other.policy_stats);
        self.interrupted |= other.interrupted;
        // A thread that failed has ended the others.
        self.ended = match (self.ended, other.ended) {
            (None | Some(Ended::Asked), Some(ended)) => Some(ended),
            (ended, _) => ended,
        };
        self.failure = self.failure.take().or(other.failure);
        self.remarks.extend(other.remarks);
    }

    /// Keeps only the figures of `class`.
    pub(crate) fn only(mut self, class: ClassId) -> Self {
        let keep = |number: usize| number == class.index();
        let mut number = 0..;
        self.classes.retain(|_| number.next().is_some_and(keep));
        if let Some(detail) = &mut self.detail {
            let mut number = 0..;
            detail.classes.retain(|_| number.next().is_some_and(keep));
        }
        self
    }
}

/// Facts about the layers below a real target.
#[derive(Debug, Default, Serialize)]
pub struct BelowResult {
    /// Schedulers by disk, as in [`RunResult`].
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub schedulers: BTreeMap<String, Option<String>>,
    /// Facts that a reader of the figures must know, in words.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<String>,
}
