//! Reads the files of a job. Each is on a device of its own, with its own queue and policy.

use std::ops::Range;

use serde_json::{Value as Json, json};

use crate::amount::{Count, SIZE};
use crate::classes;
use crate::describe;
use crate::devices::DeviceSpec;
use crate::diagnose::{JobError, Origin, quote};
use crate::keys::{keys, table};
use crate::kinds::{Each, Own, Text, section};
use crate::machines::MachineSpec;
use crate::named_device;
use crate::nearest::suggest;
use crate::reader::Reader;
use crate::rows::Rows;
use crate::text::{Lines, quoted};
use crate::tree::{Node, Value};
use crate::units::{about, size_text};
use crate::workload::extent::{Extent, FileExtent};
use crate::workload::file_places::{
    self, FilePlace, NUMBER, NamedFilePlace, NamedSingle, OnMachine, SingleFile, Surroundings,
    Wish, check_paths,
};
use crate::workload::lanes::{FileTarget, LaneDevice, path_schema};
use crate::workload::region::{Edge, whole_blocks};

/// Most files of a job: each has a device, a queue and a policy.
const FILES_MOST: u64 = 1 << 10;

keys! {
    /// The files of the agents: one, or several that are alike, each on a device of its own.
    FILE file: Node = section(|| describe::some(&table(KEYS)));
}

keys! {
    /// Keys of a file.
    KEYS:
    /// Name of the file, which agents refer to. Several files of this name are `data.0`, `data.1`
    /// and so on.
    NAME name: String = Own {
        read: name,
        text: |name| quoted(name),
        schema: || describe::matching(classes::NAME_PATTERN),
    }, needs "\"data\"";
    /// Number of such files, each on a device of its own.
    COUNT count: u32 = Count(1, FILES_MOST), or 1;
    /// Bytes of each file.
    BYTES size: u64 = SIZE.above_zero().hint("a file holds something"), needs "\"4GiB\"";
    /// Begin of each file on its device: a share of the device, or bytes.
    AT at: Edge = Own { read: Edge::read, text: Edge::quoted, schema: Edge::schema }, or Edge::At(0);
    /// The device of each file: a named device, the path of a device file, or the device itself; on
    /// a machine, the name of one of its devices. If not given, the device of the job, or the
    /// machine's next.
    DEVICE device: Node = section(file_places::device_schema);
    /// The real target of each file, on which the job runs live unless `--on` names models: the
    /// path of a file that Penstock owns, the same behind a loop device as `loop:PATH`, or a block
    /// device. For several files a list, in their order, or one path with `%d` in place of the
    /// number, as `/mnt/disk%d/data`.
    PATH path: Vec<String> = Each(&Text("the path of a target"));
    /// Other devices or paths for single files of this name, by their number.
    ON on: Node = section(|| json!({
        "type": "object",
        "propertyNames": describe::matching("^[0-9]+$"),
        "additionalProperties": describe::any([file_places::device_schema(), path_schema()]),
    }));
}

/// Files of one section, which differ at most in their devices.
#[derive(Clone, PartialEq, Debug)]
pub struct FileSpec {
    /// Name for agents.
    pub name: String,
    /// Number of files.
    pub count: u32,
    /// Size of each in bytes.
    pub size: u64,
    /// Place of each on its device.
    pub at: Edge,
    /// Device of each, if it is not that of the job.
    pub device: Option<DeviceSpec>,
    /// Real targets as they were written; empty if the files are on models.
    paths: Vec<String>,
    /// The files that are on other devices or targets.
    on: Vec<SingleFile>,
    name_origin: Origin,
    size_origin: Origin,
    at_origin: Origin,
}

fn name(node: &Node) -> Result<String, JobError> {
    let name = node.text("the name of a file")?;
    if classes::is_name(name) {
        return Ok(name.to_owned());
    }
    let message = format!("{} is no name of a file", quote(name));
    Err(JobError::new(message).at(&node.origin).hint(classes::NAME_HINT))
}

