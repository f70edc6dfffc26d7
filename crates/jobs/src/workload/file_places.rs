//! Where the files of a job are: on devices, on those of a machine, or on real targets.

use std::ops::Range;
use std::path::Path;

use serde_json::Value as Json;

use crate::describe;
use crate::devices::{self, DeviceSpec};
use crate::diagnose::{JobError, Origin, quote};
use crate::machines::{self, MachineSpec};
use crate::named_device;
use crate::tree::{Node, Value};
use crate::workload::lanes::{LaneDevice, is_path, no_target};

/// A single file of a section with its own device or target.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct SingleFile {
    pub(super) number: u32,
    pub(super) on: FilePlace,
}

/// The device or target of a file.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum FilePlace {
    Device(FileDevice),
    Path(String),
}

/// The modelled device of a file.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum FileDevice {
    /// A device of this file alone.
    Own(Box<DeviceSpec>),
    /// A device on which other files lie too: its index among those.
    Shared(usize),
}

impl SingleFile {
    pub(super) fn device(&self) -> Option<&FileDevice> {
        if let FilePlace::Device(device) = &self.on { Some(device) } else { None }
    }

    pub(super) fn path(&self) -> Option<&str> {
        if let FilePlace::Path(path) = &self.on { Some(path) } else { None }
    }
}

/// Placeholder in a path for the number of a file.
pub(super) const NUMBER: &str = "%d";

/// Parts of a job that decide where its files are.
#[derive(Clone, Copy)]
pub(crate) struct Surroundings<'a> {
    /// Folder of device files.
    pub(crate) folder: &'a Path,
    /// The devices that files may name: those of the job, or of its machine.
    pub(crate) devices: Option<&'a MachineSpec>,
    /// Whether an argument names the job's device; it then overrides the files' devices in the
    /// job's file.
    pub(crate) only_set: bool,
}

/// The device or target that a section names for a file.
#[derive(Clone)]
pub(super) enum NamedFilePlace {
    /// A device or target of this file alone.
    Own(FilePlace),
    /// Devices of the job or its machine, of which the file takes one.
    OfMachine(Wish),
}

/// The device or target that a section names for one of its files, and where it was written.
pub(super) struct NamedSingle {
    pub(super) number: u32,
    pub(super) place: NamedFilePlace,
    pub(super) origin: Origin,
}

/// Devices of the job or its machine by number, of which a file takes one, and where they were
/// named.
#[derive(Clone)]
pub(super) struct Wish {
    pub(super) devices: Range<usize>,
    /// Whether the file names them, or may lie on any.
    pub(super) by_name: bool,
    pub(super) origin: Origin,
}

/// A file on a device of the job or its machine.
pub(super) struct OnMachine {
    /// Index of its section.
    pub(super) section: usize,
    /// Number of the file within the section, and its name.
    pub(super) number: u32,
    pub(super) name: String,
    pub(super) wish: Wish,
}

/// Describes the device of a file.
pub(super) fn device_schema() -> Json {
    describe::any([named_device::schema(), machines::device_pattern()])
}

/// Assigns devices of `machine` to the files of `placed`: each gets the first device that it may
/// take and that is free, or shares the one that it names. Returns the index of the section of each,
/// and adds the devices with several files to `shared`.
pub(super) fn assign(
    machine: &MachineSpec,
    mut placed: Vec<OnMachine>,
    shared: &mut Vec<LaneDevice>,
) -> Result<Vec<(usize, SingleFile)>, JobError> {
    // A name stands for one device, several, or all. Files with fewer choices go first.
    placed.sort_by_key(|file| (file.wish.devices.len(), !file.wish.by_name));
    let mut owners: Vec<Vec<(usize, u32)>> = vec![Vec::new(); machine.count()];
    for OnMachine { section, number, name, wish } in placed {
        let free = wish.devices.clone().find(|device| owners[*device].is_empty());
        let alone = wish.by_name && wish.devices.len() == 1;
        let Some(device) = free.or_else(|| alone.then_some(wish.devices.start)) else {
            let (machine_name, count) = (&machine.name, wish.devices.len());
            let such_ = if count < owners.len() { "such " } else { "" };
            let s = if count == 1 { "" } else { "s" };
            let message = format!(
                "file {name} has no device of its own: {machine_name} has {count} {such_}device{s}, each \
                 taken"
            );
            let names = machine.device_names();
            let hint = format!(
                "to let files share a device, name it in each; or lower `count`; there are {names}"
            );
            return Err(JobError::new(message).at(&wish.origin).hint(hint));
        };
        owners[device].push((section, number));
    }
    let mut assigned = Vec::new();
    for (device, files) in owners.into_iter().enumerate() {
        let spec = || machine.device(device).clone();
        let on = match &files[..] {
            [] => continue,
            [_] => FileDevice::Own(Box::new(spec())),
            _ => {
                shared.push(LaneDevice { name: machine.name_of(device), spec: spec() });
                FileDevice::Shared(shared.len() - 1)
            }
        };
        let single =
            |(section, number)| (section, SingleFile { number, on: FilePlace::Device(on.clone()) });
        assigned.extend(files.into_iter().map(single));
    }
    Ok(assigned)
}

