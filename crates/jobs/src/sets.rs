//! `--set key=value`: changes a job before it is read.
//!
//! The key is a path in the job (`duration`, `agent.0.size`, `class.tellers.weight`) or a parameter
//! of a policy (`size-priority.split`). An agent with a name may be called by it
//! (`agent.reader.size`), and `*` stands for every agent, file or program (`agent.*.cache`). A part of a device may be named if the job names the device or its file
//! (`device.queue.depth`), and so may one of a device that a trace's device is played on
//! (`trace.on.sda.queue.depth`) or that a file is on (`file.data.device.queue.depth`). A step between double quotes may hold a dot or an equals sign
//! (`trace.on."hm.1"`). What an agent's `arrivals` hold may be named directly below
//! the agent (`agent.0.rate`), unless the agent has a key of that name, and so may those of a program. A later argument wins over an earlier
//! one. Whether key and value make sense is found where the job is read; here only the way to the
//! key is checked.

use std::ops::Range;
use std::path::Path;

use penstock_policy::POLICIES;

use crate::classes::CLASS;
use crate::devices;
use crate::diagnose::{JobError, Origin, Source, quote};
use crate::keys::{Cases, foreign, names};
use crate::named_device;
use crate::nearest::suggest;
use crate::schema::policy::POLICY;
use crate::tree::{Node, Table, Value};
use crate::units::OFF;
use crate::workload::agents::{self, AGENT, NAME};
use crate::workload::arrivals;
use crate::workload::files::FILE;
use crate::workload::merge::GIVE_WAY;
use crate::workload::programs::{self, PROGRAM};
use crate::workload::quota;
use crate::workload::starts;
use crate::workload::timings::TIMINGS;