/// Reads the sections `[[file]]`.
pub(crate) fn read(node: &Node, around: Surroundings<'_>) -> Result<Vec<FileSpec>, JobError> {
    let hint = "a file is a section: `[[file]]` with name, size and device";
    let Value::List(items) = &node.value else { return Err(node.expected("files").hint(hint)) };
    let mut files: Vec<FileSpec> = Vec::with_capacity(items.len());
    let mut on_machine = Vec::new();
    for item in items {
        let (file, wishes) = FileSpec::read(item, around)?;
        if files.iter().any(|other| other.name == file.name) {
            let message = format!("two files are called {}", quote(&file.name));
            let hint = "give one another name; several that are alike are one section with `count`";
            return Err(JobError::new(message).at(&file.name_origin).hint(hint));
        }
        let section = files.len();
        on_machine.extend(wishes.into_iter().map(|(number, wish)| OnMachine {
            section,
            number,
            name: file.name_of(number),
            wish,
        }));
        files.push(file);
    }
    let all: u64 = files.iter().map(|file| u64::from(file.count)).sum();
    if all > FILES_MOST {
        let message = format!("the job has {all} files; at most {FILES_MOST} may be");
        let hint = "each has a device of its own: lower a `count`";
        return Err(JobError::new(message).at(&node.origin).hint(hint));
    }
    if files.is_empty() {
        return Err(JobError::new("the job has no file").at(&node.origin).hint(hint));
    }
    if let Some(machine) = around.machine {
        for (section, single) in file_places::assign_devices(machine, on_machine)? {
            files[section].on.push(single);
        }
        files.iter_mut().for_each(FileSpec::merge_devices);
    }
    Ok(files)
}

impl FileSpec {
    /// Reads the section, and the devices of a machine that its files may take.
    fn read(node: &Node, around: Surroundings<'_>) -> Result<(Self, Vec<(u32, Wish)>), JobError> {
        let reader = Reader::new(node, "this file", &[KEYS])?;
        let name = reader.get(&NAME)?;
        let count = reader.get(&COUNT)?;
        let device = reader.node(&DEVICE).filter(|node| around.heeds(&node.origin));
        let device = device.map(|node| around.device_at(node, &name)).transpose()?;
        let on =
            reader.node(&ON).map(|node| file_places::on(node, &name, count, around)).transpose()?;
        let mut on = on.unwrap_or_default();
        let (device_origin, path_origin) = (reader.place(&DEVICE), reader.place(&PATH));
        let paths = reader.find(&PATH)?;
        if let Some(paths) = &paths {
            check_paths(paths, &name, count, path_origin)?;
        }
        let mut paths = paths.filter(|_| around.heeds(path_origin)).unwrap_or_default();
        // An argument overrides the file.
        if path_origin.is_set() {
            on.retain(|single| single.origin.is_set());
        } else if device.is_some() && device_origin.is_set() {
            paths.clear();
            on.retain(|single| !single.place.is_path() || single.origin.is_set());
        }
        let mut file = Self {
            count,
            size: reader.get(&BYTES)?,
            at: reader.get(&AT)?,
            device: None,
            paths,
            on: Vec::new(),
            name_origin: reader.place(&NAME).clone(),
            size_origin: reader.place(&BYTES).clone(),
            at_origin: reader.place(&AT).clone(),
            name,
        };
        let next =
            || around.machine.map(|machine| NamedFilePlace::OfMachine(file.on_any_of(machine)));
        // Files on real targets take no devices of a machine.
        let usual = device.or_else(|| next().filter(|_| file.paths.is_empty()));
        let mut wishes = Vec::new();
        for number in 0..count {
            let own = on.iter().find(|single| single.number == number);
            if let Some(NamedFilePlace::OfMachine(wish)) =
                own.map_or(usual.as_ref(), |single| Some(&single.place))
            {
                wishes.push((number, wish.clone()));
            }
        }
        if let Some(NamedFilePlace::Own(FilePlace::Device(spec))) = usual {
            file.device = Some(*spec);
        }
        for NamedSingle { number, place, .. } in on {
            if let NamedFilePlace::Own(on) = place {
                file.on.push(SingleFile { number, on });
            }
        }
        Ok((file, wishes))
    }

    /// Returns the wish of a file that names no device of `machine`.
    fn on_any_of(&self, machine: &MachineSpec) -> Wish {
        Wish { devices: 0..machine.count(), origin: self.name_origin.clone() }
    }

    /// Replaces the single devices by a common one, if each file has its own and they are equal.
    fn merge_devices(&mut self) {
        self.on.sort_by_key(|single| single.number);
        if let [first, rest @ ..] = &self.on[..]
            && self.on.len() == self.count as usize
            && let Some(device) = first.device()
            && rest.iter().all(|other| other.on == first.on)
        {
            self.device = Some(device.clone());
            self.on.clear();
        }
    }

