//! How much memory a model may take, at most: its tables, and what it holds at once.
//!
//! Estimates, rather too high: each number of a device file has bounds of its own, and their products
//! may still be more than a machine has.

use super::{DeviceSpec, Model};
use crate::diagnose::JobError;

/// All of a device. The largest that stand for real ones take some megabytes.
const MOST: u64 = 1 << 30;

/// A command that waits in a queue or is in service: its entry, and what a policy keeps of it.
pub(super) const COMMAND: u64 = 512;

impl DeviceSpec {
    /// Bytes that the device takes when it holds as much as it can.
    fn memory(&self) -> u64 {
        let disk = match &self.model {
            Model::Fixed(spec) => spec.memory(),
            Model::Hdd(spec) => spec.memory(),
            Model::Ssd(spec) => spec.memory(),
        };
        disk.saturating_mul(self.disks().into())
    }

    /// That it takes no more memory than a device may.
    pub(super) fn check_memory(&self) -> Result<(), JobError> {
        let bytes = self.memory();
        if bytes <= MOST {
            return Ok(());
        }
        let (found, most) = (bytes.div_ceil(1 << 20), MOST >> 20);
        let found = format!("the device may take {found} MiB of memory; at most {most} MiB may be");
        Err(JobError::new(found).hint("give it fewer disks, fewer parts, or smaller queues"))
    }
}
