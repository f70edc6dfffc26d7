//! Reads the parameters of policies from a job or from arguments.

use std::path::Path;

use penstock_policy::{Entry, POLICIES, Params, Value};

use crate::classes::Class;
use crate::diagnose::{JobError, Source, quote};
use crate::kernel_tunables;
use crate::policy_keys::POLICY;
use crate::reader::Reader;
use crate::tree::{self, Node};
use crate::{named_device, params, sets};

/// Returns the parameters of every registered policy: the sections of `node` over the defaults.
/// Device files are relative to `folder`. A list of values has one for each of `classes`, if these
/// are known.
pub(crate) fn all(
    node: Option<&Node>,
    folder: &Path,
    classes: Option<&[Class]>,
) -> Result<Vec<(&'static str, Params)>, JobError> {
    let of_kernel = node.map(kernel_tunables::sections).into_iter().flatten().map(|(name, _)| name);
    let names = POLICIES.iter().map(|policy| policy.name).chain(of_kernel).collect();
    let reader = node.map(|node| Reader::sections(node, POLICY.name, names)).transpose()?;
    let params = |policy: &'static Entry| {
        let section = reader.as_ref().and_then(|reader| reader.named(policy.name));
        let params = match section {
            Some(section) => own(policy, section, folder, classes)?,
            None => policy.defaults(),
        };
        Ok((policy.name, params))
    };
    POLICIES.iter().map(params).collect()
}

/// Reads the parameters of `policy` from its section of a job.
pub(crate) fn own(
    policy: &'static Entry,
    section: &Node,
    folder: &Path,
    classes: Option<&[Class]>,
) -> Result<Params, JobError> {
    let names: Vec<&str> = policy.params.iter().map(|param| param.name).collect();
    let title = format!("policy {}", policy.name);
    let reader = Reader::with(section, &title, names)?;
    let params =
        params::read(policy.params, &reader, &|node| named_device::path_or_name(node, folder))?;
    let place = |param| &reader.named(param).unwrap_or(section).origin;
    for (name, value) in params.iter() {
        if let (Value::List(values), Some(classes)) = (value, classes)
            && values.len() != classes.len()
        {
            let message = format!("expected a value for each class, found {}", values.len());
            let names: Vec<String> = classes.iter().map(|class| quote(&class.name)).collect();
            let hint = format!("the classes are {}; one value holds for all", names.join(", "));
            return Err(JobError::new(message).at(place(*name)).hint(hint));
        }
    }
    match (policy.facts.conflict)(&params) {
        None => Ok(params),
        Some(conflict) => {
            Err(JobError::new(conflict.message).at(place(conflict.param)).hint(conflict.hint))
        }
    }
}

/// Returns the parameters of `policy`: `sets`, such as `split=64KiB`, over the defaults.
///
/// # Errors
/// An argument is wrong.
pub fn set(policy: &'static Entry, sets: &[String]) -> Result<Params, JobError> {
    let mut root = tree::parse(&Source::file("parameters", ""))?;
    for set in sets {
        sets::apply(&mut root, &format!("{}.{set}", policy.name), &[], 0)?;
    }
    let reader = Reader::new(&root, "the parameters", &[&[&POLICY]])?;
    let params = all(reader.node(&POLICY), Path::new(""), None)?
        .into_iter()
        .find(|(name, _)| *name == policy.name);
    Ok(params.expect("it is one of all").1)
}
