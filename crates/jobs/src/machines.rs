//! Reads machines by name or from a file: several devices, and the memory above them.
//!
//! A machine stands where a job names its device, and the job's files lie on the machine's devices. A
//! machine file holds one table, `[machine]`. The devices that a job itself names, `[device.NAME]`,
//! are read as a machine too.

use std::ops::Range;
use std::path::Path;

use penstock_policy::POLICIES;
use serde_json::{Value as Json, json};

use crate::amount::Count;
use crate::classes;
use crate::describe::{self, any, words};
use crate::devices::{self, DeviceSpec};
use crate::diagnose::{JobError, Origin, Source, quote};
use crate::keys::{Keys, keys, table};
use crate::kinds::{Own, Text, section};
use crate::machine_names::{BUILT_IN, is_machine, names};
use crate::page_cache::{PAGE_CACHE, PageCacheSpec};
use crate::reader::Reader;
use crate::rows::Rows;
use crate::text::{Lines, quoted};
use crate::tree::{self, KeyValue, Node, Value};
use crate::{file, named_device, params, path_text};

/// Most devices of a machine: the most files of a job.
const DEVICES_MOST: u64 = 1 << 10;

keys! {
    /// Keys of a machine file.
    FILE:
    /// The machine.
    MACHINE machine: Node = section(|| table(TABLE)),
        needs "{ devices = [{ name = \"disk\", device = \"hdd-7200\" }] }";
}

keys! {
    /// Keys of a machine that stand before its memory.
    KEYS:
    /// Name from which the names of its devices are formed; if not given, the file's name.
    NAME name: String = Text("a text");
    /// Description in one sentence.
    SUMMARY summary: String = Text("a text");
    /// The policy that the machine had before its disks. It is stated for readers only: a run names
    /// the policies that it compares.
    SCHEDULER scheduler: &'static str = Own {
        read: |node| {
            let found = params::policy(node.text("the name of a policy")?);
            found.map(|policy| policy.name).map_err(|error| error.at(&node.origin))
        },
        text: |name| quoted(name),
        schema: || words(POLICIES.iter().map(|policy| policy.name)),
    };
}

keys! {
    /// The machine's devices, on which the files of a job lie.
    DEVICES devices: Node = section(|| describe::some(&table(DEVICE_KEYS))),
        needs "[{ name = \"disk\", device = \"hdd-7200\" }]";
}

keys! {
    /// Keys of the devices of a machine: of one, or of several that are alike.
    DEVICE_KEYS:
    /// Name of the device, which files refer to. Several devices of this name are `disk.0`,
    /// `disk.1` and so on.
    DEVICE_NAME name: String = Own {
        read: device_name,
        text: |name| quoted(name),
        schema: || describe::matching(classes::NAME_PATTERN),
    }, needs "\"disk\"";
    /// Number of such devices.
    COUNT count: u32 = Count(1, DEVICES_MOST), or 1;
    /// The device: a named device, the path of a device file, or the device itself.
    DEVICE device: Node = section(named_device::schema), needs "\"hdd-7200\"";
}

/// Keys and sections of a machine, in the order in which they are written.
const TABLE: Keys = &[&NAME, &SUMMARY, &SCHEDULER, &PAGE_CACHE, &DEVICES];

/// A checked machine.
#[derive(Clone, PartialEq, Debug)]
pub struct MachineSpec {
    /// Name of the machine, which the names of its devices begin with.
    pub name: String,
    /// Description in one sentence; may be empty.
    pub summary: String,
    /// The policy that the real machine ran before its disks, if that is known.
    pub scheduler: Option<&'static str>,
    /// Its memory; the default of a job's page cache.
    pub page_cache: PageCacheSpec,
    /// Groups of devices, in their order.
    devices: Vec<MachineDevices>,
}

/// Devices of a machine that have one description.
#[derive(Clone, PartialEq, Debug)]
struct MachineDevices {
    name: String,
    count: u32,
    spec: DeviceSpec,
}

fn device_name(node: &Node) -> Result<String, JobError> {
    let name = node.text("the name of a device")?;
    check_name(name, &node.origin).map(|()| name.to_owned())
}

/// Checks that `name`, which was written at `origin`, may be the name of a device.
fn check_name(name: &str, origin: &Origin) -> Result<(), JobError> {
    let wrong = |message, hint: &str| Err(JobError::new(message).at(origin).hint(hint));
    if !classes::is_name(name) {
        return wrong(format!("{} is no name of a device", quote(name)), classes::NAME_HINT);
    }
    if devices::names().any(|known| known == name) {
        let message = format!("{} is the name of a device that is built in", quote(name));
        return wrong(message, "files could not tell the two apart: choose another name");
    }
    Ok(())
}

/// Whether `node` is a table of named devices, and not one device.
pub(crate) fn are_named(node: &Node) -> bool {
    let Value::Table(table) = &node.value else { return false };
    let device = |entry: &KeyValue| {
        let named = entry.node.word().is_some_and(devices::is_one);
        (named || matches!(entry.node.value, Value::Table(_))) && !devices::has_key(&entry.key)
    };
    !table.entries.is_empty() && table.entries.iter().all(device)
}

