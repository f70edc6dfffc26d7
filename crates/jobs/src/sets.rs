//! Applies `--set key=value` to a job before it is read.
//!
//! The key is a path in the job (`duration`, `agent.0.size`, `class.tellers.weight`) or a parameter
//! of a policy (`size-priority.split`) or of a scheduler of the kernel (`kernel:bfq.low_latency`). An
//! agent with a name may be addressed by it
//! (`agent.reader.size`), and `*` stands for every agent, file or program (`agent.*.cache`). A part
//! of a device may be addressed if the job names the device or its file (`device.queue.depth`);
//! this includes the devices on which a trace is played (`trace.on.sda.queue.depth`) and those of
//! files (`file.data.device.queue.depth`). A step in double quotes may contain a dot or an equals
//! sign (`trace.on."hm.1"`). Keys of the `arrivals` of an agent or a program may be addressed
//! directly (`agent.0.rate`), unless the agent has a key of that name. A later argument wins over
//! an earlier one. Only the path to the key is checked here; the value is checked when the job is
//! read.

use std::ops::Range;
use std::path::Path;

use penstock_policy::POLICIES;

use crate::classes::CLASS;
use crate::devices;
use crate::diagnose::{JobError, Origin, Source, quote};
use crate::kernel_tunables::KERNEL;
use crate::keys::{Cases, foreign, names};
use crate::named_device;
use crate::nearest::suggest;
use crate::policy_keys::POLICY;
use crate::tree::{Node, Table, Value};
use crate::units::OFF;
use crate::workload::agents::{self, AGENT, NAME};
use crate::workload::arrivals;
use crate::workload::files::FILE;
use crate::workload::merge_kinds::GIVE_WAY;
use crate::workload::programs::{self, PROGRAM};
use crate::workload::quota;
use crate::workload::starts;
use crate::workload::timings::TIMINGS;

/// Applies one argument to the tree of a job, whose top-level keys are `known`. If the argument
/// changes a part of a device, which stands behind the first `device` steps, words on the path are
/// replaced by tables, such as the `drive` of the cache; 0 if it changes none.
pub(crate) fn apply(
    root: &mut Node,
    argument: &str,
    known: &[&str],
    device: usize,
) -> Result<(), JobError> {
    let source = Source::set(argument);
    let place = |span: Range<usize>| Origin::new(&source, span);
    let Some((key, value)) = split(argument) else {
        let message = format!("expected KEY=VALUE, found {}", quote(argument));
        let hint = "for example `duration=15s` or `size-priority.split=64KiB`";
        return Err(JobError::new(message).at(&place(0..argument.len())).hint(hint));
    };
    if let [b'{', ..] = value.trim().as_bytes() {
        let message = "a table is not set at once";
        let hint = format!("set each of its keys, as `{}.KEY=VALUE`", key.trim());
        return Err(JobError::new(message).at(&place(key.len() + 1..argument.len())).hint(hint));
    }
    let path = expand(segments(key, &place)?, known)?;
    let value = Node {
        value: Value::Word(value.trim().into()),
        origin: place(key.len() + 1..argument.len()),
    };
    for path in each(root, path)? {
        if device > 0 {
            give_way(root, &path, device);
        }
        set(root, &path, value.clone())?;
    }
    Ok(())
}

/// A step that stands for every item of a list.
const EVERY: &str = "*";

/// Replaces the step `*` in `path` by each item of its list.
fn each(root: &mut Node, path: Vec<Step>) -> Result<Vec<Vec<Step>>, JobError> {
    let Some(at) = path.iter().position(|step| step.key == EVERY) else { return Ok(vec![path]) };
    let list = path[..at].iter().try_fold(&mut *root, |node, step| below(node, &step.key));
    let count = match list.map(|node| &node.value) {
        Some(Value::List(items)) => items.len(),
        _ => 0,
    };
    if count == 0 {
        let keys: Vec<&str> = path[..at].iter().map(|step| step.key.as_str()).collect();
        let message = format!("the job has no list `{}` for `*`", keys.join("."));
        let hint = "`*` stands for every agent, file or program of the job, as in `agent.*.cache`";
        return Err(JobError::new(message).at(&path[at].origin).hint(hint));
    }
    let mut paths = Vec::new();
    for number in 0..count {
        let mut item = path.clone();
        item[at].key = number.to_string();
        paths.extend(each(root, item)?);
    }
    Ok(paths)
}

/// Splits an argument into key and value. Text in double quotes belongs to the key.
fn split(argument: &str) -> Option<(&str, &str)> {
    let mut quoted = false;
    let at = argument.find(|letter| {
        quoted ^= letter == '"';
        letter == '=' && !quoted
    })?;
    Some((&argument[..at], &argument[at + 1..]))
}