/// Applies one argument to the tree of a job, which may have the keys `known`. If the argument changes
/// a part of a device, which stands behind the first `device` steps, any word on the way gives way to
/// a table, as `drive` does for the cache; 0 if it changes none.
pub(crate) fn apply(
    root: &mut Node,
    argument: &str,
    known: &[&str],
    device: usize,
) -> Result<(), JobError> {
    let source = Source::set(argument);
    let place = |span: Range<usize>| Origin::new(&source, span);
    let Some((key, value)) = split(argument) else {
        let found = format!("expected KEY=VALUE, found {}", quote(argument));
        let hint = "for example `duration=15s` or `size-priority.split=64KiB`";
        return Err(JobError::new(found).at(&place(0..argument.len())).hint(hint));
    };
    if let [b'{', ..] = value.trim().as_bytes() {
        let found = "a table is not set at once";
        let hint = format!("set each of its keys, as `{}.KEY=VALUE`", key.trim());
        return Err(JobError::new(found).at(&place(key.len() + 1..argument.len())).hint(hint));
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

/// As a step of a path: every item of a list.
const EVERY: &str = "*";

/// `path` for every item of a list behind which it has the step `*`.
fn each(root: &mut Node, path: Vec<Step>) -> Result<Vec<Vec<Step>>, JobError> {
    let Some(at) = path.iter().position(|step| step.key == EVERY) else { return Ok(vec![path]) };
    let list = path[..at].iter().try_fold(&mut *root, |node, step| below(node, &step.key));
    let count = match list.map(|node| &node.value) {
        Some(Value::List(items)) => items.len(),
        _ => 0,
    };
    if count == 0 {
        let keys: Vec<&str> = path[..at].iter().map(|step| step.key.as_str()).collect();
        let found = format!("the job has no list `{}` for `*`", keys.join("."));
        let hint = "`*` stands for every agent, file or program of the job, as in `agent.*.cache`";
        return Err(JobError::new(found).at(&path[at].origin).hint(hint));
    }
    let mut paths = Vec::new();
    for number in 0..count {
        let mut one = path.clone();
        one[at].key = number.to_string();
        paths.extend(each(root, one)?);
    }
    Ok(paths)
}

/// The key and the value of an argument. What stands between double quotes belongs to the key.
fn split(argument: &str) -> Option<(&str, &str)> {
    let mut quoted = false;
    let at = argument.find(|one| {
        quoted ^= one == '"';
        one == '=' && !quoted
    })?;
    Some((&argument[..at], &argument[at + 1..]))
}

/// The parts of a key between dots, as they are written. A dot between double quotes belongs to its
/// part.
fn parts(key: &str) -> impl Iterator<Item = &str> {
    let mut quoted = false;
    key.split(move |one| {
        quoted ^= one == '"';
        one == '.' && !quoted
    })
}

/// What a part of a key says.
fn bare(part: &str) -> &str {
    let part = part.trim();
    part.strip_prefix('"').and_then(|part| part.strip_suffix('"')).unwrap_or(part)
}

/// A name as a step of a key.
pub(crate) fn step(name: &str) -> String {
    if name.contains(['.', '=']) { format!("\"{name}\"") } else { name.into() }
}

/// The steps of an argument's key, as far as it has one.
pub(crate) fn steps(argument: &str) -> Vec<String> {
    let key = split(argument).map_or("", |(key, _)| key);
    parts(key).map(bare).map(Into::into).collect()
}

/// Makes empty tables of the words that are on the way along `path`, behind its first `device` steps.
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

/// A step of a path, and where it was written.
#[derive(Clone)]
struct Step {
    key: String,
    origin: Origin,
}

/// Lists of tables whose `arrivals` may be named without that step, and the keys of those.
const LISTS: [(&str, &str, Cases); 2] = [
    (AGENT.name, agents::ARRIVALS.name, arrivals::CASES),
    (PROGRAM.name, programs::ARRIVALS.name, starts::CASES),
];

/// The list that begins a path with `first`.
fn list(first: &Step) -> Option<&'static (&'static str, &'static str, Cases)> {
    LISTS.iter().find(|(name, ..)| *name == first.key)
}

/// Steps of a path at most: more than any key of a job has.
const STEPS: usize = 8;

fn segments(key: &str, place: &impl Fn(Range<usize>) -> Origin) -> Result<Vec<Step>, JobError> {
    if parts(key).count() > STEPS {
        let found = JobError::new("the key has too many steps").at(&place(0..key.len()));
        return Err(found.hint(format!("a key has {STEPS} at most")));
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

/// The full path: `POLICY.param` lies below `policy`, and an agent's arrivals below `arrivals`.
fn expand(mut path: Vec<Step>, known: &[&str]) -> Result<Vec<Step>, JobError> {
    let first = &path[0];
    if POLICIES.iter().any(|policy| policy.name == first.key) {
        let policy = Step { key: POLICY.name.into(), origin: first.origin.clone() };
        path.insert(0, policy);
    } else if !known.contains(&first.key.as_str()) {
        let known = known.iter().copied().chain(POLICIES.iter().map(|policy| policy.name));
        let found = format!("unknown key {}: neither of the job nor a policy", quote(&first.key));
        return Err(JobError::new(found).at(&first.origin).hint(suggest(&first.key, known)));
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

/// The value one step below; made, if a table lacks it.
fn descend<'a>(node: &'a mut Node, above: &[Step], step: &Step) -> Result<&'a mut Node, JobError> {
    let path = || above.iter().map(|step| step.key.as_str()).collect::<Vec<_>>().join(".");
    let fail = |found: String| JobError::new(found).at(&step.origin);
    // A group of parameters that was switched off is switched on by setting one of them, and a word
    // for a whole table gives way to it.
    let gives_way = |word| word == OFF || TIMINGS.contains(&word) || GIVE_WAY.contains(&word);
    if node.word().is_some_and(gives_way) {
        node.value = Value::Table(Table::default());
    }
    let found = node.describe();
    match &mut node.value {
        // Classes are declared in the file: a misspelt one would be a new one.
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
                    let found = format!(
                        "expected a number or a name behind `{path}`, found {}",
                        quote(&step.key)
                    );
                    let known: Vec<&str> = items.iter().filter_map(name).collect();
                    let hint = match &known[..] {
                        [] if count == 0 => "there are none".into(),
                        [] => format!("they are counted from 0, as in `{path}.0.{}`", step.key),
                        known => suggest(&step.key, known.iter().copied()),
                    };
                    fail(found).hint(hint)
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
            let found = format!("`{}` is {found}, not a table", path());
            Err(fail(found).hint(format!("set `{}` itself", path())))
        }
    }
}

/// What an item of a list is called, if it says so.
fn name(item: &Node) -> Option<&str> {
    match &item.value {
        Value::Table(table) => table.get(NAME.name)?.node.word(),
        _ => None,
    }
}

/// What stands behind `key` in `node`: of a list, the item of this name or number.
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

/// Puts a device's table in the place of its name or its file, so that a part of it can be changed. The
/// device stands behind `path` below `node`; its file lies in `folder`.
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

/// Another kind of arrivals does not know what the file gave the old one: those keys go with it.
fn change_kind(arrivals: &mut Table, cases: &Cases, kind: &str) {
    let known = [cases.head, cases.of(kind)];
    let gone: Vec<&str> = foreign(&known, &cases.keys()).iter().map(|key| key.name()).collect();
    arrivals.entries.retain(|entry| entry.origin.is_set() || !gone.contains(&entry.key.as_str()));
}
