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
        let (kind, members) = match &param.kind {
            Kind::Size => ("size".to_owned(), vec![]),
            Kind::SizeOr(words) => (format!("size | {}", words.join(" | ")), vec![]),
            Kind::SizeOrGroup(words, members) => (
                format!("size | {} | table", words.join(" | ")),
                params(members, &format!("{name}.")),
            ),
            Kind::Duration => ("time".to_owned(), vec![]),
            Kind::DurationOr(words) => (format!("time | {}", words.join(" | ")), vec![]),
            Kind::PositiveDurationOr(words) => {
                let kinds = std::iter::once("time above zero").chain(words.iter().copied());
                (kinds.collect::<Vec<_>>().join(" | "), vec![])
            }
            Kind::Count(least) => (format!("count, {least} or more"), vec![]),
            Kind::CountIn(least, most) => (format!("count, {least} to {most}"), vec![]),
            Kind::CountOr(least, words) => {
                (format!("count, {least} or more | {}", words.join(" | ")), vec![])
            }
            Kind::Switch => ("true | false".to_owned(), vec![]),
            Kind::Choice(words) => (words.join(" | "), vec![]),
            Kind::Group(members) => {
                ("table | off".to_owned(), params(members, &format!("{name}.")))
            }
            Kind::GroupOrDevice(members) => {
                ("table | device | off".to_owned(), params(members, &format!("{name}.")))
            }
        };
        let default = match &param.default {
            Setting::Group(_) => Value::from("on"),
            other => param_json(other),
        };
        let (doc, source) = (param.doc, param.source);
        let own =
            json!({"name": name, "kind": kind, "default": default, "doc": doc, "source": source});
        std::iter::once(own).chain(members)
    };
    declared.iter().flat_map(listed).collect()
}
