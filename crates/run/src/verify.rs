//! Verification of a run's data: where it can be, the record that goes with a target, and what is said of it.
//!
//! The data itself is stamped and compared in `penstock_live`, between the stack and the engine. Here is what
//! comes before and after a run: the ranges of the job, the record, and the last pass.

use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use penstock_core::Seed;
use penstock_live::{
    RereadError, Trouble, Verified, Verifier, VerifyPlan, give_up_record, record_beside,
};
use penstock_spec::{Job, VerifiedRanges};

use crate::failure::Failure;
use crate::live_target::Live;
use crate::place::Place;
use crate::progress::Progress;
use crate::result::{Ended, RunResult, VerifyResult};

/// Differences that a result has at most.
const DIFFERENCES_MOST: usize = 16;

/// That the data of `job` can be verified at `place`, which is only to be read if it is `read_only`.
pub(crate) fn check(job: &Job, place: &Place, read_only: bool) -> Result<(), Failure> {
    if !job.is_verified() {
        return Ok(());
    }
    if place.targets().is_empty() {
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
    let several = place.targets().len();
    if let Some(record) = job.live.verify_record.as_ref().filter(|_| several > 1) {
        let message = format!("live.verify_record is {record}, and the job has {several} targets");
        return Err(Failure::wrong(message, "leave it out: each target has its record next to it"));
    }
    ranges(job, place).map(drop)
}

/// What is verified in a run of `job` on each target of `place`.
fn ranges(job: &Job, place: &Place) -> Result<Vec<VerifiedRanges>, Failure> {
    let devices = place.extents(job.workload.file_names().len())?;
    let ranges = job.verified_over(&devices)?;
    Ok(devices.iter().map(|device| ranges.within(*device)).collect())
}

/// What verifies a run of `job` on each target of `place` with this `seed`, if its data is. If it is not, and the run
/// is one that `writes`, the records of earlier ones are given up.
pub(crate) fn of_run(
    job: &Job,
    place: &Place,
    writes: bool,
    seed: u64,
) -> Result<Vec<Verifier>, Failure> {
    if !job.is_verified() {
        for live in place.targets().iter().filter(|_| writes) {
            let record = record(job, live);
            give_up_record(&record).map_err(|error| Failure::unwritable(&record, &error))?;
        }
        return Ok(Vec::new());
    }
    let faults = place.model().and_then(|(spec, _)| spec.faults);
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
            corrupt: faults.and_then(|faults| faults.corruption(Seed(seed))),
        };
        Ok(Verifier::open(&live.target, plan)?)
    };
    place.targets().iter().zip(ranges(job, place)?).map(open).collect()
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

/// `result` of a run at `place`, with what `verifiers` of its targets found: first they read again what was written,
/// unless the run ended early.
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
    let found: Vec<_> = verifiers.iter().map(Verifier::verified).collect();
    let sum = |of: fn(&Verified) -> u64| found.iter().map(of).sum();
    let mut differences: Vec<_> = verifiers.iter().flat_map(Verifier::differences).collect();
    differences.truncate(DIFFERENCES_MOST);
    let all = VerifyResult {
        records: targets.iter().map(|live| record(job, live).display().to_string()).collect(),
        written: sum(|one| one.written),
        checked: sum(|one| one.checked),
        unchecked: sum(|one| one.unchecked),
        read_again: sum(|one| one.read_again),
        different: sum(|one| one.different),
        differences: differences.into_iter().map(Into::into).collect(),
    };
    if all.unchecked > 0 && all.checked == 0 {
        result.remarks.push(
            "no block that was read could be checked: no verified write of them is recorded".into(),
        );
    }
    result.verify = Some(all);
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