    /// Writes the section with every default in place.
    pub(crate) fn write(&self, out: &mut Lines) {
        Rows::of(&[KEYS])
            .put(&NAME, &self.name)
            .put(&COUNT, &self.count)
            .put(&BYTES, &self.size)
            .put(&AT, &self.at)
            .maybe(&PATH, Some(&self.paths).filter(|paths| !paths.is_empty()))
            .section(Some(&format!("[[{}]]", FILE.name)), out);
        if let Some(device) = &self.device {
            device.write(&format!("{}.{}", FILE.name, DEVICE.name), out);
        }
        let on = format!("{}.{}", FILE.name, ON.name);
        let number = |single: &SingleFile| quoted(&single.number.to_string());
        if self.on.iter().any(|single| single.path().is_some()) {
            out.section(&format!("[{on}]"));
        }
        for (single, path) in self.on.iter().filter_map(|single| Some((single, single.path()?))) {
            out.line(&number(single), quoted(path));
        }
        for (single, spec) in self.on.iter().filter_map(|single| Some((single, single.device()?))) {
            spec.write(&format!("{on}.{}", number(single)), out);
        }
    }

    /// Names of all files.
    fn names(&self) -> impl Iterator<Item = String> {
        (0..self.count).map(|number| self.name_of(number))
    }

    /// Name of the file `number`.
    fn name_of(&self, number: u32) -> String {
        match self.count {
            1 => self.name.clone(),
            _ => format!("{}.{number}", self.name),
        }
    }

    /// Returns the number of the file called `name`, if there is one; a single file also has the
    /// number 0.
    fn number(&self, name: &str) -> Option<u32> {
        let number = name.strip_prefix(&self.name)?.strip_prefix('.')?.parse().ok()?;
        (number < self.count).then_some(number)
    }

    /// Describes the names of all files, for a hint.
    fn numbered(&self) -> String {
        file_places::numbered(&self.name, self.count)
    }

    /// Returns the device of the file `number`, if it is not that of the job.
    fn device_of(&self, number: u32) -> Option<&DeviceSpec> {
        let single = self.on.iter().find(|single| single.number == number);
        single.and_then(SingleFile::device).or(self.device.as_ref())
    }

    /// Returns the path of the file `number`, if it is on a real target.
    fn path_of(&self, number: u32) -> Option<String> {
        if let Some(single) = self.on.iter().find(|single| single.number == number) {
            return single.path().map(Into::into);
        }
        let path = match &self.paths[..] {
            [path] => Some(path),
            each => each.get(number as usize),
        };
        path.map(|path| path.replace(NUMBER, &number.to_string()))
    }

    /// Returns the extent on `device` of the file called `name`.
    fn extent_on(&self, name: &str, device: Extent) -> Result<FileExtent, JobError> {
        let (capacity, step) = whole_blocks(device.capacity, device.block);
        let larger = |message: String, origin: &Origin, hint: &str| {
            Err(JobError::new(message).at(origin).hint(hint))
        };
        let (size, holds) = (size_text(self.size), about(capacity));
        if self.size > capacity {
            let message = format!("file {name} has {size}; its device has {holds}");
            let hint = "lower its `size`, or name a larger device";
            return larger(message, &self.size_origin, hint);
        }
        let past = || {
            let at = self.at.text();
            let message = format!(
                "file {name} begins at {at} and has {size}: it ends past its device, which has {holds}"
            );
            let hint = "let it begin nearer to the device's beginning, or lower its `size`";
            larger(message, &self.at_origin, hint)
        };
        let at = match self.at {
            Edge::At(bytes) if bytes > capacity => return past(),
            at => at.on(capacity, step)?,
        };
        if at + self.size > capacity {
            return past();
        }
        let (size, _) = whole_blocks(self.size, device.block);
        Ok(FileExtent { first: device.base + at, size, step })
    }
}

/// Returns the names of all files, in their order.
pub(crate) fn names(files: &[FileSpec]) -> Vec<String> {
    files.iter().flat_map(FileSpec::names).collect()
}

