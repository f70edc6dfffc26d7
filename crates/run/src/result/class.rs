//! Figures of one class.

use std::borrow::Cow;
use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::demand::DemandResult;
use super::distribution::Distribution;
use super::errors::ErrorResult;
use super::ops::OpsResult;
use super::programs::ProgramResult;
use super::schedule::ScheduleResult;
use super::shares::ShareResult;

/// Figures of one class. Arrivals = requests + unfinished + errors.
#[derive(Debug, Default, JsonSchema, Serialize)]
#[schemars(rename = "Class")]
pub struct ClassResult {
    /// Name of the class.
    pub name: String,
    /// Whether all its requests come when they are planned, whatever the device does. Its
    /// throughput is then what it asks for, unless requests are left unfinished; only latency then
    /// shows what it gets.
    pub open_loop: bool,
    /// Demand of an open loop; null for other classes, and if nothing came after the warm-up.
    pub demand: Option<DemandResult>,
    /// Requests that were due after the warm-up and completed without error.
    pub requests: u64,
    /// Bytes that they read or wrote.
    pub bytes: u64,
    /// Bytes that they discarded, which no throughput counts.
    pub discarded_bytes: u64,
    /// Requests a second: those that completed without error after the warm-up, whenever they were
    /// due, over the time in which the job asks. The job asks from the end of the warm-up until no
    /// agent asks any more, or until the last arrival of a trace. It is longer for a class that was
    /// served later, until its last completion, and shorter if the run ended before. A load without
    /// a fixed length, such as a trace played as fast as possible, asks until the run ends.
    pub iops: f64,
    /// Bytes a second, of the requests that `iops` counts, over the same time.
    pub bw_bytes: f64,
    /// Figures by operation; left out if no agent of the class mixes operations or asks for
    /// flushes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ops: Option<OpsResult>,
    /// Time from the intended arrival until the last piece was done.
    pub lat_ns: Distribution,
    /// Time from the intended arrival until the first piece was dispatched.
    pub wait_ns: Distribution,
    /// Device time of all pieces of a request.
    pub service_ns: Distribution,
    /// Device time of the class in seconds, failed requests included.
    pub device_time_s: f64,
    /// Its share of the device time of all classes.
    pub share: f64,
    /// Its share of the device, next to what its weight promises.
    #[serde(flatten)]
    pub shares: ShareResult,
    /// Weight of the control group of its threads, under a scheduler of the kernel that divides by
    /// them; left out of other runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kernel_weight: Option<u32>,
    /// Nanoseconds that the way through the kernel adds to the median latency: that on a served
    /// device less that under the same policy in this process; left out unless the same round ran
    /// both.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub added_ns: Option<i64>,
    /// Requests that failed.
    pub errors: u64,
    /// Failed requests by the name of the error.
    pub error_codes: BTreeMap<Cow<'static, str>, ErrorResult>,
    /// Requests that had not finished when the run ended.
    pub unfinished: u64,
    /// How well its schedule was kept; null in virtual time, and if nothing was planned ahead.
    pub schedule: Option<ScheduleResult>,
    /// Figures of its programs; left out if the job has no programs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub programs: Option<ProgramResult>,
}
