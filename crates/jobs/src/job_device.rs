//! The device of a job: a named one, a device file, a machine, or the device itself.

use std::path::Path;

use crate::devices::DeviceSpec;
use crate::diagnose::{JobError, quote};
use crate::keys::keys;
use crate::kinds::section;
use crate::machines::{self, MachineSpec};
use crate::named_device;
use crate::reader::Reader;
use crate::tree::Node;
use crate::workload::{WorkloadSpec, trace_devices, traces};

keys! {
    /// The device of the run, unless `--on` names another: a named device, the path of a device
    /// file, or the device itself; for a job with files, a named machine or the path of a machine
    /// file, of which each file takes a device, or devices by names, which files share.
    DEVICE device: Node = section(machines::or_device);
}

/// The device or machine that a job names.
pub(crate) enum NamedPlace {
    Device(Box<DeviceSpec>),
    Machine(MachineSpec),
    /// Devices to which the job itself gives names.
    Devices(MachineSpec),
}

impl NamedPlace {
    /// Reads the device or machine that `node` names. Its file is relative to `folder`, or to the
    /// working directory if an argument names it.
    pub(crate) fn read(node: &Node, folder: &Path) -> Result<Self, JobError> {
        if machines::are_named(node) {
            return MachineSpec::of_job(node, folder).map(Self::Devices);
        }
        let base = if node.origin.is_set() { Path::new("") } else { folder };
        let machine = node.word().map(|word| machines::find_in(base, word)).transpose();
        match machine.map_err(|error| error.at(&node.origin))?.flatten() {
            Some(machine) => Ok(Self::Machine(machine)),
            None => named_device::read(node, DEVICE.name, folder).map(Box::new).map(Self::Device),
        }
    }

    /// Returns the devices that files may name.
    pub(crate) fn devices(&self) -> Option<&MachineSpec> {
        match self {
            Self::Machine(devices) | Self::Devices(devices) => Some(devices),
            Self::Device(_) => None,
        }
    }

    /// Returns the machine, which has memory too.
    pub(crate) fn machine(&self) -> Option<&MachineSpec> {
        if let Self::Machine(machine) = self { Some(machine) } else { None }
    }
}

/// Returns the device of the job. Removes the workload's own devices if the job's device takes
/// their place: between it and the devices of a trace, the one that an argument names wins.
pub(crate) fn device(
    job: &Reader<'_>,
    on: Option<NamedPlace>,
    workload: &mut WorkloadSpec,
) -> Result<Option<DeviceSpec>, JobError> {
    let (Some(node), Some(on)) = (job.node(&DEVICE), on) else { return Ok(None) };
    let device = match on {
        NamedPlace::Device(device) => *device,
        NamedPlace::Machine(machine) if workload.files().is_empty() => {
            let (name, count) = (quote(&machine.name), machine.count());
            let message =
                format!("{name} is a machine of {count} devices, and the job has no files");
            let hint = "give it `[[file]]` sections, which lie on the machine's devices, or name one \
                        device: `penstock list devices`";
            return Err(JobError::new(message).at(&node.origin).hint(hint));
        }
        NamedPlace::Devices(devices) if workload.files().is_empty() => {
            let names = devices.device_names();
            let message = format!("the job names devices for files, {names}, and has no files");
            let hint = "add `[[file]]` sections that lie on them, or describe one device: \
                        `[device]` with its `model`";
            return Err(JobError::new(message).at(&node.origin).hint(hint));
        }
        // The devices are those of the files.
        NamedPlace::Machine(_) | NamedPlace::Devices(_) => return Ok(None),
    };
    if !node.origin.is_set() && workload.all_files_have_devices() {
        let why = "is for files that name none, and each of the job names one";
        job.refuse(&[&DEVICE], why, "leave it out, or one of the files' own")?;
    }
    let on = traces::on(job).filter(|_| workload.trace().is_some_and(|trace| !trace.on.is_empty()));
    match on.map(|on| (node.origin.is_set(), trace_devices::is_set(on))) {
        None => {}
        Some((true, false)) => workload.drop_trace_devices(),
        Some((false, true)) => return Ok(None),
        Some(_) => {
            let why = "is one for all, and the trace names one for each of its devices";
            job.refuse(&[&DEVICE], why, "leave one of the two out")?;
        }
    }
    Ok(Some(device))
}
