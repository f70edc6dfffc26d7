//! What has a device of its own in a run, with a queue and a policy of its own: a device of a trace, or a
//! file.

use serde_json::{Value as Json, json};

use crate::devices::{self, DeviceSpec};
use crate::diagnose::JobError;
use crate::text::{Lines, quoted};
use crate::tree::Node;

/// A device of a trace or a file, and the device that it is on.
#[derive(Clone, PartialEq, Debug)]
pub struct LaneDevice {
    /// What the trace or the job calls it.
    pub name: String,
    /// What it is on.
    pub spec: DeviceSpec,
}

/// A file and the real target that it is on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FileTarget {
    /// What the job calls it.
    pub file: String,
    /// The path of the target, as it was written.
    pub path: String,
}

/// Whether `word` is the path of a file or of a block device to measure, and no model.
pub(crate) fn is_path(word: &str) -> bool {
    let like_a_path = word.contains('/') && !word.starts_with("emulated:");
    !devices::is_one(word) && (like_a_path || word.starts_with("loop:"))
}

/// The schema of such a path.
pub(crate) fn path_schema() -> Json {
    json!({"type": "string", "pattern": "/|^loop:", "not": {"pattern": r"^emulated:|[^/]\.toml$"}})
}

impl LaneDevice {
    /// Its section below that called `above`.
    pub(crate) fn write(&self, above: &str, out: &mut Lines) {
        self.spec.write(&format!("{above}.{}", quoted(&self.name)), out);
    }
}

/// That `node` names no file or disk to measure; `hint` says what to do about that.
pub(crate) fn no_target(node: &Node, hint: &str) -> Result<(), JobError> {
    let is_target =
        |word: &str| !devices::is_one(word) && (word.contains(['/', ':']) || word == "null");
    if !node.word().is_some_and(is_target) {
        return Ok(());
    }
    Err(node.expected("a modelled device").hint(hint))
}
