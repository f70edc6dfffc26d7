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

/// Adds to each run of a served policy among `runs` what the way through the kernel adds to the latency under that
/// policy in this process, if that is among them.
pub(crate) fn prices(policies: &[Chosen], runs: &mut [RunResult]) {
    for (number, policy) in policies.iter().enumerate() {
        let Chosen::Served(entry, ..) = policy else { continue };
        let same =
            |other: &Chosen| matches!(other, Chosen::Known(known, _) if known.name == entry.name);
        let Some(inside) = policies.iter().position(same) else { continue };
        if number.max(inside) >= runs.len() {
            continue;
        }
        let prices: Vec<String> =
            runs[number].classes.iter().zip(&runs[inside].classes).filter_map(price).collect();
        if !prices.is_empty() {
            let prices = prices.join(", ");
            let remark = format!("the way through the kernel, against {}: {prices}", entry.name);
            runs[number].remarks.push(remark);
        }
    }
}

/// The difference of the medians of a class on a served device and in this process.
fn price((served, inside): (&ClassResult, &ClassResult)) -> Option<String> {
    if served.requests == 0 || inside.requests == 0 {
        return None;
    }
    let median = |class: &ClassResult| class.lat_ns.percentile["50.000000"] as f64 / 1e3;
    let (through, within) = (median(served), median(inside));
    Some(format!("{} {:+.0} µs at the median", served.name, through - within))
}
