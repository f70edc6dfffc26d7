//! Parameters of a policy as results have them.

use std::collections::BTreeMap;

use schemars::JsonSchema;

/// Parameters of a policy by name.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is of use: `jobs` makes the values")]
pub(crate) struct Params(BTreeMap<String, ParamValue>);

/// A parameter's value: a size or a length of time as text with its unit, a device, a number, a switch, or the
/// members of a group.
#[derive(JsonSchema)]
#[schemars(rename = "Value", untagged)]
#[expect(dead_code, reason = "as above")]
enum ParamValue {
    Text(String),
    Count(u64),
    Switch(bool),
    Group(Params),
}
