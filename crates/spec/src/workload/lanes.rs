//! What has a device of its own in a run, with a queue and a policy of its own: a device of a trace, or a
//! file.

use crate::devices::DeviceSpec;
use crate::text::{Lines, quoted};

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
