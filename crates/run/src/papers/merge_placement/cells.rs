//! Jobs with merges in many settings.

use serde::Serialize;

use super::parallel;
use crate::failure::Failure;
use crate::options::Options;
use crate::result::{MergeResult, RunResult};
use crate::run::compare_text;

/// A job with merges under a policy, at one seed.
#[derive(Clone, Debug)]
pub struct MergeCell {
    /// What messages call the job.
    pub name: String,
    /// The job as TOML.
    pub text: String,
    /// Changes of it.
    pub sets: Vec<String>,
    /// The policy.
    pub policy: String,
}

/// What came of it.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub enum MergeCellResult {
    /// All jobs have finished.
    Finished {
        /// What they did.
        merge: MergeResult,
        /// The part of the time that each disk was busy.
        utilisation: Vec<f64>,
    },
    /// Every job waits for memory, and no request is outstanding.
    Deadlock {
        /// Which one, and for what.
        deadlock: String,
    },
}

/// Runs `cells` on all cores, in their order; fewer if `go_on` says no.
///
/// # Errors
/// [`Failure`]: wrong input, or a run that failed for another reason than a lack of memory.
pub fn merges(
    cells: &[MergeCell],
    go_on: &mut dyn FnMut() -> bool,
) -> Result<Vec<MergeCellResult>, Failure> {
    parallel::all(cells, one, go_on)
}

fn one(cell: &MergeCell) -> Result<MergeCellResult, Failure> {
    let options = Options { policies: vec![cell.policy.as_str().into()], ..Options::default() };
    match compare_text(&cell.name, &cell.text, &cell.sets, &options, &mut |_| true) {
        Ok(mut comparison) => {
            finished(comparison.runs.pop().expect("one policy, one round"), &cell.name)
        }
        Err(failure) if failure.is_deadlock() => {
            Ok(MergeCellResult::Deadlock { deadlock: failure.to_string() })
        }
        Err(failure) => Err(failure),
    }
}

fn finished(run: RunResult, name: &str) -> Result<MergeCellResult, Failure> {
    let Some(merge) = run.merge else {
        return Err(Failure::wrong(format_args!("{name} has no merges"), "it needs `[merge]`"));
    };
    let disks = run.device_stats.map_or_else(Vec::new, |stats| stats.disks);
    let utilisation = disks.iter().map(|disk| disk.own.utilisation).collect();
    Ok(MergeCellResult::Finished { merge, utilisation })
}
