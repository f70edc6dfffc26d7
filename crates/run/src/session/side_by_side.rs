//! The run of a job whose files are on several real targets: each has a policy, an engine, a clock and a loop
//! of its own, on a thread of its own.

use crate::failure::Failure;
use crate::place::Place;
use crate::progress::report::Progress;
use crate::result::RunResult;
use crate::session::runner::Runner;
use crate::session::threads::{self, ThreadTask};

/// Runs `runner` at `place`, with a thread for each file that has requests.
pub(crate) fn run(
    runner: &Runner<'_>,
    place: &Place,
    progress: &mut dyn Progress,
) -> Result<RunResult, Failure> {
    let loads = runner.load.split_by_lane();
    let tasks: Vec<_> = loads.into_iter().map(|load| ThreadTask::new(load, place)).collect();
    threads::check(runner, &tasks)?;
    threads::run(runner, place, &tasks, progress)
}
