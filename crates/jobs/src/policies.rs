//! Reads the parameters of policies, and the tunables of the kernel's schedulers, from a job or from
//! arguments.

use std::path::Path;

use penstock_policy::{Entry, POLICIES, Params};

use crate::diagnose::{JobError, Source, quote};
use crate::policy_keys::POLICY;
use crate::reader::Reader;
use crate::tree::{self, KeyValue, Node, Value};
use crate::{named_device, params, sets};

/// Prefix of the name of a scheduler of the kernel.
pub const KERNEL: &str = "kernel:";

/// The tunables that a job sets for a scheduler of the kernel.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KernelTunables {
    /// The scheduler, as `bfq`.
    pub scheduler: String,
    /// The tunables, or attributes of the queue, with their values as `/sys` takes them.
    pub values: Vec<(String, String)>,
}

/// Returns the parameters of every registered policy: the sections of `node` over the defaults.
/// Device files are relative to `folder`.
pub(crate) fn all(
    node: Option<&Node>,
    folder: &Path,
) -> Result<Vec<(&'static str, Params)>, JobError> {
    let of_kernel = node.map(sections_of_kernel).into_iter().flatten().map(|(name, _)| name);
    let names = POLICIES.iter().map(|policy| policy.name).chain(of_kernel).collect();
    let reader = node.map(|node| Reader::sections(node, POLICY.name, names)).transpose()?;
    let params = |policy: &'static Entry| {
        let section = reader.as_ref().and_then(|reader| reader.named(policy.name));
        let params = match section {
            Some(section) => own(policy, section, folder)?,
            None => policy.defaults(),
        };
        Ok((policy.name, params))
    };
    POLICIES.iter().map(params).collect()
}

/// Returns the sections of the kernel's schedulers in `node`, which has those of all policies.
fn sections_of_kernel(node: &Node) -> impl Iterator<Item = (&str, &Node)> {
    let entries = if let Value::Table(table) = &node.value { &table.entries[..] } else { &[] };
    let entries = entries.iter().filter(|entry| entry.key.starts_with(KERNEL));
    entries.map(|entry| (entry.key.as_str(), &entry.node))
}

/// Returns the tunables that the sections of `node` set for the kernel's schedulers. The disk knows
/// which of them there are.
pub(crate) fn of_kernel(node: Option<&Node>) -> Result<Vec<KernelTunables>, JobError> {
    let tunables = |(name, section): (&str, &Node)| {
        let Value::Table(table) = &section.value else {
            return Err(section.expected(&format!("a table of tunables of {name}")));
        };
        let value = |node: &Node| match &node.value {
            Value::Text(text) | Value::Word(text) if is_plain(text) => Ok(text.clone()),
            Value::Integer(number) => Ok(number.to_string()),
            _ => Err(node.expected("a number or a word, as /sys has it")),
        };
        let key = |entry: &KeyValue| {
            let is_name = |text: &str| text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
            if !entry.key.is_empty() && is_name(&entry.key) {
                return Ok(entry.key.clone());
            }
            let message = format!("expected a tunable of {name}, found {}", quote(&entry.key));
            Err(JobError::new(message).at(&entry.origin).hint("as low_latency or nr_requests"))
        };
        let values = table.entries.iter().map(|entry| Ok((key(entry)?, value(&entry.node)?)));
        let scheduler = name.strip_prefix(KERNEL).unwrap_or(name).to_owned();
        Ok(KernelTunables { scheduler, values: values.collect::<Result<_, JobError>>()? })
    };
    node.map(sections_of_kernel).into_iter().flatten().map(tunables).collect()
}

/// Whether `text` is a value of one word on one line.
fn is_plain(text: &str) -> bool {
    !text.is_empty() && !text.contains(char::is_whitespace)
}

/// Reads the parameters of `policy` from its section of a job.
fn own(policy: &'static Entry, section: &Node, folder: &Path) -> Result<Params, JobError> {
    let names: Vec<&str> = policy.params.iter().map(|param| param.name).collect();
    let title = format!("policy {}", policy.name);
    let reader = Reader::with(section, &title, names)?;
    let params =
        params::read(policy.params, &reader, &|node| named_device::path_or_name(node, folder))?;
    match (policy.facts.conflict)(&params) {
        None => Ok(params),
        Some(conflict) => {
            let place = reader.named(conflict.param).unwrap_or(section);
            Err(JobError::new(conflict.message).at(&place.origin).hint(conflict.hint))
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
    let params = all(reader.node(&POLICY), Path::new(""))?
        .into_iter()
        .find(|(name, _)| *name == policy.name);
    Ok(params.expect("it is one of all").1)
}