/// Describes the names of `count` files called `name`, for a hint.
pub(super) fn numbered(name: &str, count: u32) -> String {
    match count {
        1 => format!("there is one: {name}, which is {name}.0 too"),
        _ => format!("there are {name}.0 to {name}.{}", count - 1),
    }
}

impl Surroundings<'_> {
    /// Whether a device that was written at `origin` counts.
    pub(super) fn heeds(self, origin: &Origin) -> bool {
        !self.only_set || origin.is_set()
    }

    /// Reads the device that `node` names for the file called `name`.
    pub(super) fn device_at(self, node: &Node, name: &str) -> Result<NamedFilePlace, JobError> {
        let named = |machine: &MachineSpec| machine.named(node.word()?);
        if let Some(devices) = self.devices.and_then(named) {
            let origin = node.origin.clone();
            return Ok(NamedFilePlace::OfMachine(Wish { devices, by_name: true, origin }));
        }
        no_target(node, "name real targets with `path`, or as in --on data=./data.img")?;
        let device = named_device::read(node, name, self.folder).map(Box::new);
        let own = |spec| NamedFilePlace::Own(FilePlace::Device(FileDevice::Own(spec)));
        device.map(own).map_err(|error| match self.devices {
            Some(machine) if node.word().is_some_and(|word| !devices::is_one(word)) => {
                let names = machine.device_names();
                error.hint(format!("{} has {names}; or name a device", machine.name))
            }
            _ => error,
        })
    }
}

impl NamedFilePlace {
    pub(super) fn is_path(&self) -> bool {
        matches!(self, Self::Own(FilePlace::Path(_)))
    }
}

/// Checks that `paths`, written at `origin`, suit the `count` files called `name`.
pub(super) fn check_paths(
    paths: &[String],
    name: &str,
    count: u32,
    origin: &Origin,
) -> Result<(), JobError> {
    if let Some(other) = paths.iter().find(|path| *path == "null" || path.starts_with("emulated:"))
    {
        let message = format!("{} is no real target", quote(other));
        let hint = "`path` names files and block devices; models are named with `device`";
        return Err(JobError::new(message).at(origin).hint(hint));
    }
    let enough = match paths {
        [path] => count == 1 || path.contains(NUMBER),
        each => each.len() == count as usize,
    };
    if enough {
        return Ok(());
    }
    let paths = match paths.len() {
        0 => "no path".into(),
        1 => "one path".into(),
        several => format!("{several} paths"),
    };
    let name = quote(name);
    let (message, hint) = match count {
        1 => (
            format!("found {paths} for the file {name}; expected one"),
            "write `path = \"./data.img\"`",
        ),
        _ => (
            format!("found {paths} for the {count} files of {name}; expected one for each"),
            "list them in the order of the files, or write one with `%d` in the place of the \
             number, as `/mnt/disk%d/data`",
        ),
    };
    Err(JobError::new(message).at(origin).hint(hint))
}

/// Reads the devices and targets of single files called `name`, of which there are `count`.
pub(super) fn on(
    node: &Node,
    name: &str,
    count: u32,
    around: Surroundings<'_>,
) -> Result<Vec<NamedSingle>, JobError> {
    let Value::Table(table) = &node.value else {
        let expected = node.expected("a device for single files");
        return Err(expected.hint("by their numbers, as in `on = { 2 = \"hdd-7200\" }`"));
    };
    let mut files: Vec<NamedSingle> = Vec::new();
    for entry in table.entries.iter().filter(|entry| around.heeds(&entry.node.origin)) {
        let number = entry.key.parse().ok().filter(|number| *number < count);
        let number = number.ok_or_else(|| {
            let message = format!("there is no file {name}.{}", entry.key);
            JobError::new(message).at(&entry.origin).hint(numbered(name, count))
        })?;
        let place = match entry.node.word().filter(|word| is_path(word)) {
            Some(path) => NamedFilePlace::Own(FilePlace::Path(path.into())),
            None => around.device_at(&entry.node, &format!("{name}.{number}"))?,
        };
        // `02` is the same number as `2`.
        files.retain(|single| single.number != number);
        files.push(NamedSingle { number, place, origin: entry.node.origin.clone() });
    }
    files.sort_by_key(|single| single.number);
    Ok(files)
}
