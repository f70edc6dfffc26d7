//! JSON Schemas (draft 2020-12) of job files and device files, for editors and other programs.
//!
//! TOML is validated after parsing, as the JSON that says the same. Keys, words and bounds are the
//! parser's own constants, quantities come from `units`, parameters from the registry. What a
//! schema cannot say is left to the parser: that a class is declared, that times fit one another,
//! how large a number with a unit may be. A schema refuses nothing that the parser takes.

pub(crate) mod build;
mod job;
pub(crate) mod policy;
mod program;
mod trace;

use serde_json::{Value, json};

use crate::devices;
use crate::units::pattern;

/// Kinds of files that have a schema.
pub const KINDS: [&str; 2] = ["job", "device"];

/// The schema of files of this kind; none if no kind has this name.
pub fn schema(kind: &str) -> Option<Value> {
    let (title, mut root) = match kind {
        "job" => ("A job of Penstock", job::job()),
        "device" => ("A device of Penstock", file()),
        _ => return None,
    };
    root["$schema"] = "https://json-schema.org/draft/2020-12/schema".into();
    root["title"] = title.into();
    root["$defs"] = definitions();
    Some(root)
}

/// A device file: one table.
fn file() -> Value {
    let device = build::field("device", "The device.", build::defined("device"));
    build::with(build::table(["device"], vec![device]), build::required(&["device"]))
}

/// What the schemas refer to.
fn definitions() -> Value {
    let quantity = |pattern: String| json!({"type": "string", "pattern": pattern});
    let above_zero = |pattern: String| json!({"type": "string", "pattern": pattern, "not": {"pattern": pattern::zero()}});
    json!({
        "size": quantity(pattern::size()),
        "size-above-zero": above_zero(pattern::size()),
        "time": quantity(pattern::duration()),
        "time-above-zero": above_zero(pattern::duration()),
        "share": quantity(pattern::share()),
        "share-above-zero": above_zero(pattern::share()),
        "rate-above-zero": above_zero(pattern::rate()),
        "transfer-rate": quantity(pattern::transfer()),
        "device": devices::schema(),
    })
}
