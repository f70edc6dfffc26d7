//! Verification of a run's data: where it is possible, the record that goes with a target, and what
//! results say about it.
//!
//! Data on a target is stamped and compared in `penstock_live`, between the stack and the engine;
//! data of models is kept in `model_data`. This module does what comes before and after a run: the
//! ranges of the job, the record, and the last pass.

use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use penstock_core::{Rng, Seed};
use penstock_jobs::devices::DeviceSpec;
use penstock_jobs::{Extent, Job, VerifiedRanges, Verify};
use penstock_live::{
    DIFFERENCES_KEPT, Difference, RereadError, Trouble, Verified, Verifier, VerifyPlan,
    give_up_record, record_beside,
};

use crate::failure::Failure;
use crate::place::live_target::Live;
use crate::place::model_data::{Medium, ModelData, ModelPlan};
use crate::place::{Backend, Place};
use crate::progress::report::Progress;
use crate::result::{Ended, RunResult, VerifyResult};

/// Checks that the data of `job` can be verified at `place`. `read_only`: the target is opened for
/// reading only.
pub(crate) fn check(job: &Job, place: &Place, read_only: bool) -> Result<(), Failure> {
    if !job.is_verified() {
        return Ok(());
    }
    if job.live.lay_out && !place.targets().is_empty() {
        let message =
            "`verify` does not go with live.lay_out: what is verified would be written over";
        return Err(Failure::wrong(message, "leave live.lay_out out, or leave `verify` out"));
    }
    if place.targets().is_empty() {
        let agents = job.workload.agents();
        let kept = match place.backend() {
            Backend::Null => Err("it keeps no data"),
            _ if agents.iter().any(|agent| agent.verify.is_some_and(Verify::stamps)) => Ok(()),
            _ => Err("a model keeps no data of earlier runs"),
        };
        return match kept {
            Ok(()) => ranges(job, place).map(drop),
            Err(why) => {
                Ok(agents.iter().try_for_each(|agent| agent.unverified(place.name(), why))?)
            }
        };
    }
    if read_only {
        let message = "`verify` does not go with --read-only: the target is not locked, and another run \
                       may write to it";
        return Err(Failure::wrong(message, "leave --read-only out, or leave `verify` out"));
    }
    let several = place.targets().len();
    if let Some(record) = job.live.verify_record.as_ref().filter(|_| several > 1) {
        let message = format!("live.verify_record is {record}, and the job has {several} targets");
        return Err(Failure::wrong(message, "leave it out: each target has its record next to it"));
    }
    ranges(job, place).map(drop)
}

/// The ranges that a run of `job` verifies on each target of `place`.
fn ranges(job: &Job, place: &Place) -> Result<Vec<VerifiedRanges>, Failure> {
    let devices = place.extents(job.workload.lane_names().len())?;
    let ranges = job.verified_over(&devices)?;
    Ok(devices.iter().map(|device| ranges.within(*device)).collect())
}

/// The verifiers of a run's data.
pub(crate) enum Verification {
    /// The data is not verified.
    Off,
    /// A verifier for each target.
    Targets(Vec<Verifier>),
    Models(ModelPlan),
}

/// Prepares the verification of a run of `job` at `place` with this `seed`. If the data is not
/// verified and the run `writes`, the records of earlier runs become invalid and are given up.
pub(crate) fn of_run(
    job: &Job,
    place: &Place,
    writes: bool,
    seed: u64,
) -> Result<Verification, Failure> {
    if !job.is_verified() {
        let lays_out = |live: &Live| job.live.lay_out && live.target.is_owned_file();
        for live in place.targets().iter().filter(|live| writes || lays_out(live)) {
            let record = record(job, live);
            give_up_record(&record).map_err(|error| Failure::unwritable(&record, &error))?;
        }
        return Ok(Verification::Off);
    }
    if place.targets().is_empty() {
        return Ok(Verification::Models(of_models(job, place, seed)?));
    }
    let corrupt = place.model().and_then(|(spec, _)| corruption(spec, seed, 0));
    let open = |(live, ranges): (&Live, VerifiedRanges)| {
        let (record, VerifiedRanges { stamped, checked, read_again }) = (record(job, live), ranges);
        let name = live.target.path().file_name().unwrap_or_default().to_string_lossy();
        let plan = VerifyPlan {
            record: &record,
            name: &name,
            seed: Seed(seed),
            stamped,
            checked,
            read_again,
            corrupt: corrupt.clone(),
        };
        Ok(Verifier::open(&live.target, plan)?)
    };
    let verifiers: Result<_, Failure> =
        place.targets().iter().zip(ranges(job, place)?).map(open).collect();
    verifiers.map(Verification::Targets)
}