/// Returns the devices of all files; `usual`, the device of the job, is for those that name none.
/// Empty if no file names one.
///
/// # Errors
/// A file has no device.
pub(crate) fn devices(
    files: &[FileSpec],
    usual: Option<&DeviceSpec>,
) -> Result<Vec<LaneDevice>, JobError> {
    let device = |file: &FileSpec| {
        file.device.is_some() || file.on.iter().any(|path| path.device().is_some())
    };
    if !files.iter().any(device) {
        return Ok(Vec::new());
    }
    let mut devices = Vec::new();
    for file in files {
        for (number, name) in (0..).zip(file.names()) {
            let spec = file.device_of(number).or(usual).cloned().ok_or_else(|| {
                let message = format!("file {name} has no device");
                let hint = "give its section a `device`, or the job one for all that name none";
                JobError::new(message).at(&file.name_origin).hint(hint)
            })?;
            devices.push(LaneDevice { name, spec });
        }
    }
    Ok(devices)
}

/// Returns the real targets of all files, in their order; empty if the files are on models.
///
/// # Errors
/// Some files are on targets, and others are not.
pub(crate) fn targets(files: &[FileSpec]) -> Result<Vec<FileTarget>, JobError> {
    let each = files.iter().flat_map(|file| {
        (0..).zip(file.names()).map(move |(number, name)| (file, name, file.path_of(number)))
    });
    let (on_targets, others): (Vec<_>, Vec<_>) = each.partition(|(.., path)| path.is_some());
    if let (Some((_, named, _)), Some((file, other, _))) = (on_targets.first(), others.first()) {
        let message = format!("file {named} is on a real target, and {other} names none");
        let hint =
            format!("files are all on targets, or all on models: name one as in --on {other}=PATH");
        return Err(JobError::new(message).at(&file.name_origin).hint(hint));
    }
    let target = |(_, file, path): (&FileSpec, String, Option<String>)| {
        path.map(|path| FileTarget { file, path })
    };
    Ok(on_targets.into_iter().filter_map(target).collect())
}

/// Whether there are files and each names a device.
pub(crate) fn all_have_devices(files: &[FileSpec]) -> bool {
    !files.is_empty() && files.iter().all(|file| file.device.is_some())
}

/// Matches a job in which each file names a device.
pub(crate) fn with_devices() -> Json {
    let item = json!({"type": "object", "required": [DEVICE.name]});
    json!({"properties": {FILE.name: describe::some(&item)}})
}

/// Matches a job whose files name no devices of a machine.
pub(crate) fn on_named_devices() -> Json {
    let device = named_device::schema();
    let item = json!({"properties": {
        DEVICE.name: device.clone(),
        ON.name: {"additionalProperties": describe::any([device, path_schema()])},
    }});
    json!({"properties": {FILE.name: {"items": item}}})
}

/// Returns the numbers of the files called `name`, which was written at `origin`.
pub(crate) fn named(
    name: &str,
    origin: &Origin,
    files: &[FileSpec],
) -> Result<Range<u32>, JobError> {
    let mut first = 0;
    for file in files {
        if file.name == name {
            return Ok(first..first + file.count);
        }
        if let Some(number) = file.number(name) {
            return Ok(first + number..first + number + 1);
        }
        first += file.count;
    }
    let error = JobError::new(format!("there is no file {}", quote(name))).at(origin);
    let of_section = |file: &&FileSpec| name.split_once('.').is_some_and(|(n, _)| n == file.name);
    Err(error.hint(match files.iter().find(of_section) {
        Some(file) => file.numbered(),
        None => suggest(name, files.iter().map(|file| file.name.as_str())),
    }))
}

/// Returns the extent of each file on its device; the whole device if there are no files.
///
/// # Errors
/// A file does not fit on its device.
pub(crate) fn layout(files: &[FileSpec], devices: &[Extent]) -> Result<Vec<FileExtent>, JobError> {
    if files.is_empty() {
        return Ok(devices.iter().copied().map(FileExtent::whole).collect());
    }
    let each = files.iter().flat_map(|file| file.names().map(move |name| (file, name)));
    each.zip(devices).map(|((file, name), device)| file.extent_on(&name, *device)).collect()
}

/// Removes the models of the files, which are on real targets.
pub(crate) fn drop_models(files: &mut [FileSpec]) {
    for file in files {
        file.device = None;
        file.on.retain(|single| single.path().is_some());
    }
}

/// Removes the devices and targets of the files: all are on devices like that of the job.
pub(crate) fn drop_devices(files: &mut [FileSpec]) {
    for file in files {
        file.device = None;
        file.paths.clear();
        file.on.clear();
    }
}

#[cfg(test)]
mod tests;
