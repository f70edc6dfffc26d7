//! Verification of a run's data: where it can be, the record that goes with a target, and what is said of it.
//!
//! The data itself is stamped and compared in `penstock_live`, between the stack and the engine. Here is what
//! comes before and after a run: the ranges of the job, the record, and the last pass.

use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use penstock_core::Seed;
use penstock_live::{RereadError, Trouble, Verifier, VerifyPlan, give_up_record, record_beside};
use penstock_spec::{Job, VerifiedRanges};

use crate::failure::Failure;
use crate::place::{Live, Place};
use crate::progress::Progress;
use crate::result::{Ended, RunResult, VerifyResult};

/// That the data of `job` can be verified at `place`, which is only to be read if it is `read_only`.
pub(crate) fn check(job: &Job, place: &Place, read_only: bool) -> Result<(), Failure> {
    if !job.is_verified() {
        return Ok(());
    }
    if place.live().is_none() {
        let why = match place {
            Place::Emulated { .. } => "a model without a file keeps no data",
            Place::Null => "it keeps no data",
            _ => "a model keeps no data",
        };
        let agents = job.workload.agents();
        return Ok(agents.iter().try_for_each(|agent| agent.unverified(place.name(), why))?);
    }
    if read_only {
        let message = "`verify` does not go with --read-only: the target is not locked, and another run \
                       may write to it";
        return Err(Failure::wrong(message, "leave --read-only out, or leave `verify` out"));
    }
    ranges(job, place).map(drop)
}

/// What of `place` is verified in a run of `job`.
fn ranges(job: &Job, place: &Place) -> Result<VerifiedRanges, Failure> {
    let devices = place.extents(job.workload.file_names().len())?;
    Ok(job.verified_over(&devices)?)
}

/// What verifies a run of `job` at `place` with this `seed`, if its data is. If it is not, and the run is one that
/// `writes`, the record of earlier ones is given up.
pub(crate) fn of_run(
    job: &Job,
    place: &Place,
    writes: bool,
    seed: u64,
) -> Result<Option<Verifier>, Failure> {
    let Some(live) = place.live() else { return Ok(None) };
    let record = record(job, live);
    if !job.is_verified() {
        if writes {
            give_up_record(&record).map_err(|error| Failure::unwritable(&record, &error))?;
        }
        return Ok(None);
    }
    let VerifiedRanges { stamped, checked, read_again } = ranges(job, place)?;
    let faults = place.model().and_then(|(spec, _)| spec.faults);
    let name = live.target.path().file_name().unwrap_or_default().to_string_lossy();
    let plan = VerifyPlan {
        record: &record,
        name: &name,
        seed: Seed(seed),
        stamped,
        checked,
        read_again,
        corrupt: faults.and_then(|faults| faults.corruption(Seed(seed))),
    };
    Ok(Some(Verifier::open(&live.target, plan)?))
}

/// Where the record of `live` is.
fn record(job: &Job, live: &Live) -> PathBuf {
    if let Some(path) = &job.live.verify_record {
        return path.into();
    }
    let path = live.target.path();
    let is_device = std::fs::metadata(path).is_ok_and(|meta| meta.file_type().is_block_device());
    let name = path.file_name().filter(|_| is_device);
    name.map_or_else(|| record_beside(path), |name| record_beside(&state_folder().join(name)))
}

/// Where a user's programs keep what is no file of the user's own (XDG Base Directory Specification).
fn state_folder() -> PathBuf {
    let folder = |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let state =
        folder("XDG_STATE_HOME").or_else(|| folder("HOME").map(|home| home.join(".local/state")));
    state.unwrap_or_else(|| Path::new("/var/lib").into()).join("penstock")
}

/// `result` of a run at `place`, with what `verifier` found: first it reads again what was written, unless the run
/// ended early.
pub(crate) fn finished(
    verifier: &Verifier,
    job: &Job,
    place: &Place,
    mut result: RunResult,
    progress: &mut dyn Progress,
) -> Result<RunResult, Failure> {
    let live = place.live().expect("only a target is verified");
    if !result.interrupted && result.failure.is_none() {
        let whole = verifier.read_again(&live.target, &mut |_, _| progress.update(1.0, None))?;
        if !whole {
            result.interrupted = true;
            result.ended = Some(Ended::Asked);
        }
        if let Some(difference) = verifier.differences().into_iter().next() {
            result.interrupted = true;
            result.ended = Some(Ended::Differs);
            result.failure = Some(Trouble::Differs(difference).to_string());
        }
    }
    let found = verifier.verified();
    if found.unchecked > 0 && found.checked == 0 {
        result.remarks.push(
            "no block that was read could be checked: no verified write of them is recorded".into(),
        );
    }
    result.verify = Some(VerifyResult {
        record: record(job, live).display().to_string(),
        written: found.written,
        checked: found.checked,
        unchecked: found.unchecked,
        read_again: found.read_again,
        different: found.different,
        differences: verifier.differences().into_iter().map(Into::into).collect(),
    });
    Ok(result)
}

impl From<RereadError> for Failure {
    fn from(error: RereadError) -> Self {
        match error {
            RereadError::Engine(error) => error.into(),
            RereadError::System { .. } => Self::run(error),
        }
    }
}
