//! Entry points that run a job: one workload under each policy, on a model or on a real target.

use std::path::Path;

use crate::ask::options::Options;
use crate::failure::Failure;
use crate::progress::step::Step;
use crate::result::Comparison;
use crate::session::{Session, Variant};

/// Runs the job at `path`, changed by `sets`, under each policy of `options`.
///
/// `progress` is called with each step, several times a second. If it returns `false` the run ends
/// and the result so far is returned, marked as interrupted.
///
/// # Errors
/// [`Failure`]: wrong input, an unsafe target, a machine that cannot, or a run that failed.
pub fn compare(
    path: &Path,
    sets: &[String],
    options: &Options,
    progress: &mut dyn FnMut(Step<'_>) -> bool,
) -> Result<Comparison, Failure> {
    compare_variant(Variant::load(path, sets, &options.target)?, options, progress)
}

/// Runs the job `text` under each policy of `options`. Errors and results call the job `name`, and
/// a device file that it names lies in the folder of `name`.
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
    compare_variant(Variant::parse(name, text, sets, &options.target)?, options, progress)
}

fn compare_variant(
    variant: Variant,
    options: &Options,
    progress: &mut dyn FnMut(Step<'_>) -> bool,
) -> Result<Comparison, Failure> {
    let variants = [variant];
    let session = Session::open(options.clone(), &variants, progress)?;
    let (_, mut comparisons) = session.run(&variants, progress)?;
    Ok(comparisons.pop().expect("one for the job"))
}
