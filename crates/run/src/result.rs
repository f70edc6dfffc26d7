//! The one schema of results, for modelled and for live runs. Field names follow fio's JSON where
//! fio has one.

use std::borrow::Cow;
use std::collections::BTreeMap;

use penstock_core::ClassId;
use penstock_live::Lateness;
use schemars::JsonSchema;
use serde::Serialize;

use crate::detail::Detail;
use crate::ending::Ended;
use crate::errors::ErrorResult;
pub use crate::measured::AgainstMeasured;
use crate::params::Params;

/// What `compare` and `run` print with `--json`.
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
    /// Where it ran.
    pub machine: Machine,
    /// What has to be known of all runs to read their figures, in words; left out if there is nothing
    /// to say.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<String>,
    /// One for each policy, in the order in which they were named.
    pub runs: Vec<RunResult>,
}

/// The job of a result.
#[derive(Debug, JsonSchema, Serialize)]
#[schemars(rename = "Job")]
pub struct JobResult {
    /// The file, as it was named.
    pub file: String,
    /// The whole job as TOML, with every default in place.
    pub text: String,
    /// What `--set` said, in order.
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

/// The machine that ran it.
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

/// One policy's run.
#[derive(Debug, JsonSchema, Serialize)]
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
    /// Of a trace of measured response times, how far the run is from them.
    #[serde(flatten)]
    pub against_measured: Option<AgainstMeasured>,
    /// Seconds that were measured: from the end of the warm-up to the end of the run. A run that has
    /// done everything early lasts as long as it might have been asked.
    pub duration_s: f64,
    /// It was ended early, and the figures are of the part that ran; left out if it was not.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub interrupted: bool,
    /// Why it was ended early, if it was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended: Option<Ended>,
    /// What failed, in words, if the run could not go on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// How the schedule was held; null in virtual time, and if nothing was planned ahead, as by closed
    /// loops and traces as fast as possible. Under the kernel's scheduler only classes have one.
    pub schedule: Option<ScheduleResult>,
    /// How late a model answered in real time; left out elsewhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub emulation: Option<EmulationResult>,
    /// What the machine did not grant to a live run, in words; left out if there is nothing to say.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<String>,
    /// The kernel's scheduler in front of each disk below a real target, by its name; null of a disk
    /// without one. Left out elsewhere, and where no disk is listed.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub schedulers: BTreeMap<String, Option<String>>,
    /// Share of the measured time in which the device had something to do; of several disks, the
    /// mean.
    pub device_busy: f64,
    /// What the disks of a model did; left out of what was measured on a real target.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device_stats: Option<DeviceStatsResult>,
    /// Counters of the policy's own, by name; left out of a policy that has none.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub policy_stats: BTreeMap<String, u64>,
    /// One for each class, in the order of the job.
    pub classes: Vec<ClassResult>,
    /// Whole distributions and the course over time, if they were asked for; `--json` does not print
    /// them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<Detail>,
}

impl RunResult {
    /// What it says of one class only.
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

/// What lay below a real target.
#[derive(Debug, Default, Serialize)]
pub struct BelowResult {
    /// As of a [`RunResult`].
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub schedulers: BTreeMap<String, Option<String>>,
    /// What has to be known of it to read the figures, in words.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<String>,
}

/// How late the completions of an emulated device were, against its model's own schedule.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[schemars(rename = "Emulation")]
pub struct EmulationResult {
    /// Completions.
    pub completions: u64,
    /// Arithmetic mean of their lateness in nanoseconds.
    pub mean_ns: f64,
    /// Median.
    pub p50_ns: u64,
    /// 99th percentile.
    pub p99_ns: u64,
    /// The worst.
    pub max_ns: u64,
}

impl From<&Lateness> for EmulationResult {
    fn from(late: &Lateness) -> Self {
        Self {
            completions: late.count(),
            mean_ns: late.mean_ns(),
            p50_ns: late.p50_ns(),
            p99_ns: late.p99_ns(),
            max_ns: late.max_ns(),
        }
    }
}

/// What the disks of a model did: all of them together, and each if there are several.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[schemars(rename = "DeviceStats")]
pub struct DeviceStatsResult {
    /// Every access of every disk.
    #[serde(flatten)]
    pub all: DiskResult,
    /// One for each disk of an array, in their order; left out if there is one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub disks: Vec<DiskResult>,
}

/// What disks did: accesses that ended after the warm-up and before the run did. A device without an
/// arm has neither seek, rotation nor transfer. A disk with its cache has those of its accesses to the
/// platter, up to the end of what was asked for; written back or read ahead after a hit, they are
/// nobody's request. A hit is a request without an access.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[schemars(rename = "Disk")]
pub struct DiskResult {
    /// Arm, head switch and settling, to the first track.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seek_ms: Option<Milliseconds>,
    /// Until the first wanted sector came round.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rotation_ms: Option<Milliseconds>,
    /// From there until the last wanted sector had passed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transfer_ms: Option<Milliseconds>,
    /// The whole access, overhead and bus included; with a cache, and without an arm, what each
    /// request took.
    pub service_ms: Milliseconds,
    /// Share of the measured time in which the disk was busy; of several, the mean.
    pub utilisation: f64,
}

/// A distribution of milliseconds; all zero if there was nothing to measure.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct Milliseconds {
    /// How many values there are.
    pub n: u64,
    /// Arithmetic mean.
    pub mean: f64,
    /// Standard deviation.
    pub stddev: f64,
    /// The least.
    pub min: f64,
    /// The greatest.
    pub max: f64,
    /// Percentiles, by percent with six decimals.
    pub percentile: BTreeMap<String, f64>,
}

