//! Settings of a model that is served as a block device: `[block]`.

use crate::amount::Count;
use crate::diagnose::JobError;
use crate::keys::{keys, table};
use crate::kinds::section;
use crate::reader::Reader;
use crate::rows::Rows;
use crate::text::Lines;
use crate::tree::Node;

keys! {
    /// Settings of a model that is served as a block device, as `--on block:hdd-7200`.
    BLOCK block: Node = section(|| table(KEYS));
}

keys! {
    /// Keys of `[block]`.
    KEYS:
    /// Most requests that the kernel gives the device at once: the fewer, the more a scheduler has to
    /// decide. If not given, the kernel's own number, 128.
    DEPTH depth: u32 = Count(4, 128);
}

/// Reads the depth of the section `node`.
pub(crate) fn depth(node: &Node) -> Result<Option<u32>, JobError> {
    Reader::new(node, "block", &[KEYS])?.find(&DEPTH)
}

/// Writes the section, if there is a depth.
pub(crate) fn write(depth: Option<u32>, out: &mut Lines) {
    if depth.is_some() {
        let rows = Rows::of(&[KEYS]).maybe(&DEPTH, depth.as_ref());
        rows.section(Some(&format!("[{}]", BLOCK.name)), out);
    }
}
