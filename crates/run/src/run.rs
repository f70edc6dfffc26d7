//! From a job to results: one workload under each policy, on a model or on a real target.

use std::path::Path;

use penstock_jobs::{Job, machines};

use crate::failure::Failure;
use crate::options::Options;
use crate::result::Comparison;
use crate::session::Session;
use crate::step::Step;
use crate::target_options::EMULATED;

/// Runs the job at `path`, changed by `sets`, under each policy of `options`.
///
/// `progress` is called with each step, some times a second; if it returns `false` the run ends and
/// the result so far is returned, marked as interrupted.
///
/// # Errors
/// [`Failure`]: wrong input, an unsafe target, a machine that cannot, or a run that failed.
pub fn compare(
    path: &Path,
    sets: &[String],
    options: &Options,
    progress: &mut dyn FnMut(Step<'_>) -> bool,
) -> Result<Comparison, Failure> {
    let (changes, options) = of_the_device(sets, options)?;
    compare_job(Job::load(path, &changes)?, sets, &options, progress)
}

/// The same with the job's text at hand: errors and results call it `name`, and a device file that
/// it names lies in the folder of `name`.
///
/// # Errors
/// [`Failure`], as from [`compare`].
pub fn compare_text(
    name: &str,
    text: &str,
    sets: &[String],
    options: &Options,
    progress: &mut dyn FnMut(Step<'_>) -> bool,
) -> Result<Comparison, Failure> {
    let (changes, options) = of_the_device(sets, options)?;
    compare_job(Job::parse(name, text, &changes)?, sets, &options, progress)
}

/// Changes of a device are changes of the one that runs: where another model takes the place of the
/// job's, it becomes the job's. So does a machine.
pub(crate) fn of_the_device(
    sets: &[String],
    options: &Options,
) -> Result<(Vec<String>, Options), Failure> {
    let (mut sets, mut options) = (sets.to_vec(), options.clone());
    if sets.iter().any(|set| set.trim_start().starts_with("device.")) {
        if let Some(on) = options.target.on.as_deref().filter(|on| on.starts_with(EMULATED)) {
            let message = format!("--set changes no part of {on}");
            let hint = "change a device file: `penstock show device NAME` prints one";
            return Err(Failure::wrong(message, hint));
        }
        sets.splice(0..0, options.target.take_device());
    } else if let Some(on) = options.target.on.as_deref().filter(|on| !on.starts_with(EMULATED))
        && machines::find(on)?.is_some()
    {
        // A job's files lie on the devices of its machine.
        sets.splice(0..0, options.target.take_device());
    }
    Ok((sets, options))
}

fn compare_job(
    job: Job,
    sets: &[String],
    options: &Options,
    progress: &mut dyn FnMut(Step<'_>) -> bool,
) -> Result<Comparison, Failure> {
    let variants = [job.into()];
    let session = Session::open(options.clone(), &variants, progress)?;
    let (_, mut comparisons) = session.run(&variants, progress)?;
    let mut comparison = comparisons.pop().expect("one for the job");
    comparison.job.set = sets.to_vec();
    Ok(comparison)
}
