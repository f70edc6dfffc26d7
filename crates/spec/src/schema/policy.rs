//! The schema of policies' parameters, as the registry declares them.

use penstock_policy::{Kind, POLICIES, Param};
use serde_json::{Value, json};

use super::build::{Field, any, count, defined, field, from_digit, switch, table, words};
use crate::params::value_json;

/// A section for each policy.
pub(super) fn sections() -> Value {
    let names = POLICIES.iter().map(|policy| policy.name);
    let section = |policy: &'static penstock_policy::Entry| {
        field(policy.name, policy.summary, params(policy.params))
    };
    table(names, POLICIES.iter().map(section).collect())
}

/// A table of parameters.
fn params(params: &'static [Param]) -> Value {
    table(params.iter().map(|param| param.name), fields(params))
}

/// A key for each parameter.
pub(crate) fn fields(params: &'static [Param]) -> Vec<Field> {
    params.iter().map(param).collect()
}

fn param(param: &'static Param) -> Field {
    let schema = match param.kind {
        Kind::Size => defined("size-above-zero"),
        Kind::SizeOr(these) => any([words(these.iter().copied()), from_digit("size-above-zero")]),
        Kind::SizeOrGroup(these, members) => {
            any([words(these.iter().copied()), from_digit("size-above-zero"), params(members)])
        }
        Kind::Duration => defined("time"),
        Kind::DurationOr(these) => any([words(these.iter().copied()), from_digit("time")]),
        Kind::Count(least) => count(least, u32::MAX.into()),
        Kind::Switch => switch(),
        Kind::Choice(these) => words(these.iter().copied()),
        Kind::Group(members) => any([words(["on", "off"]), params(members)]),
    };
    let default = match param.kind {
        Kind::Group(_) => json!("on"),
        _ => value_json(&param.default),
    };
    field(param.name, format!("{} Default: {}.", param.doc, param.source), schema).or(default)
}
