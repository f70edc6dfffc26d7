//! JSON Schemas (draft 2020-12) of job, device, machine and study files, for editors and other
//! programs.
//!
//! A schema validates the JSON equivalent of a TOML file. Keys, kinds, defaults and meanings come
//! from `keys!`, quantities from `units`, parameters from the registry. The parser alone checks
//! what a schema cannot express: that a class is declared, that times fit one another, that a
//! number with a unit is not too large. A schema accepts everything that the parser accepts.

use serde_json::{Map, Value};

use crate::amount::{SHARE, SIZE, TIME, TRANSFER, rate_definition};
use crate::describe::NAMED_DEVICE;
use crate::devices;
use crate::job;
use crate::keys::table;
use crate::machines;
use crate::named_device;
use crate::study;
use crate::units::pattern;

/// Kinds of files that have a schema.
pub const KINDS: [&str; 4] = ["job", "device", "machine", "study"];

/// Returns the schema of files of this kind; `None` if there is no such kind.
pub fn schema(kind: &str) -> Option<Value> {
    let (title, mut root) = match kind {
        "job" => ("A job of Penstock", job::schema()),
        "device" => ("A device of Penstock", table(devices::FILE)),
        "machine" => ("A machine of Penstock", machines::schema()),
        "study" => ("A study of Penstock", study::schema()),
        _ => return None,
    };
    root["$schema"] = "https://json-schema.org/draft/2020-12/schema".into();
    root["title"] = title.into();
    root["$defs"] = definitions();
    Some(root)
}

/// Returns the definitions that the schemas refer to.
fn definitions() -> Value {
    let amounts = [
        (SIZE, pattern::size()),
        (TIME, pattern::duration()),
        (SHARE, pattern::share()),
        (TRANSFER, pattern::transfer()),
    ];
    let amounts = amounts.iter().flat_map(|(amount, pattern)| amount.definitions(pattern));
    let device = (devices::DEVICE.name, devices::schema());
    let named = (NAMED_DEVICE, named_device::word_schema());
    amounts
        .chain([rate_definition(&pattern::rate()), device, named])
        .map(|(name, definition)| (name.to_owned(), definition))
        .collect::<Map<_, _>>()
        .into()
}
