//! What has a device of its own in a run, with a queue and a policy of its own: a device of a trace, or a
//! file.

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
