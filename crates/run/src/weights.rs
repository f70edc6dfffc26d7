//! A remark about weights of a job that none of its policies uses.

use penstock_core::ClassInfo;
use penstock_spec::Job;
use penstock_spec::diagnose::quote;

use crate::candidate::Chosen;

/// What a result says of the weights of `job` if none of `policies` uses them.
pub(crate) fn without_effect(job: &Job, policies: &[Chosen]) -> Option<String> {
    let written = job.classes.iter().filter(|class| class.weight != ClassInfo::WEIGHT.get());
    let written: Vec<String> = written.map(|class| quote(&class.name)).collect();
    if written.is_empty() || policies.iter().any(Chosen::heeds_weights) {
        return None;
    }
    let what = match &written[..] {
        [one] => format!("weight of class {one} has"),
        many => format!("weights of classes {} have", many.join(", ")),
    };
    let why = match policies {
        [one] => format!("{} does not use weights", one.name()),
        many => {
            let names: Vec<&str> = many.iter().map(Chosen::name).collect();
            format!("none of the policies {} uses weights", names.join(", "))
        }
    };
    Some(format!("{what} no effect: {why}"))
}