/// The plan for verifying the models of `place`.
fn of_models(job: &Job, place: &Place, seed: u64) -> Result<ModelPlan, Failure> {
    let names = job.workload.lane_names();
    let extents = place.extents(names.len())?;
    let specs = place.models(names.len());
    let medium = |(number, extent): (usize, &Extent)| {
        let spec = specs.get(number).copied().or_else(|| place.model().map(|(spec, _)| spec));
        Medium {
            name: names.get(number).map_or_else(|| place.name(), String::as_str).into(),
            base: extent.base,
            corrupt: spec.and_then(|spec| corruption(spec, seed, number)),
        }
    };
    let models = extents.iter().enumerate().map(medium).collect();
    Ok(ModelPlan { ranges: job.verified_over(&extents)?, models })
}

/// Probability and random numbers with which the device `number`, a `spec`, corrupts data.
fn corruption(spec: &DeviceSpec, seed: u64, number: usize) -> Option<(f64, Rng)> {
    spec.faults.and_then(|faults| faults.corruption(Seed(seed), number as u64))
}

/// The path of the record of the target `live`.
fn record(job: &Job, live: &Live) -> PathBuf {
    if let Some(path) = &job.live.verify_record {
        return path.into();
    }
    let path = live.target.path();
    let is_device = std::fs::metadata(path).is_ok_and(|meta| meta.file_type().is_block_device());
    let name = path.file_name().filter(|_| is_device);
    name.map_or_else(|| record_beside(path), |name| record_beside(&state_folder().join(name)))
}

/// The folder for a program's state, which is no file of the user's own (XDG Base Directory
/// Specification).
fn state_folder() -> PathBuf {
    let folder = |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let state =
        folder("XDG_STATE_HOME").or_else(|| folder("HOME").map(|home| home.join(".local/state")));
    state.unwrap_or_else(|| Path::new("/var/lib").into()).join("penstock")
}

/// Reads the written blocks again, unless the run ended early, and adds what the `verifiers` of the
/// targets of `place` found to `result`.
pub(crate) fn finished(
    verifiers: &[Verifier],
    job: &Job,
    place: &Place,
    mut result: RunResult,
    progress: &mut dyn Progress,
) -> Result<RunResult, Failure> {
    let targets = place.targets();
    for (verifier, live) in verifiers.iter().zip(targets) {
        if result.interrupted || result.failure.is_some() {
            break;
        }
        let complete = verifier.read_again(&live.target, &mut |_, _| progress.update(1.0, None))?;
        if !complete {
            result.interrupted = true;
            result.ended = Some(Ended::Asked);
        }
        if let Some(difference) = verifier.differences().into_iter().next() {
            differs(&mut result, Trouble::Differs(difference).to_string());
        }
    }
    let counts: Vec<_> = verifiers.iter().map(Verifier::verified).collect();
    let sum = |count: fn(&Verified) -> u64| counts.iter().map(count).sum();
    let verified = Verified {
        written: sum(|verified| verified.written),
        checked: sum(|verified| verified.checked),
        unchecked: sum(|verified| verified.unchecked),
        read_again: sum(|verified| verified.read_again),
        different: sum(|verified| verified.different),
    };
    let differences = verifiers.iter().flat_map(Verifier::differences).collect();
    let records = targets.iter().map(|live| record(job, live).display().to_string()).collect();
    write(&mut result, records, verified, differences);
    Ok(result)
}

/// Reads the data of the models again, unless the run ended early, and adds what was found to
/// `result`.
pub(crate) fn finished_on_models(data: &ModelData, mut result: RunResult) -> RunResult {
    if !data.differs() && !result.interrupted && result.failure.is_none() {
        data.read_again();
    }
    let (verified, differences) = data.found();
    if let Some(Difference { path, offset, expected, found }) = differences.first() {
        let path = path.display();
        let message = format!(
            "{path}: found {found} in the block at byte {offset}; expected {expected}\n\
             hint: the model changes data, as its `faults` say"
        );
        differs(&mut result, message);
    }
    write(&mut result, Vec::new(), verified, differences);
    result
}

/// Marks `result` as that of a run that ended with a difference.
fn differs(result: &mut RunResult, message: String) {
    result.interrupted = true;
    result.ended = Some(Ended::Differs);
    result.failure = Some(message);
}

fn write(
    result: &mut RunResult,
    records: Vec<String>,
    verified: Verified,
    differences: Vec<Difference>,
) {
    let Verified { written, checked, unchecked, read_again, different } = verified;
    if unchecked > 0 && checked == 0 {
        result.remarks.push(
            "no block that was read could be checked: no verified write of them is recorded".into(),
        );
    }
    let differences = differences.into_iter().take(DIFFERENCES_KEPT).map(Into::into).collect();
    result.verify = Some(VerifyResult {
        records,
        written,
        checked,
        unchecked,
        read_again,
        different,
        differences,
    });
}

impl From<RereadError> for Failure {
    fn from(error: RereadError) -> Self {
        match error {
            RereadError::Engine(error) => error.into(),
            RereadError::System { .. } => Self::run(error),
        }
    }
}
