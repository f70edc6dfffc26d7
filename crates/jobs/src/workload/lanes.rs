//! Lanes of a run: devices of a trace, or files. Each has its own device, queue and policy.

use serde_json::{Value as Json, json};

use crate::devices::{self, DeviceSpec};
use crate::diagnose::JobError;
use crate::text::{Lines, quoted};
use crate::tree::Node;

/// A device of a trace or a file, with the device model that it is on.
#[derive(Clone, PartialEq, Debug)]
pub struct LaneDevice {
    /// Name in the trace or the job.
    pub name: String,
    /// The device model.
    pub spec: DeviceSpec,
}

/// A file with the real target that it is on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FileTarget {
    /// Name in the job.
    pub file: String,
    /// Path of the target, as it was written.
    pub path: String,
}

/// Whether `word` is the path of a file or block device to measure, and not a model.
pub(crate) fn is_path(word: &str) -> bool {
    let like_a_path = word.contains('/') && !word.starts_with("emulated:");
    !devices::is_one(word) && (like_a_path || word.starts_with("loop:"))
}

/// Describes such a path.
pub(crate) fn path_schema() -> Json {
    json!({"type": "string", "pattern": "/|^loop:", "not": {"pattern": r"^emulated:|[^/]\.toml$"}})
}

impl LaneDevice {
    /// Writes its section below the section `above`.
    pub(crate) fn write(&self, above: &str, out: &mut Lines) {
        self.spec.write(&format!("{above}.{}", quoted(&self.name)), out);
    }
}

/// Checks that `node` names no file or disk to measure; `hint` says what to do instead.
pub(crate) fn no_target(node: &Node, hint: &str) -> Result<(), JobError> {
    let is_target =
        |word: &str| !devices::is_one(word) && (word.contains(['/', ':']) || word == "null");
    if !node.word().is_some_and(is_target) {
        return Ok(());
    }
    Err(node.expected("a modelled device").hint(hint))
}