impl Milliseconds {
    /// `n` values of this distribution of nanoseconds.
    pub(crate) fn new(n: u64, ns: &Distribution) -> Self {
        let ms = |ns: u64| ns as f64 / 1e6;
        Self {
            n,
            mean: ns.mean / 1e6,
            stddev: ns.stddev / 1e6,
            min: ms(ns.min),
            max: ms(ns.max),
            percentile: ns.percentile.iter().map(|(at, &ns)| (at.clone(), ms(ns))).collect(),
        }
    }
}

/// What one class got. Arrivals = requests + unfinished + errors.
#[derive(Debug, JsonSchema, Serialize)]
#[schemars(rename = "Class")]
pub struct ClassResult {
    /// Name of the class.
    pub name: String,
    /// Requests that were due after the warm-up and completed without error.
    pub requests: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Requests a second: those that completed without error after the warm-up, whenever they were
    /// due, over the time in which the job asks. That is the time from the end of the warm-up until
    /// no agent asks any more, or until the last arrival of a trace. It is longer for a class that
    /// was served later, until its last completion, and shorter if the run ended before. A load that
    /// is as long as it takes, as a trace played as fast as possible, asks until the run ends.
    pub iops: f64,
    /// Bytes a second, of the same requests over the same time.
    pub bw_bytes: f64,
    /// From the intended arrival until the last piece was done.
    pub lat_ns: Distribution,
    /// From the intended arrival until the first piece was dispatched.
    pub wait_ns: Distribution,
    /// Device time of all its pieces.
    pub service_ns: Distribution,
    /// Device time of the class in seconds, failed requests included.
    pub device_time_s: f64,
    /// Its part of the time in which the device was busy: its device time over the sum of all
    /// classes'.
    pub share: f64,
    /// Requests that failed.
    pub errors: u64,
    /// How many of them with which error, by its name.
    pub error_codes: BTreeMap<Cow<'static, str>, ErrorResult>,
    /// Requests that had not finished when the run ended.
    pub unfinished: u64,
    /// How its schedule was held; null in virtual time, and if nothing was planned ahead.
    pub schedule: Option<ScheduleResult>,
    /// What its programs did; left out of a job without programs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub programs: Option<ProgramResult>,
}

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

/// A distribution of nanoseconds; all zero if there was nothing to measure.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct Distribution {
    /// Arithmetic mean.
    pub mean: f64,
    /// Standard deviation.
    pub stddev: f64,
    /// The least.
    pub min: u64,
    /// The greatest.
    pub max: u64,
    /// Percentiles, by percent with six decimals as fio writes them.
    pub percentile: BTreeMap<String, u64>,
}

impl Distribution {
    /// Which percentiles are told.
    pub const PERCENTS: [f64; 4] = [50.0, 95.0, 99.0, 99.9];
}

impl Default for Distribution {
    fn default() -> Self {
        let percentile = Self::PERCENTS.map(|percent| (format!("{percent:.6}"), 0));
        Self { mean: 0.0, stddev: 0.0, min: 0, max: 0, percentile: percentile.into() }
    }
}
