//! Load on threads without a policy, on a device that another process serves through one: what unmodified
//! programs get if their disk is served.
//!
//! The other process gets the target of the run, open and locked as it is. In a process of its own it answers
//! even if this one is killed while it waits for the device.

use penstock_policy::{Entry, Params};

use super::independent;
use crate::ask::candidate::{AS_IS, Chosen};
use crate::failure::Failure;
use crate::place::Place;
use crate::place::block::BlockServer;
use crate::place::live_target::Live;
use crate::progress::report::Progress;
use crate::result::{ClassResult, RunResult};
use crate::session::runner::Runner;

/// The remark on what the policy of a served device sees.
const ONE_CLASS: &str = "the policy of a served device does not see the classes: all requests are of one, and only their \
                         length tells them apart";

/// Runs `runner` on a device over the target of `place`, whose requests the policy `entry` with `params` gets.
pub(crate) fn run(
    runner: &Runner<'_>,
    place: &Place,
    (entry, params): (&'static Entry, &Params),
    progress: &mut dyn Progress,
) -> Result<RunResult, Failure> {
    let [live] = place.targets() else {
        let message = format!("{} serves one real target", runner.policy.name());
        return Err(Failure::wrong(message, "put all files on one with --on"));
    };
    let depths = (runner.job.live.target_depth(), runner.job.block_depth);
    let server =
        BlockServer::over(live.server_words(), &live.target, (entry.name, params), depths)?;
    let device = Place::live(Live::over(live, server.node())?);
    let mut result = independent::run(runner, &device, (AS_IS, &[]), progress)?;
    if runner.load.classes.len() > 1 {
        result.remarks.push(ONE_CLASS.into());
    }
    Ok(result)
}

/// Sets what the way through the kernel adds to the latency of each class under a served policy, if `runs`, of one
/// round, have that policy in this process too.
pub(crate) fn price(policies: &[Chosen], runs: &mut [RunResult]) {
    for (number, policy) in policies.iter().enumerate().take(runs.len()) {
        let Chosen::Served(entry, ..) = policy else { continue };
        let is_same =
            |other: &Chosen| matches!(other, Chosen::Known(known, _) if known.name == entry.name);
        let inside = policies.iter().position(is_same).and_then(|inside| runs.get(inside));
        let medians: Vec<_> = inside.iter().flat_map(|run| &run.classes).map(median_ns).collect();
        for (class, inside_ns) in runs[number].classes.iter_mut().zip(medians) {
            class.added_ns = median_ns(class).zip(inside_ns).map(|(here, there)| here - there);
        }
    }
}

/// Returns the median latency of a class; `None` if none of its requests completed.
fn median_ns(class: &ClassResult) -> Option<i64> {
    (class.requests > 0).then(|| class.lat_ns.percentile["50.000000"].cast_signed())
}
