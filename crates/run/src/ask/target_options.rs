//! Options that all commands share: where to run, and what is allowed there.

use penstock_jobs::{devices, machines};

use crate::failure::Failure;

/// Prefix of the name of an emulated device.
pub(crate) const EMULATED: &str = "emulated:";

/// Where a command runs, and what it may do there.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TargetOptions {
    /// A device's name, a device file, a target (its path, or `loop:` and the path of a file),
    /// `emulated:DEVICE[@SPEED][:PATH]` or `null`; the job's device, or the targets of its files, if not
    /// given.
    pub on: Option<String>,
    /// Size of the owned file to create at the path, if it is missing.
    pub create: Option<String>,
    /// Serial numbers or paths of block devices to run on, named a second time: data on them may be
    /// lost.
    pub i_will_lose_data: Vec<String>,
    /// Whether the block device may hold data that no format announces.
    pub even_if_not_empty: bool,
    /// Whether the target is only read: it may be anybody's, and the job may not write.
    pub read_only: bool,
    /// How a target is driven; the first engine that works if not given.
    pub engine: Option<String>,
}

impl TargetOptions {
    /// The options of a run on `on`, with nothing else given.
    pub fn on(on: impl Into<String>) -> Self {
        Self { on: Some(on.into()), ..Self::default() }
    }

    /// Whether `on` names a machine.
    pub(crate) fn machine(&self) -> Result<bool, Failure> {
        let on = self.on.as_deref().filter(|on| !on.starts_with(EMULATED));
        Ok(on.map(machines::find).transpose()?.flatten().is_some())
    }

    /// Takes out the modelled device that `on` names, if it does, as an argument that makes it the
    /// job's: then further ones can change parts of it.
    pub fn take_device(&mut self) -> Option<String> {
        let on = self.on.take_if(|on| !on.starts_with(EMULATED) && devices::is_one(on))?;
        Some(format!("device={on}"))
    }
}