impl MachineSpec {
    /// Reads a machine's table. `name` is the default of its name; device files are relative to
    /// `folder`.
    fn read(node: &Node, name: &str, folder: &Path) -> Result<Self, JobError> {
        let reader = Reader::new(node, "the machine", &[TABLE])?;
        let name = reader.find(&NAME)?.unwrap_or_else(|| name.into());
        let list = reader.get(&DEVICES)?;
        let hint = "a device is a section: `[[machine.devices]]` with name and device";
        let Value::List(items) = &list.value else {
            return Err(list.expected("the devices of a machine").hint(hint));
        };
        let read = |node| PageCacheSpec::read(node, None);
        let mut machine = Self {
            summary: reader.find(&SUMMARY)?.unwrap_or_default(),
            scheduler: reader.find(&SCHEDULER)?,
            page_cache: reader
                .node(&PAGE_CACHE)
                .map_or_else(|| Ok(PageCacheSpec::default()), read)?,
            devices: Vec::with_capacity(items.len()),
            name,
        };
        for item in items {
            let read = MachineDevices::read(item, &machine, folder)?;
            machine.devices.push(read);
        }
        let count = machine.count();
        if items.is_empty() || count as u64 > DEVICES_MOST {
            let message = match count {
                0 => "the machine has no device".into(),
                _ => format!("the machine has {count} devices; at most {DEVICES_MOST} may be"),
            };
            return Err(JobError::new(message).at(&list.origin).hint(hint));
        }
        Ok(machine)
    }

    /// Reads the devices that a job names, each by its key in the table `node`; device files are
    /// relative to `folder`.
    pub(crate) fn of_job(node: &Node, folder: &Path) -> Result<Self, JobError> {
        let Value::Table(table) = &node.value else { return Err(node.expected("devices by name")) };
        let device = |entry: &KeyValue| {
            let is_number =
                |text: &str| !text.is_empty() && text.bytes().all(|c| c.is_ascii_digit());
            // Devices of a machine that files share are written with their numbers.
            let numbered = entry.key.rsplit_once('.').filter(|(_, number)| is_number(number));
            let name = numbered.map_or(&*entry.key, |(name, _)| name);
            check_name(name, &entry.origin)?;
            let spec = named_device::read(&entry.node, &entry.key, folder)?;
            Ok(MachineDevices { name: entry.key.clone(), count: 1, spec })
        };
        let devices: Vec<_> = table.entries.iter().map(device).collect::<Result<_, JobError>>()?;
        if devices.len() as u64 > DEVICES_MOST {
            let message =
                format!("the job names {} devices; at most {DEVICES_MOST} may be", devices.len());
            return Err(JobError::new(message).at(&node.origin));
        }
        Ok(Self {
            name: "the job".into(),
            summary: String::new(),
            scheduler: None,
            page_cache: PageCacheSpec::default(),
            devices,
        })
    }

    /// Number of devices.
    pub fn count(&self) -> usize {
        self.devices.iter().map(|devices| devices.count as usize).sum()
    }

    /// Returns the device of this number, counted from 0 over all groups.
    ///
    /// # Panics
    /// If the machine has no such device.
    pub(crate) fn device(&self, number: usize) -> &DeviceSpec {
        let mut each = self.devices.iter().flat_map(MachineDevices::each);
        each.nth(number).expect("a device of the machine")
    }

    /// Returns the name of the device of this number.
    ///
    /// # Panics
    /// If the machine has no such device.
    pub(crate) fn name_of(&self, number: usize) -> String {
        let mut first = 0;
        for devices in &self.devices {
            let count = devices.count as usize;
            if number < first + count {
                return match count {
                    1 => devices.name.clone(),
                    _ => format!("{}.{}", devices.name, number - first),
                };
            }
            first += count;
        }
        unreachable!("a device of the machine")
    }

    /// Returns the numbers of the devices called `name`; `None` if no device has this name.
    pub(crate) fn named(&self, name: &str) -> Option<Range<usize>> {
        let mut first = 0;
        for devices in &self.devices {
            let count = devices.count as usize;
            if devices.name == name {
                return Some(first..first + count);
            }
            let number = name.strip_prefix(&devices.name).and_then(|rest| rest.strip_prefix('.'));
            if let Some(number) = number.and_then(|number| number.parse::<usize>().ok())
                && number < count
            {
                return Some(first + number..first + number + 1);
            }
            first += count;
        }
        None
    }

    /// Lists the names of all devices, for a message.
    pub(crate) fn device_names(&self) -> String {
        self.devices.iter().map(MachineDevices::names).collect::<Vec<_>>().join(", ")
    }

