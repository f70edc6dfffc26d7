//! What a run over several real targets cannot have: each has a loop of its own, on a thread of its own.

use std::collections::BTreeSet;

use penstock_spec::{AgentSpec, Job, Stop};

use crate::failure::Failure;
use crate::options::Options;

/// That neither `job`, which has several files, nor `options` need one loop for all of them.
///
/// # Errors
/// What they have that needs one, and why.
pub(crate) fn check(job: &Job, options: &Options) -> Result<(), Failure> {
    let refused = |what: String, hint: &str| {
        let message = format!("{what}, and each file on a real target has a loop of its own");
        Err(Failure::wrong(message, hint))
    };
    if let Stop::Sent(class) = job.stop {
        let class = &job.classes[class.index()].name;
        let what = format!("stop = \"sent:{class}\" ends one loop at a request");
        return refused(what, "stop at a time, or with `last-arrival` or `drained`");
    }
    let in_turn = job.workload.agents().iter().filter(|agent| agent.takes_turns());
    let files: BTreeSet<u32> = in_turn.flat_map(AgentSpec::file_numbers).collect();
    if files.len() > 1 {
        let what = "agents of several files take turns in one loop".into();
        return refused(what, "give them other arrivals, or one file: `file = \"data.0\"`");
    }
    if options.record.is_some() {
        return refused("a record is of one loop".into(), "leave the record out, or name a model");
    }
    if options.watch.is_some() {
        let hint = "run it without: `penstock run`; or watch it on a model";
        return refused("`penstock watch` shows one loop".into(), hint);
    }
    if options.stability {
        return refused("a cycle is of one queue".into(), "give the job one file: count = 1");
    }
    Ok(())
}
