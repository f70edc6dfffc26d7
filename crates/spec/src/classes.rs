//! Classes of work as a job names them.

use penstock_core::ClassInfo;

use crate::diagnose::{JobError, quote};
use crate::tree::{Entry, Node, Reader, Value};

/// Keys of a class.
pub(crate) const CLASS_KEYS: &[&str] = &["weight", "prio"];
/// The greatest weight, as of cgroup v2's `io.weight`.
pub(crate) const WEIGHT_MOST: u64 = 10_000;
/// Lowest priority, as with the kernel's ioprio.
pub(crate) const PRIO_MOST: u64 = 7;
/// Each has a row in every table, and a megabyte for its distributions.
pub(crate) const CLASSES: usize = 256;

/// A class of work.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Class {
    /// As results name it.
    pub name: String,
    /// Its part of the device, relative to the other classes' weights.
    pub weight: u32,
    /// The lower goes first.
    pub prio: u8,
}

pub(crate) fn classes(node: &Node) -> Result<Vec<Class>, JobError> {
    let Value::Table(table) = &node.value else {
        return Err(node.expected("classes").hint("each has a section, as in `[class.batch]`"));
    };
    if let Some(entry) = table.entries.get(CLASSES) {
        let found = format!("{} classes; at most {CLASSES} may be", table.entries.len());
        let hint = "let agents and rules that are alike share a class";
        return Err(JobError::new(found).at(&entry.origin).hint(hint));
    }
    table.entries.iter().map(class).collect()
}

fn class(entry: &Entry) -> Result<Class, JobError> {
    let letters = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    let begins = entry.key.starts_with(|c: char| c.is_ascii_alphabetic());
    if !begins || !entry.key.chars().all(letters) {
        let found = format!("{} is no name of a class", quote(&entry.key));
        let hint = "a name is a letter, then letters, digits, `-` and `_`";
        return Err(JobError::new(found).at(&entry.origin).hint(hint));
    }
    let what = format!("class {}", entry.key);
    let reader = Reader::new(&entry.node, &what, CLASS_KEYS)?;
    let weight = reader.optional("weight", |node| node.count(1, WEIGHT_MOST))?;
    let prio = reader.optional("prio", |node| node.count(0, PRIO_MOST))?;
    Ok(Class {
        name: entry.key.clone(),
        weight: weight.map_or(ClassInfo::WEIGHT.get(), |weight| weight as u32),
        prio: prio.unwrap_or(0) as u8,
    })
}
