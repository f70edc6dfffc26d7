//! A disk's own queue: a policy of ours before the disk, and how much it holds.

use penstock_core::{Policy, Served};
use penstock_policy::{Entry, POLICIES, Params};
use serde_json::{Value as Json, json};

use crate::diagnose::JobError;
use crate::params;
use crate::schema::build::{any, count, field, required, table, with};
use crate::schema::policy;
use crate::text::members;
use crate::tree::{Node, Reader, Value};

/// Keys of a queue, beside the parameters of its policy.
const KEYS: [&str; 2] = ["policy", "depth"];
/// The policy of a queue that does not name one.
const POLICY: &str = "fcfs";
/// Commands that a disk's own queue holds at most: far more than any disk's.
const MOST: u64 = 65_536;

/// A disk's own queue.
#[derive(Clone, PartialEq, Debug)]
pub struct QueueSpec {
    /// A registered policy.
    pub policy: &'static str,
    /// Its parameters.
    pub params: Params,
    /// Commands that the disk holds at once, the one in service included.
    pub depth: u32,
}

impl Default for QueueSpec {
    fn default() -> Self {
        let policy = penstock_policy::find(POLICY).expect("it is registered");
        Self { policy: policy.name, params: policy.defaults(), depth: 1 }
    }
}

pub(super) fn read(node: &Node) -> Result<QueueSpec, JobError> {
    let written = match &node.value {
        Value::Table(table) => table.get("policy").map(|entry| &entry.node),
        _ => None,
    };
    let policy = match written {
        Some(node) => params::policy(node.text("the name of a policy")?)
            .map_err(|error| error.at(&node.origin))?,
        None => params::policy(POLICY)?,
    };
    let own = policy.params.iter().map(|param| param.name);
    let keys: Vec<&str> = KEYS.into_iter().chain(own).collect();
    let reader = Reader::new(node, "the queue", &keys)?;
    let depth = reader.optional("depth", |node| node.count(1, MOST))?.unwrap_or(1) as u32;
    Ok(QueueSpec { policy: policy.name, params: params::read(policy.params, &reader)?, depth })
}

/// The parameters that a queue may have are those of its policy.
pub(super) fn schema() -> Json {
    let of = |entry: &'static Entry| {
        let keys = KEYS.into_iter().chain(entry.params.iter().map(|param| param.name));
        let name = json!({"const": entry.name});
        let own = [
            field("policy", "How it picks.", name).or(POLICY),
            field("depth", "Commands that the disk holds at once.", count(1, MOST)).or(1),
        ];
        let fields = own.into_iter().chain(policy::fields(entry.params)).collect();
        let named: &[&str] = if entry.name == POLICY { &[] } else { &["policy"] };
        with(table(keys, fields), required(named))
    };
    any(POLICIES.iter().map(of).collect::<Vec<_>>())
}

impl QueueSpec {
    pub(super) fn text(&self) -> String {
        let head = format!("policy = \"{}\", depth = {}", self.policy, self.depth);
        let params = members(&self.params);
        let comma = if params.is_empty() { "" } else { ", " };
        format!("{{ {head}{comma}{params} }}")
    }

    /// The policy that picks; none if the queue is of one command, which is no queue.
    pub(super) fn build(&self) -> Option<Box<dyn Policy>> {
        let entry = penstock_policy::find(self.policy).expect("checked when it was read");
        (self.depth > 1).then(|| (entry.build)(&self.params, &Served::ONE_DISK))
    }
}
