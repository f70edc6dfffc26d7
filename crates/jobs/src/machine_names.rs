//! Names of built-in machines, and the table that marks a machine file.

use crate::tree::{Node, Value};

/// Built-in machine files.
pub(crate) const BUILT_IN: [(&str, &str); 1] =
    [("openpower-710", include_str!("../../../examples/machines/openpower-710.toml"))];

/// The table of a machine file.
pub(crate) const TABLE: &str = "machine";

/// Names of all machines.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    BUILT_IN.iter().map(|&(name, _)| name)
}

/// Whether a file holds a machine.
pub(crate) fn is_machine(root: &Node) -> bool {
    matches!(&root.value, Value::Table(table) if table.get(TABLE).is_some())
}