    /// Writes the table with every default in place.
    fn write(&self, out: &mut Lines) {
        let summary = Some(&self.summary).filter(|summary| !summary.is_empty());
        Rows::of(&[KEYS])
            .put(&NAME, &self.name)
            .maybe(&SUMMARY, summary)
            .maybe(&SCHEDULER, self.scheduler.as_ref())
            .section(Some(&format!("[{}]", MACHINE.name)), out);
        self.page_cache.write(&format!("{}.{}", MACHINE.name, PAGE_CACHE.name), out);
        let section = format!("{}.{}", MACHINE.name, DEVICES.name);
        for devices in &self.devices {
            Rows::of(&[DEVICE_KEYS])
                .put(&DEVICE_NAME, &devices.name)
                .put(&COUNT, &devices.count)
                .section(Some(&format!("[[{section}]]")), out);
            devices.spec.write(&format!("{section}.{}", DEVICE.name), out);
        }
    }
}

impl MachineDevices {
    /// Reads one section of devices, which follows those already in `machine`; device files are
    /// relative to `folder`.
    fn read(node: &Node, machine: &MachineSpec, folder: &Path) -> Result<Self, JobError> {
        let reader = Reader::new(node, "this device of the machine", &[DEVICE_KEYS])?;
        let (name, count) = (reader.get(&DEVICE_NAME)?, reader.get(&COUNT)?);
        if machine.devices.iter().any(|other| other.name == name) {
            let message = format!("two devices are called {}", quote(&name));
            let hint = "give one another name; several that are alike are one section with `count`";
            return Err(JobError::new(message).at(reader.place(&DEVICE_NAME)).hint(hint));
        }
        let called = format!("{}.{name}", machine.name);
        let spec = named_device::read(&reader.get(&DEVICE)?, &called, folder)?;
        Ok(Self { name, count, spec })
    }

    /// Returns each device.
    fn each(&self) -> impl Iterator<Item = &DeviceSpec> {
        std::iter::repeat_n(&self.spec, self.count as usize)
    }

    /// Describes the names of these devices.
    fn names(&self) -> String {
        match self.count {
            1 => self.name.clone(),
            count => format!("{}.0 to {}.{}", self.name, self.name, count - 1),
        }
    }
}

/// Returns every built-in machine.
pub fn named() -> impl Iterator<Item = MachineSpec> {
    BUILT_IN.iter().map(|(name, text)| built_in(name, text))
}

/// Returns the machine that is called `name` or described by the file `name`; `None` if it is no
/// machine.
///
/// # Errors
/// The file cannot be read, or is wrong.
pub fn find(name: &str) -> Result<Option<MachineSpec>, JobError> {
    find_in(Path::new(""), name)
}

/// Finds a machine as [`find`] does, with paths relative to `folder`.
pub(crate) fn find_in(folder: &Path, name: &str) -> Result<Option<MachineSpec>, JobError> {
    if let Some((name, text)) = BUILT_IN.iter().find(|(known, _)| *known == name) {
        return Ok(Some(built_in(name, text)));
    }
    let path = folder.join(path_text::path(name));
    if devices::names().any(|known| known == name) || !devices::is_file(&path) {
        return Ok(None);
    }
    let text = file::read(&path, "device file")?;
    let root = tree::parse(&Source::file(&path.display().to_string(), &text))?;
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let folder = path.parent().unwrap_or(Path::new(""));
    if is_machine(&root) { parse(&root, &stem, folder).map(Some) } else { Ok(None) }
}

/// Returns the machine or device of a name or file as the text of such a file, with every default
/// in place.
///
/// # Errors
/// Nothing has this name, or its file is wrong.
pub fn text(name: &str) -> Result<String, JobError> {
    let Some(machine) = find(name)? else { return devices::text(name) };
    let mut out = Lines::default();
    machine.write(&mut out);
    Ok(out.done())
}

fn built_in(name: &str, text: &str) -> MachineSpec {
    let source = Source::file(&format!("{name} (built in)"), text);
    let machine = tree::parse(&source).and_then(|root| parse(&root, name, Path::new("")));
    machine.expect("it is built in")
}

fn parse(root: &Node, name: &str, folder: &Path) -> Result<MachineSpec, JobError> {
    let reader = Reader::new(root, "the machine file", &[FILE])?;
    MachineSpec::read(&reader.get(&MACHINE)?, name, folder)
}

/// Describes a machine file.
pub(crate) fn schema() -> Json {
    table(FILE)
}

/// Describes the device of a job: a device or a machine.
pub(crate) fn or_device() -> Json {
    any([named_device::schema(), words(names()), of_job_schema()])
}

/// Describes the name by which a file of a job refers to a device.
pub(crate) fn device_pattern() -> Json {
    describe::matching(&classes::NAME_PATTERN.replace('$', "([.][0-9]+)?$"))
}

/// Describes the devices that a job names.
pub(crate) fn of_job_schema() -> Json {
    json!({
        "type": "object",
        "minProperties": 1,
        "maxProperties": DEVICES_MOST,
        "propertyNames": device_pattern(),
        "additionalProperties": named_device::schema(),
        "not": {"anyOf": devices::key_names().map(|key| json!({"required": [key]})).collect::<Vec<_>>()},
    })
}

/// Describes the name of a machine.
pub(crate) fn word_schema() -> Json {
    any([words(names()), named_device::file()])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine_names::TABLE as OF_A_FILE;

    #[test]
    fn a_file_is_known_by_the_table_that_it_needs() {
        assert_eq!(MACHINE.name, OF_A_FILE);
    }
}
