//! A disk's own queue: one of the registered policies before the disk, and the depth.

use penstock_core::{Policy, Served};
use penstock_policy::{Entry, MAX_SECTORS, POLICIES, Param, Params, Value as Set};
use serde_json::{Value as Json, json};

use crate::amount::Count;
use crate::describe::{any, table, with};
use crate::diagnose::JobError;
use crate::keys::{Declared, keys, names};
use crate::kinds::{Choice, Own};
use crate::params;
use crate::policy_keys;
use crate::reader::Reader;
use crate::rows::Rows;
use crate::text::{param, quoted};
use crate::tree::{Node, Value};

/// Default policy of a queue.
const USUAL: &str = "fcfs";

keys! {
    /// Keys of a queue, next to the parameters of its policy. No disk's queue is as deep as the
    /// deepest.
    KEYS:
    /// The way the disk picks the next command.
    POLICY policy: &'static str = Own {
        read: |node| {
            let found = params::policy(node.text("the name of a policy")?);
            found.map(|policy| policy.name).map_err(|error| error.at(&node.origin))
        },
        text: |name| quoted(name),
        schema: || json!({}),
    }, or USUAL;
    /// Commands that the disk holds at once.
    DEPTH depth: u32 = Count(1, 65_536), or 1;
    /// Time at which the overhead of a command is spent: `hidden`, while the command waits and the
    /// arm works, or `in-service`, when its turn has come.
    OVERHEAD overhead: bool = Choice(&[("hidden", true), ("in-service", false)]), or true;
}

/// A table of a queue.
pub(super) const KIND: Own<QueueSpec> = Own { read, text, schema };

/// A disk's own queue.
#[derive(Clone, PartialEq, Debug)]
pub struct QueueSpec {
    /// Name of a registered policy.
    pub policy: &'static str,
    /// Parameters of the policy.
    pub params: Params,
    /// Most commands that the disk holds, the one in service included.
    pub depth: u32,
    /// Whether the overhead of a waiting command is spent while the arm works for another one.
    pub hides_overhead: bool,
}

impl Default for QueueSpec {
    fn default() -> Self {
        let policy = penstock_policy::find(USUAL).expect("it is registered");
        Self { policy: policy.name, params: defaults(policy), depth: 1, hides_overhead: true }
    }
}

fn read(node: &Node) -> Result<QueueSpec, JobError> {
    let written = match &node.value {
        Value::Table(table) => table.get(POLICY.name).map(|entry| &entry.node),
        _ => None,
    };
    let policy = written.map_or(Ok(USUAL), |node| POLICY.kind.read(node))?;
    let entry = params::policy(policy)?;
    let mut known = names(&[KEYS]);
    known.extend(own(entry).map(|param| param.name));
    let reader = Reader::with(node, "the queue", known)?;
    let mut params = params::change(defaults(entry), own(entry), &reader, &no_device)?;
    let (depth, hides_overhead) = (reader.get(&DEPTH)?, reader.get(&OVERHEAD)?);
    if has(entry, DEPTH.name) {
        params.set(DEPTH.name, Set::Count(depth.into()));
    }
    Ok(QueueSpec { policy, params, depth, hides_overhead })
}

/// Refuses a device as the source of costs: a drive does not charge by the costs of another device.
fn no_device(node: &Node) -> Result<String, JobError> {
    Err(node.expected("a table or `off` in a drive's own queue"))
}

fn has(entry: &Entry, name: &str) -> bool {
    entry.params.iter().any(|param| param.name == name)
}

/// Whether a drive's own queue may have this parameter: a drive merges no commands, and the depth
/// of the policy is that of the queue.
fn is_own(name: &str) -> bool {
    name != MAX_SECTORS.name && name != DEPTH.name
}

/// Returns the parameters that a drive's own queue may have, including those that need a drive.
fn own(entry: &'static Entry) -> impl Iterator<Item = &'static Param> {
    let everywhere = entry.params.iter().filter(|param| is_own(param.name));
    everywhere.chain(entry.facts.in_drive)
}

/// Returns the default of each parameter in a drive's own queue.
fn defaults(entry: &'static Entry) -> Params {
    entry.unmerged(entry.defaults().and(Params::defaults(entry.facts.in_drive)))
}

/// Describes a queue: its parameters are those of its policy.
fn schema() -> Json {
    let queue_of = |entry: &'static Entry| {
        let name = with(POLICY.schema(), json!({"const": entry.name}));
        let overhead = (OVERHEAD.name, OVERHEAD.schema());
        let all = [(POLICY.name, name), (DEPTH.name, DEPTH.schema()), overhead];
        let table = table(all.into_iter().chain(policy_keys::properties(own(entry))));
        let named: &[&str] = if entry.name == USUAL { &[] } else { &[POLICY.name] };
        with(table, json!({"required": named}))
    };
    any(POLICIES.iter().map(queue_of).collect::<Vec<_>>())
}

fn text(queue: &QueueSpec) -> String {
    let rows = Rows::of(&[KEYS])
        .put(&POLICY, &queue.policy)
        .put(&DEPTH, &queue.depth)
        .put(&OVERHEAD, &queue.hides_overhead);
    let params = queue.params.iter().filter(|(name, _)| is_own(name));
    params.fold(rows, |rows, (name, value)| rows.param(name, param(value))).inline()
}

impl QueueSpec {
    /// Builds the policy; `None` for a depth of one command, which is no queue.
    pub(super) fn build(&self) -> Option<Box<dyn Policy>> {
        let entry = penstock_policy::find(self.policy).expect("checked when it was read");
        (self.depth > 1).then(|| (entry.build)(&self.params, &Served::ONE_DISK))
    }
}