/// Splits a key at its dots, except those in double quotes.
fn parts(key: &str) -> impl Iterator<Item = &str> {
    let mut quoted = false;
    key.split(move |letter| {
        quoted ^= letter == '"';
        letter == '.' && !quoted
    })
}

/// Strips spaces and quotes from a part of a key.
fn bare(part: &str) -> &str {
    let part = part.trim();
    part.strip_prefix('"').and_then(|part| part.strip_suffix('"')).unwrap_or(part)
}

/// Returns a name as a step of a key, in quotes if needed.
pub(crate) fn step(name: &str) -> String {
    if name.contains(['.', '=']) { format!("\"{name}\"") } else { name.into() }
}

/// Returns the steps of an argument's key; none if the argument has no key.
pub(crate) fn steps(argument: &str) -> Vec<String> {
    let key = split(argument).map_or("", |(key, _)| key);
    parts(key).map(bare).map(Into::into).collect()
}

/// Replaces words along `path`, behind its first `device` steps, by empty tables.
fn give_way(root: &mut Node, path: &[Step], device: usize) {
    let mut node = root;
    for (depth, step) in path.iter().enumerate() {
        if depth > device && node.word().is_some() {
            node.value = Value::Table(Table::default());
        }
        let Some(below) = below(node, &step.key) else { return };
        node = below;
    }
}

/// A step of a path, with the place where it was written.
#[derive(Clone)]
struct Step {
    key: String,
    origin: Origin,
}

/// Lists of tables whose `arrivals` may be left out of a path, with the keys of those arrivals.
const LISTS: [(&str, &str, Cases); 2] = [
    (AGENT.name, agents::ARRIVALS.name, arrivals::CASES),
    (PROGRAM.name, programs::ARRIVALS.name, starts::CASES),
];

/// Returns the list that a path beginning with `first` addresses.
fn list(first: &Step) -> Option<&'static (&'static str, &'static str, Cases)> {
    LISTS.iter().find(|(name, ..)| *name == first.key)
}

/// Most steps of a path: more than any key of a job has.
const STEPS: usize = 8;

fn segments(key: &str, place: &impl Fn(Range<usize>) -> Origin) -> Result<Vec<Step>, JobError> {
    if parts(key).count() > STEPS {
        let error = JobError::new("the key has too many steps").at(&place(0..key.len()));
        return Err(error.hint(format!("a key has {STEPS} at most")));
    }
    let mut at = 0;
    let mut step = |part: &str| {
        let origin = place(at..at + part.len());
        at += part.len() + 1;
        match bare(part) {
            "" => Err(JobError::new("a key is empty").at(&origin).hint("write KEY=VALUE")),
            part => Ok(Step { key: part.into(), origin }),
        }
    };
    parts(key).map(&mut step).collect()
}

/// Completes a path: `policy` goes before `POLICY.param`, and `arrivals` before a key of theirs.
fn expand(mut path: Vec<Step>, known: &[&str]) -> Result<Vec<Step>, JobError> {
    let first = &path[0];
    let of_kernel = first.key.starts_with(KERNEL) && path.len() > 1;
    if of_kernel || POLICIES.iter().any(|policy| policy.name == first.key) {
        let policy = Step { key: POLICY.name.into(), origin: first.origin.clone() };
        path.insert(0, policy);
    } else if !known.contains(&first.key.as_str()) {
        let known = known.iter().copied().chain(POLICIES.iter().map(|policy| policy.name));
        let message = format!("unknown key {}: neither of the job nor a policy", quote(&first.key));
        return Err(JobError::new(message).at(&first.origin).hint(suggest(&first.key, known)));
    }
    if let [first, _, step, ..] = &path[..]
        && let Some((_, arrivals, cases)) = list(first)
        && names(&cases.keys()).contains(&step.key.as_str())
        && (first.key != AGENT.name || step.key != quota::COUNT.name)
    {
        path.insert(2, Step { key: (*arrivals).into(), origin: step.origin.clone() });
    }
    Ok(path)
}

fn set(root: &mut Node, path: &[Step], value: Node) -> Result<(), JobError> {
    let Some((last, above)) = path.split_last() else { return Ok(()) };
    let mut node = root;
    for (depth, step) in above.iter().enumerate() {
        node = descend(node, &path[..depth], step)?;
    }
    if let [first, _, _] = above
        && let Some((_, _, cases)) = list(first)
        && cases.head[0].name() == last.key
        && let (Some(kind), Value::Table(arrivals)) = (value.word(), &mut node.value)
    {
        change_kind(arrivals, cases, kind);
    }
    descend(node, above, last)?;
    match &mut node.value {
        Value::Table(table) => table.put(&last.key, &last.origin, value),
        _ => *descend(node, above, last)? = value,
    }
    Ok(())
}

