//! Checks for a run over several real targets, each of which has its own loop on its own thread.

use std::collections::BTreeSet;

use penstock_jobs::{AgentSpec, Job, Stop};

use crate::ask::options::Options;
use crate::failure::Failure;

/// Maximum number of agents in all loops: each loop has about a kilobyte for every agent of the
/// job.
const AGENTS_MOST: u64 = 1 << 22;

/// Checks that neither `job`, which has files on several targets, nor `options` need one loop for
/// all of them.
///
/// # Errors
/// The option that needs one loop, and why.
pub(crate) fn check(job: &Job, options: &Options) -> Result<(), Failure> {
    let lanes = job.workload.file_lanes();
    let targets = lanes.iter().max().map_or(1, |last| *last as u64 + 1);
    let agents = job.workload.streams() as u64;
    if agents.saturating_mul(targets) > AGENTS_MOST {
        let message = format!(
            "found {agents} agents on {targets} real targets; at most {} may be",
            AGENTS_MOST / targets
        );
        return Err(Failure::wrong(message, "lower `copies`, or the `count` of files"));
    }
    let refused = |what: String, hint: &str| {
        let message = format!("{what}, and each real target has a loop of its own");
        Err(Failure::wrong(message, hint))
    };
    if let Stop::Sent(class) = job.stop {
        let class = &job.classes[class.index()].name;
        let what = format!("stop = \"sent:{class}\" ends one loop at a request");
        return refused(what, "stop at a time, or with `last-arrival` or `drained`");
    }
    let in_turn = job.workload.agents().iter().filter(|agent| agent.takes_turns());
    let files = in_turn.flat_map(AgentSpec::file_numbers);
    let used: BTreeSet<usize> = files.map(|file| lanes[file as usize]).collect();
    if used.len() > 1 {
        let what = "agents of several targets take turns in one loop".into();
        return refused(what, "give them other arrivals, or one file: `file = \"data.0\"`");
    }
    if options.record.is_some() {
        return refused("a record is of one loop".into(), "leave the record out, or name a model");
    }
    if options.survey.is_some() {
        return refused("a cycle is of one queue".into(), "give the job one file: count = 1");
    }
    Ok(())
}
