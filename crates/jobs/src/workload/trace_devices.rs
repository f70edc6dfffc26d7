//! The devices on which the devices of a trace are played, by their names in the trace.

use std::path::Path;

use serde_json::{Value as Json, json};

use crate::diagnose::JobError;
use crate::named_device;
use crate::tree::{Node, Value};
use crate::workload::lanes::{LaneDevice, no_target};

/// Hint for a target in the place of a model.
const NO_TARGET: &str = "a file or a disk is one target: play one device of the trace on it, which `device` \
                         names, or all behind each other, with the layout `side-by-side`";

/// Describes the table.
pub(crate) fn schema() -> Json {
    json!({"type": "object", "additionalProperties": named_device::schema()})
}

/// Reads the table `node`; device files are relative to `folder`.
pub(crate) fn read(node: &Node, folder: &Path) -> Result<Vec<LaneDevice>, JobError> {
    let Value::Table(table) = &node.value else {
        let expected = node.expected("a device for each device of the trace");
        return Err(expected.hint("by their names, as in `on = { sda = \"hdd-7200\" }`"));
    };
    let mut devices = Vec::new();
    for entry in &table.entries {
        no_target(&entry.node, NO_TARGET)?;
        let spec = named_device::read(&entry.node, &entry.key, folder)?;
        devices.push(LaneDevice { name: entry.key.clone(), spec });
    }
    Ok(devices)
}

/// Whether `--set` named any of the devices at `node`.
pub(crate) fn is_set(node: &Node) -> bool {
    let was_set = |node: &Node| node.origin.is_set();
    match &node.value {
        Value::Table(table) => table.entries.iter().any(|entry| was_set(&entry.node)),
        _ => was_set(node),
    }
}
