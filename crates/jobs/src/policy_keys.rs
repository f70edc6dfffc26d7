//! Keys of the parameters of policies, as the registry declares them, and of the kernel's schedulers.

use penstock_policy::{Kind, POLICIES, Param, Value as Setting};
use serde_json::{Value, json};

use crate::describe::{
    NAMED_DEVICE, any, count, defined, described, from_digit, matching, some, switch, table, with,
    words,
};
use crate::kernel_tunables::KERNEL;
use crate::keys::keys;
use crate::kinds::section;
use crate::text::param_json;
use crate::tree::Node;

keys! {
    /// Parameters of policies, by name.
    POLICY policy: Node = section(sections);
}

/// Describes a section for each policy, and those of the kernel's schedulers.
fn sections() -> Value {
    let sections = table(
        POLICIES
            .iter()
            .map(|policy| (policy.name, described(params(policy.params), policy.summary, None))),
    );
    let values = any([matching("^\\S+$"), json!({"type": "integer"})]);
    let tunables = json!({"type": "object", "additionalProperties": values});
    let meaning =
        "Tunables of a scheduler of the kernel, or attributes of its queue, as /sys has them.";
    let tunables = described(tunables, meaning, None);
    with(sections, json!({"patternProperties": {format!("^{KERNEL}"): tunables}}))
}

/// Describes a table of parameters.
fn params(params: &'static [Param]) -> Value {
    table(properties(params))
}

/// Returns the schema of each parameter.
pub(crate) fn properties(
    params: impl IntoIterator<Item = &'static Param>,
) -> impl Iterator<Item = (&'static str, Value)> {
    params.into_iter().map(|declared| (declared.name, param(declared)))
}

/// Describes a value of `kind`.
fn value(kind: &'static Kind) -> Value {
    match *kind {
        Kind::Size => defined("size-above-zero"),
        Kind::SizeOr(these) => any([words(these.iter().copied()), from_digit("size-above-zero")]),
        Kind::SizeOrGroup(these, members) => {
            any([words(these.iter().copied()), from_digit("size-above-zero"), params(members)])
        }
        Kind::Duration => defined("time"),
        Kind::DurationOr(these) => any([words(these.iter().copied()), from_digit("time")]),
        Kind::PositiveDurationOr(&[]) => defined("time-above-zero"),
        Kind::PositiveDurationOr(these) => {
            any([words(these.iter().copied()), from_digit("time-above-zero")])
        }
        Kind::Count(least) => count(least, u32::MAX.into()),
        Kind::CountIn(least, most) => count(least, most),
        Kind::CountOr(least, these) => {
            any([words(these.iter().copied()), count(least, u32::MAX.into())])
        }
        Kind::Switch => any([switch(), count(0, 1)]),
        Kind::Choice(these) => words(these.iter().copied()),
        Kind::Group(members) => any([words(["on", "off"]), params(members)]),
        Kind::GroupOrDevice(members) => {
            any([words(["on", "off"]), params(members), defined(NAMED_DEVICE)])
        }
        Kind::PerClass(kind) => {
            let value = value(kind);
            let list = some(&value);
            any([value, list])
        }
    }
}

fn param(param: &'static Param) -> Value {
    let default = match &param.default {
        Setting::Group(_) => json!("on"),
        other => param_json(other),
    };
    let meaning = format!("{} Default: {}.", param.doc, param.source);
    described(value(&param.kind), &meaning, Some(default))
}
