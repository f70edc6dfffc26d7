//! Tunables of the kernel's schedulers, which a job sets in the sections of policies, as
//! `[policy."kernel:bfq"]`.

use crate::diagnose::{JobError, quote};
use crate::tree::{KeyValue, Node, Value};

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

/// Returns the sections of the kernel's schedulers in `node`, which has those of all policies.
pub(crate) fn sections(node: &Node) -> impl Iterator<Item = (&str, &Node)> {
    let entries = if let Value::Table(table) = &node.value { &table.entries[..] } else { &[] };
    let entries = entries.iter().filter(|entry| entry.key.starts_with(KERNEL));
    entries.map(|entry| (entry.key.as_str(), &entry.node))
}

/// Returns the tunables that the sections of `node` set for the kernel's schedulers. The disk knows
/// which of them there are.
pub(crate) fn all(node: Option<&Node>) -> Result<Vec<KernelTunables>, JobError> {
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
    node.map(sections).into_iter().flatten().map(tunables).collect()
}

/// Whether `text` is a value of one word on one line.
fn is_plain(text: &str) -> bool {
    !text.is_empty() && !text.contains(char::is_whitespace)
}
