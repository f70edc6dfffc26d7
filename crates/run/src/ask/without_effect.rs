//! Remarks about weights and I/O priorities of a job that none of its policies uses.

use penstock_jobs::diagnose::quote;
use penstock_jobs::{Class, Job};
use penstock_policy::Facts;

use crate::ask::candidate::Chosen;

/// The remarks in results about weights and I/O priorities of `job` that none of `policies` uses.
pub(crate) fn remarks(job: &Job, policies: &[Chosen]) -> Vec<String> {
    let weight = |class: &Class| class.weight() != class.usual_weight();
    let ioprio = |class: &Class| class.has_ioprio();
    [
        remark(job, policies, ["weight", "weights"], weight, |facts| facts.heeds_weights),
        remark(job, policies, ["ioprio", "I/O priorities"], ioprio, |facts| facts.heeds_ioprio),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// The remark that no policy uses an option that classes have (`one`, or `several` of it).
fn remark(
    job: &Job,
    policies: &[Chosen],
    [one, several]: [&str; 2],
    given: fn(&Class) -> bool,
    heeds: fn(&Facts) -> bool,
) -> Option<String> {
    let classes = job.classes.iter().filter(|class| given(class));
    let classes: Vec<String> = classes.map(|class| quote(&class.name)).collect();
    if classes.is_empty() || policies.iter().any(|policy| policy.heeds(heeds)) {
        return None;
    }
    let what = match &classes[..] {
        [class] => format!("{one} of class {class} has"),
        many => format!("{several} of classes {} have", many.join(", ")),
    };
    let why = match policies {
        [policy] => format!("{} does not use {several}", policy.name()),
        many => {
            let names: Vec<&str> = many.iter().map(Chosen::name).collect();
            format!("none of the policies {} uses {several}", names.join(", "))
        }
    };
    Some(format!("{what} no effect: {why}"))
}
