//! What tells a machine from a device: the names of those that are built in, and the table of a file.

use crate::tree::{Node, Value};

/// Machine files that are built in.
pub(crate) const BUILT_IN: [(&str, &str); 1] =
    [("openpower-710", include_str!("../../../examples/machines/openpower-710.toml"))];

/// The table of a machine file.
pub(crate) const TABLE: &str = "machine";

/// The names of all machines.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    BUILT_IN.iter().map(|&(name, _)| name)
}

/// Whether a file holds a machine.
pub(crate) fn is_machine(root: &Node) -> bool {
    matches!(&root.value, Value::Table(table) if table.get(TABLE).is_some())
}
