//! Lists policies and devices as data.

use penstock_policy::{Entry, Kind, POLICIES, Param, USUAL, Value as Setting};
use serde_json::{Value, json};

use crate::diagnose::JobError;
use crate::text::param_json;
use crate::{devices, engines, machines};

/// Returns every policy with its description and parameters, and whether it is compared by default.
pub fn policies() -> Value {
    POLICIES.iter().map(described).collect()
}

/// Returns the description of the policy called `name`.
///
/// # Errors
/// No policy has this name.
pub fn policy(name: &str) -> Result<Value, JobError> {
    crate::params::policy(name).map(described)
}

fn described(entry: &'static Entry) -> Value {
    json!({
        "name": entry.name,
        "summary": entry.summary,
        "text": penstock_policy::text(entry),
        "usual": USUAL.contains(&entry.name),
        "weights": entry.facts.heeds_weights,
        "io_priorities": entry.facts.heeds_ioprio,
        "linux": entry.facts.linux,
        "params": params(entry.params, ""),
    })
}

/// Returns the names of all engines, the preferred one first.
pub fn engines() -> Value {
    engines::names().collect()
}

/// Returns every named device, then every named machine.
pub fn devices() -> Value {
    let described = |name: &str, summary: String, machine: bool| json!({"name": name, "summary": summary, "machine": machine});
    let devices = devices::named().map(|(name, summary)| described(name, summary, false));
    devices.chain(machines::named().map(|spec| described(&spec.name, spec.summary, true))).collect()
}

/// Lists declared parameters; the members of a group follow it under their dotted names.
fn params(declared: &'static [Param], prefix: &str) -> Vec<Value> {
    let listed = |param: &'static Param| {
        let name = format!("{prefix}{}", param.name);
        let members = params(members(&param.kind), &format!("{name}."));
        let default = match &param.default {
            Setting::Group(_) => Value::from("on"),
            other => param_json(other),
        };
        let (doc, source) = (param.doc, param.source);
        let own = json!({"name": name, "kind": kind(&param.kind), "default": default, "doc": doc, "source": source});
        std::iter::once(own).chain(members)
    };
    declared.iter().flat_map(listed).collect()
}

/// Describes the values of a kind.
fn kind(kind: &Kind) -> String {
    let or = |kind: &str, words: &[&str]| {
        std::iter::once(kind).chain(words.iter().copied()).collect::<Vec<_>>().join(" | ")
    };
    match *kind {
        Kind::Size => "size".into(),
        Kind::SizeOr(words) => or("size", words),
        Kind::SizeOrGroup(words, _) => or("size", words) + " | table",
        Kind::Duration => "time".into(),
        Kind::DurationOr(words) => or("time", words),
        Kind::PositiveDurationOr(words) => or("time above zero", words),
        Kind::Count(least) => format!("count, {least} or more"),
        Kind::CountIn(least, most) => format!("count, {least} to {most}"),
        Kind::CountOr(least, words) => or(&format!("count, {least} or more"), words),
        Kind::Switch => "true | false".into(),
        Kind::Choice(words) => words.join(" | "),
        Kind::Group(_) => "table | off".into(),
        Kind::GroupOrDevice(_) => "table | device | off".into(),
        Kind::PerClass(each) => self::kind(each) + " | list",
    }
}

/// Returns the members of a group.
fn members(kind: &Kind) -> &'static [Param] {
    match *kind {
        Kind::SizeOrGroup(_, members) | Kind::Group(members) | Kind::GroupOrDevice(members) => {
            members
        }
        _ => &[],
    }
}
