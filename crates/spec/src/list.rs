//! What there is to choose from, as data.

use penstock_policy::{Kind, POLICIES, Param, Params, Value as Setting};
use serde_json::{Value, json};

use crate::devices;
use crate::units;

/// Every policy with its parameters.
pub fn policies() -> Value {
    let policy = |entry: &penstock_policy::Entry| json!({"name": entry.name, "summary": entry.summary, "params": params(entry.params, "")});
    POLICIES.iter().map(policy).collect()
}

/// Every named device.
pub fn devices() -> Value {
    devices::named().map(|(name, summary)| json!({"name": name, "summary": summary})).collect()
}

/// Values as a person writes them: sizes and times with units, counts without.
pub fn params_json(params: &Params) -> Value {
    let pair = |(name, value): &(&'static str, Setting)| ((*name).to_owned(), value_json(value));
    Value::Object(params.iter().map(pair).collect())
}

pub(crate) fn value_json(value: &Setting) -> Value {
    match value {
        Setting::Size(bytes) => units::size_text(*bytes).into(),
        Setting::Duration(span) => units::duration_text(*span).into(),
        Setting::Count(n) => (*n).into(),
        Setting::Switch(on) => (*on).into(),
        Setting::Word(word) => (*word).into(),
        Setting::Group(members) => params_json(members),
    }
}

/// Declared parameters, a group's members by their dotted names behind it.
fn params(declared: &'static [Param], prefix: &str) -> Vec<Value> {
    let one = |param: &'static Param| {
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
            Kind::Count(least) => (format!("count, {least} or more"), vec![]),
            Kind::Switch => ("true | false".to_owned(), vec![]),
            Kind::Choice(words) => (words.join(" | "), vec![]),
            Kind::Group(members) => {
                ("table | off".to_owned(), params(members, &format!("{name}.")))
            }
        };
        let default = match &param.default {
            Setting::Group(_) => Value::from("on"),
            other => value_json(other),
        };
        let (doc, source) = (param.doc, param.source);
        let own =
            json!({"name": name, "kind": kind, "default": default, "doc": doc, "source": source});
        std::iter::once(own).chain(members)
    };
    declared.iter().flat_map(one).collect()
}