/// Returns the value one step below; a table gets it if it lacks it.
fn descend<'a>(node: &'a mut Node, above: &[Step], step: &Step) -> Result<&'a mut Node, JobError> {
    let path = || above.iter().map(|step| step.key.as_str()).collect::<Vec<_>>().join(".");
    let fail = |message: String| JobError::new(message).at(&step.origin);
    // Setting one parameter of a group that is switched off switches the group on, and a word for a
    // whole table is replaced by the table.
    let gives_way = |word| word == OFF || TIMINGS.contains(&word) || GIVE_WAY.contains(&word);
    if node.word().is_some_and(gives_way) {
        node.value = Value::Table(Table::default());
    }
    let value = node.describe();
    match &mut node.value {
        // Classes are declared in the file: a misspelt name must not add a class.
        Value::Table(table) if path() == CLASS.name && table.get(&step.key).is_none() => {
            let known = table.entries.iter().map(|entry| entry.key.as_str());
            Err(fail(format!("unknown class {}", quote(&step.key))).hint(suggest(&step.key, known)))
        }
        Value::Table(table) => {
            let new = match above {
                [] if list(step).is_some() || step.key == FILE.name => Value::List(Vec::new()),
                _ => Value::Table(Table::default()),
            };
            Ok(table.get_or_insert(&step.key, &step.origin, new))
        }
        Value::List(items) => {
            let (path, count) = (path(), items.len());
            let called = items.iter().position(|item| name(item) == Some(&step.key));
            let number = || {
                step.key.parse::<usize>().map_err(|_| {
                    let message = format!(
                        "expected a number or a name behind `{path}`, found {}",
                        quote(&step.key)
                    );
                    let known: Vec<&str> = items.iter().filter_map(name).collect();
                    let hint = match &known[..] {
                        [] if count == 0 => "there are none".into(),
                        [] => format!("they are counted from 0, as in `{path}.0.{}`", step.key),
                        known => suggest(&step.key, known.iter().copied()),
                    };
                    fail(message).hint(hint)
                })
            };
            let index = called.map_or_else(number, Ok)?;
            items.get_mut(index).ok_or_else(|| {
                let hint = match count {
                    0 => "there are none".into(),
                    _ => format!("they are counted from 0, so the last is `{path}.{}`", count - 1),
                };
                fail(format!("there is no `{path}.{}`: the job has {count}", step.key)).hint(hint)
            })
        }
        _ => {
            let message = format!("`{}` is {value}, not a table", path());
            Err(fail(message).hint(format!("set `{}` itself", path())))
        }
    }
}

/// Returns the name of an item of a list, if it has one.
fn name(item: &Node) -> Option<&str> {
    match &item.value {
        Value::Table(table) => table.get(NAME.name)?.node.word(),
        _ => None,
    }
}

/// Returns the value at `key` of `node`; in a list, the item with this name or number.
fn below<'a>(node: &'a mut Node, key: &str) -> Option<&'a mut Node> {
    match &mut node.value {
        Value::Table(table) => {
            let entry = table.entries.iter_mut().find(|entry| entry.key == key);
            entry.map(|entry| &mut entry.node)
        }
        Value::List(items) => {
            let called = items.iter().position(|item| name(item) == Some(key));
            items.get_mut(called.or_else(|| key.parse().ok())?)
        }
        _ => None,
    }
}

/// Replaces the name or file of a device by its table, so that a part of it can be changed. The
/// device stands at `path` below `node`; its file is relative to `folder`.
pub(crate) fn spell_out(node: &mut Node, path: &[String], folder: &Path) -> Result<(), JobError> {
    let Some((key, rest)) = path.split_first() else {
        if node.word().is_some() {
            node.value = devices::to_be_changed(named_device::read(node, "", folder)?);
        }
        return Ok(());
    };
    if key == EVERY
        && let Value::List(items) = &mut node.value
    {
        return items.iter_mut().try_for_each(|item| spell_out(item, rest, folder));
    }
    below(node, key).map_or(Ok(()), |next| spell_out(next, rest, folder))
}

/// Removes the keys of the file that the new kind of arrivals does not have.
fn change_kind(arrivals: &mut Table, cases: &Cases, kind: &str) {
    let known = [cases.head, cases.of(kind)];
    let gone: Vec<&str> = foreign(&known, &cases.keys()).iter().map(|key| key.name()).collect();
    arrivals.entries.retain(|entry| entry.origin.is_set() || !gone.contains(&entry.key.as_str()));
}
