//! Files as a job describes them: each is on a device of its own, with a queue and a policy of its own.

use std::ops::Range;
use std::path::Path;

use serde_json::{Value as Json, json};

use crate::amount::{Count, SIZE};
use crate::classes;
use crate::devices::{self, DeviceSpec};
use crate::diagnose::{JobError, Origin, quote};
use crate::keys::{keys, table};
use crate::kinds::{Each, Own, Text, section};
use crate::machines::MachineSpec;
use crate::named_device;
use crate::nearest::suggest;
use crate::reader::Reader;
use crate::rows::Rows;
use crate::schema::build;
use crate::text::{Lines, quoted};
use crate::tree::{Node, Value};
use crate::units::{about, size_text};
use crate::workload::extent::{Extent, Lying};
use crate::workload::lanes::{FileTarget, LaneDevice, is_path, no_target, path_schema};
use crate::workload::region::{Edge, whole_blocks};

/// Files of a job at most: each has a device, a queue and a policy.
const FILES_MOST: u64 = 1 << 10;

keys! {
    /// What agents read and write: one file, or several that are alike, each on a device of its own.
    FILE file: Node = section(|| build::some(&table(KEYS)));
}

keys! {
    /// Keys of a file.
    KEYS:
    /// What agents call it. Several of this name are `data.0`, `data.1` and so on.
    NAME name: String = Own {
        read: name,
        text: |name| quoted(name),
        schema: || build::matching(classes::NAME_PATTERN),
    }, needs "\"data\"";
    /// How many there are, each on a device of its own.
    COUNT count: u32 = Count(1, FILES_MOST), or 1;
    /// Bytes of each.
    BYTES size: u64 = SIZE.above_zero().hint("a file holds something"), needs "\"4GiB\"";
    /// Where on its device each begins: a share of the device, or bytes.
    AT at: Edge = Own { read: Edge::read, text: Edge::quoted, schema: Edge::schema }, or Edge::At(0);
    /// The device of each: a named device, the path of a device file, or the device itself; on a
    /// machine, which of its devices. If not given, that of the job, or the machine's next.
    DEVICE device: Node = section(device_schema);
    /// The real target of each, with which the job runs live unless `--on` names models: the path of a
    /// file that Penstock owns, the same behind a loop device as `loop:PATH`, or a block device. Of
    /// several files a list, in their order, or one path with `%d` in the place of the number, as
    /// `/mnt/disk%d/data`.
    PATH path: Vec<String> = Each(&Text("the path of a target"));
    /// Devices of single files of this name, by their number, where they are others; or their paths.
    ON on: Node = section(|| json!({
        "type": "object",
        "propertyNames": build::matching("^[0-9]+$"),
        "additionalProperties": build::any([device_schema(), path_schema()]),
    }));
}

/// Files that are alike, but perhaps for their devices.
#[derive(Clone, PartialEq, Debug)]
pub struct FileSpec {
    /// What agents call them.
    pub name: String,
    /// How many there are.
    pub count: u32,
    /// Bytes of each.
    pub size: u64,
    /// Where on its device each begins.
    pub at: Edge,
    /// The device of each, if it is not that of the job.
    pub device: Option<DeviceSpec>,
    /// The real target of each, as it was written; empty if they are on models.
    paths: Vec<String>,
    /// Those of them that are on other devices or targets.
    on: Vec<SingleFile>,
    name_origin: Origin,
    size_origin: Origin,
    at_origin: Origin,
}

/// What one of several files of a name is on.
#[derive(Clone, PartialEq, Debug)]
struct SingleFile {
    number: u32,
    on: FilePlace,
}

/// What a file is on.
#[derive(Clone, PartialEq, Debug)]
enum FilePlace {
    Device(Box<DeviceSpec>),
    Path(String),
}

impl SingleFile {
    fn device(&self) -> Option<&DeviceSpec> {
        if let FilePlace::Device(spec) = &self.on { Some(spec) } else { None }
    }

    fn path(&self) -> Option<&str> {
        if let FilePlace::Path(path) = &self.on { Some(path) } else { None }
    }
}

/// What stands in a path for the number of a file.
const NUMBER: &str = "%d";

/// What a job says of the devices of its files before they are read.
#[derive(Clone, Copy)]
pub(crate) struct Surroundings<'a> {
    /// Where device files lie.
    pub(crate) folder: &'a Path,
    /// The machine that the job names as its device.
    pub(crate) machine: Option<&'a MachineSpec>,
    /// An argument names the job's device: what the job's file says of the files' devices gives way.
    pub(crate) only_set: bool,
}

/// What a section names for a file.
#[derive(Clone)]
enum NamedFilePlace {
    /// What only this file is on.
    Own(FilePlace),
    /// Devices of the machine, of which the file takes one.
    OfMachine(Wish),
}

/// What a section names for one of its files, and where.
struct NamedSingle {
    number: u32,
    place: NamedFilePlace,
    origin: Origin,
}

/// Devices of the machine, by number, of which a file takes one, and where that was written.
#[derive(Clone)]
struct Wish {
    devices: Range<usize>,
    origin: Origin,
}

/// A file that lies on a device of the machine.
struct OnMachine {
    /// The number of its section.
    section: usize,
    /// Its number in the section.
    number: u32,
    wish: Wish,
}

fn name(node: &Node) -> Result<String, JobError> {
    let name = node.text("the name of a file")?;
    if classes::is_name(name) {
        return Ok(name.to_owned());
    }
    let found = format!("{} is no name of a file", quote(name));
    Err(JobError::new(found).at(&node.origin).hint(classes::NAME_HINT))
}

/// What may stand as the device of a file.
fn device_schema() -> Json {
    // A device of a machine has a name as a file has.
    let of_machine = classes::NAME_PATTERN.replace('$', "([.][0-9]+)?$");
    build::any([named_device::schema(), build::matching(&of_machine)])
}

/// Reads `[[file]]`.
pub(crate) fn read(node: &Node, around: Surroundings<'_>) -> Result<Vec<FileSpec>, JobError> {
    let hint = "a file is a section: `[[file]]` with name, size and device";
    let Value::List(items) = &node.value else { return Err(node.expected("files").hint(hint)) };
    let mut files: Vec<FileSpec> = Vec::with_capacity(items.len());
    let mut on_machine = Vec::new();
    for item in items {
        let (file, wishes) = FileSpec::read(item, around)?;
        if files.iter().any(|other| other.name == file.name) {
            let found = format!("two files are called {}", quote(&file.name));
            let hint = "give one another name; several that are alike are one section with `count`";
            return Err(JobError::new(found).at(&file.name_origin).hint(hint));
        }
        let section = files.len();
        let placed = wishes.into_iter().map(|(number, wish)| OnMachine { section, number, wish });
        on_machine.extend(placed);
        files.push(file);
    }
    let all: u64 = files.iter().map(|file| u64::from(file.count)).sum();
    if all > FILES_MOST {
        let found = format!("the job has {all} files; at most {FILES_MOST} may be");
        let hint = "each has a device of its own: lower a `count`";
        return Err(JobError::new(found).at(&node.origin).hint(hint));
    }
    if files.is_empty() {
        return Err(JobError::new("the job has no file").at(&node.origin).hint(hint));
    }
    if let Some(machine) = around.machine {
        lie_on(machine, &mut files, on_machine)?;
    }
    Ok(files)
}

/// Puts those of `files` that are `placed` there on the devices of `machine`, each on the first that it
/// may take and no other file has.
fn lie_on(
    machine: &MachineSpec,
    files: &mut [FileSpec],
    mut placed: Vec<OnMachine>,
) -> Result<(), JobError> {
    // Names stand for one device, some, or all, so whatever may take fewer goes first.
    placed.sort_by_key(|file| file.wish.devices.len());
    let mut taken: Vec<Option<String>> = vec![None; machine.count()];
    for OnMachine { section, number, wish } in placed {
        let file = &mut files[section];
        let name = file.name_of(number);
        let Some(free) = wish.devices.clone().find(|device| taken[*device].is_none()) else {
            let found = match &taken[wish.devices.clone()] {
                [Some(other)] if taken.len() > 1 => {
                    format!("file {name} has no device: on the one that it names lies {other}")
                }
                these => {
                    let (whose, count) = (&machine.name, these.len());
                    let such = if count < taken.len() { "such " } else { "" };
                    let s = if count == 1 { "" } else { "s" };
                    format!(
                        "file {name} has no device: {whose} has {count} {such}device{s}, each with \
                         one file"
                    )
                }
            };
            let names = machine.device_names();
            let hint = format!(
                "two files on one device would be served as if they were on two: lower `count`, or \
                 name a device that is free; there are {names}"
            );
            return Err(JobError::new(found).at(&wish.origin).hint(hint));
        };
        taken[free] = Some(name);
        let spec = machine.device(free).clone();
        file.on.push(SingleFile { number, on: FilePlace::Device(Box::new(spec)) });
    }
    files.iter_mut().for_each(FileSpec::sum_up);
    Ok(())
}

impl FileSpec {
    /// The section, and which of its files lie on which devices of a machine.
    fn read(node: &Node, around: Surroundings<'_>) -> Result<(Self, Vec<(u32, Wish)>), JobError> {
        let reader = Reader::new(node, "this file", &[KEYS])?;
        let name = reader.get(&NAME)?;
        let count = reader.get(&COUNT)?;
        let device = reader.node(&DEVICE).filter(|node| around.heeds(&node.origin));
        let device = device.map(|node| around.device_at(node, &name)).transpose()?;
        let on = reader.node(&ON).map(|node| on(node, &name, count, around)).transpose()?;
        let mut on = on.unwrap_or_default();
        let (device_origin, path_origin) = (reader.place(&DEVICE), reader.place(&PATH));
        let paths = reader.find(&PATH)?;
        if let Some(paths) = &paths {
            check_paths(paths, &name, count, path_origin)?;
        }
        let mut paths = paths.filter(|_| around.heeds(path_origin)).unwrap_or_default();
        // An argument wins over the file.
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

    /// What the next device of `machine` is for: one that is not named.
    fn on_any_of(&self, machine: &MachineSpec) -> Wish {
        Wish { devices: 0..machine.count(), origin: self.name_origin.clone() }
    }

    /// The same with one device for all, if each has a device of its own and they are alike.
    fn sum_up(&mut self) {
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

    /// The section, with every default in place.
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
        for (single, path) in self.on.iter().filter_map(|one| Some((one, one.path()?))) {
            out.line(&number(single), quoted(path));
        }
        for (single, spec) in self.on.iter().filter_map(|one| Some((one, one.device()?))) {
            spec.write(&format!("{on}.{}", number(single)), out);
        }
    }

    /// What each of them is called.
    fn names(&self) -> impl Iterator<Item = String> {
        (0..self.count).map(|number| self.name_of(number))
    }

    /// What the one of this number is called.
    fn name_of(&self, number: u32) -> String {
        match self.count {
            1 => self.name.clone(),
            _ => format!("{}.{number}", self.name),
        }
    }

    /// Whether one of them is called `name`, and which: one file is called without a number too.
    fn number(&self, name: &str) -> Option<u32> {
        let number = name.strip_prefix(&self.name)?.strip_prefix('.')?.parse().ok()?;
        (number < self.count).then_some(number)
    }

    /// What all of them are called, for a hint.
    fn numbered(&self) -> String {
        numbered(&self.name, self.count)
    }

    /// The device of the one of this number, if it is not that of the job.
    fn device_of(&self, number: u32) -> Option<&DeviceSpec> {
        let single = self.on.iter().find(|single| single.number == number);
        single.and_then(SingleFile::device).or(self.device.as_ref())
    }

    /// The path of the one of this number, if it is on a real target.
    fn path_of(&self, number: u32) -> Option<String> {
        if let Some(single) = self.on.iter().find(|single| single.number == number) {
            return single.path().map(Into::into);
        }
        let path = match &self.paths[..] {
            [one] => Some(one),
            each => each.get(number as usize),
        };
        path.map(|path| path.replace(NUMBER, &number.to_string()))
    }

    /// The bytes of one of them, called `name`, on `device`, and what can be asked for of them.
    fn lie(&self, name: &str, device: Extent) -> Result<Lying, JobError> {
        let (capacity, step) = whole_blocks(device.capacity, device.block);
        let larger = |found: String, origin: &Origin, hint: &str| {
            Err(JobError::new(found).at(origin).hint(hint))
        };
        let (size, holds) = (size_text(self.size), about(capacity));
        if self.size > capacity {
            let found = format!("file {name} has {size}; its device has {holds}");
            let hint = "lower its `size`, or name a larger device";
            return larger(found, &self.size_origin, hint);
        }
        let past = || {
            let at = self.at.text();
            let found = format!(
                "file {name} begins at {at} and has {size}: it ends past its device, which has {holds}"
            );
            let hint = "let it begin nearer to the device's beginning, or lower its `size`";
            larger(found, &self.at_origin, hint)
        };
        let at = match self.at {
            Edge::At(bytes) if bytes > capacity => return past(),
            at => at.on(capacity, step)?,
        };
        if at + self.size > capacity {
            return past();
        }
        let (size, _) = whole_blocks(self.size, device.block);
        Ok(Lying { first: device.base + at, size, step })
    }
}

/// What `count` files called `name` are called each, for a hint.
fn numbered(name: &str, count: u32) -> String {
    match count {
        1 => format!("there is one: {name}, which is {name}.0 too"),
        _ => format!("there are {name}.0 to {name}.{}", count - 1),
    }
}

impl Surroundings<'_> {
    /// Whether a device that was written at `origin` counts.
    fn heeds(self, origin: &Origin) -> bool {
        !self.only_set || origin.is_set()
    }

    /// The device that `node` names for the file called `name`.
    fn device_at(self, node: &Node, name: &str) -> Result<NamedFilePlace, JobError> {
        let named = |machine: &MachineSpec| machine.named(node.word()?);
        if let Some(devices) = self.machine.and_then(named) {
            return Ok(NamedFilePlace::OfMachine(Wish { devices, origin: node.origin.clone() }));
        }
        no_target(node, "name real targets with `path`, or as in --on data=./data.img")?;
        let device = named_device::read(node, name, self.folder).map(Box::new);
        device.map(FilePlace::Device).map(NamedFilePlace::Own).map_err(|error| match self.machine {
            Some(machine) if node.word().is_some_and(|word| !devices::is_one(word)) => {
                let names = machine.device_names();
                error.hint(format!("{} has {names}; or name a device", machine.name))
            }
            _ => error,
        })
    }
}

impl NamedFilePlace {
    fn is_path(&self) -> bool {
        matches!(self, Self::Own(FilePlace::Path(_)))
    }
}

/// That `paths`, written at `origin`, are those of the `count` files called `name`.
fn check_paths(paths: &[String], name: &str, count: u32, origin: &Origin) -> Result<(), JobError> {
    if let Some(other) = paths.iter().find(|path| *path == "null" || path.starts_with("emulated:"))
    {
        let found = format!("{} is no real target", quote(other));
        let hint = "`path` names files and block devices; models are named with `device`";
        return Err(JobError::new(found).at(origin).hint(hint));
    }
    let enough = match paths {
        [one] => count == 1 || one.contains(NUMBER),
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
    let (found, hint) = match count {
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
    Err(JobError::new(found).at(origin).hint(hint))
}

/// What single files called `name`, of which there are `count`, are on.
fn on(
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
            let found = format!("there is no file {name}.{}", entry.key);
            JobError::new(found).at(&entry.origin).hint(numbered(name, count))
        })?;
        let place = match entry.node.word().filter(|word| is_path(word)) {
            Some(path) => NamedFilePlace::Own(FilePlace::Path(path.into())),
            None => around.device_at(&entry.node, &format!("{name}.{number}"))?,
        };
        // `02` is the same number.
        files.retain(|single| single.number != number);
        files.push(NamedSingle { number, place, origin: entry.node.origin.clone() });
    }
    files.sort_by_key(|single| single.number);
    Ok(files)
}

/// What all of `files` are called, in their order.
pub(crate) fn names(files: &[FileSpec]) -> Vec<String> {
    files.iter().flat_map(FileSpec::names).collect()
}

/// The devices of all of `files`, or that of the job, `usual`, for those that name none; empty if no
/// file names one.
///
/// # Errors
/// If a file has none.
pub(crate) fn devices(
    files: &[FileSpec],
    usual: Option<&DeviceSpec>,
) -> Result<Vec<LaneDevice>, JobError> {
    let device =
        |file: &FileSpec| file.device.is_some() || file.on.iter().any(|one| one.device().is_some());
    if !files.iter().any(device) {
        return Ok(Vec::new());
    }
    let mut devices = Vec::new();
    for file in files {
        for (number, name) in (0..).zip(file.names()) {
            let spec = file.device_of(number).or(usual).cloned().ok_or_else(|| {
                let found = format!("file {name} has no device");
                let hint = "give its section a `device`, or the job one for all that name none";
                JobError::new(found).at(&file.name_origin).hint(hint)
            })?;
            devices.push(LaneDevice { name, spec });
        }
    }
    Ok(devices)
}

/// The real targets of all of `files`, in their order; empty if they are on models.
///
/// # Errors
/// If some are on targets, and others are not.
pub(crate) fn targets(files: &[FileSpec]) -> Result<Vec<FileTarget>, JobError> {
    let each = files.iter().flat_map(|file| {
        (0..).zip(file.names()).map(move |(number, name)| (file, name, file.path_of(number)))
    });
    let (on_targets, others): (Vec<_>, Vec<_>) = each.partition(|(.., path)| path.is_some());
    if let (Some((_, named, _)), Some((file, other, _))) = (on_targets.first(), others.first()) {
        let found = format!("file {named} is on a real target, and {other} names none");
        let hint =
            format!("files are all on targets, or all on models: name one as in --on {other}=PATH");
        return Err(JobError::new(found).at(&file.name_origin).hint(hint));
    }
    let target = |(_, file, path): (&FileSpec, String, Option<String>)| {
        path.map(|path| FileTarget { file, path })
    };
    Ok(on_targets.into_iter().filter_map(target).collect())
}

/// Whether each of `files` names a device, and there are some.
pub(crate) fn all_have_devices(files: &[FileSpec]) -> bool {
    !files.is_empty() && files.iter().all(|file| file.device.is_some())
}

/// The schema of a job of which each file names a device.
pub(crate) fn with_devices() -> Json {
    let item = json!({"type": "object", "required": [DEVICE.name]});
    json!({"properties": {FILE.name: build::some(&item)}})
}

/// The schema of a job whose files name no devices of a machine.
pub(crate) fn on_named_devices() -> Json {
    let device = named_device::schema();
    let item = json!({"properties": {
        DEVICE.name: device.clone(),
        ON.name: {"additionalProperties": build::any([device, path_schema()])},
    }});
    json!({"properties": {FILE.name: {"items": item}}})
}

/// The numbers of those of `files` that `name`, written at `origin`, stands for.
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

/// Where each of `files` lies on its device; all of the one device, if there are none.
///
/// # Errors
/// A file that its device does not hold.
pub(crate) fn lie(files: &[FileSpec], devices: &[Extent]) -> Result<Vec<Lying>, JobError> {
    if files.is_empty() {
        return Ok(devices.iter().copied().map(Lying::all_of).collect());
    }
    let each = files.iter().flat_map(|file| file.names().map(move |name| (file, name)));
    each.zip(devices).map(|((file, name), device)| file.lie(&name, *device)).collect()
}

/// Leaves out the models of `files`, which are on real targets.
pub(crate) fn drop_models(files: &mut [FileSpec]) {
    for file in files {
        file.device = None;
        file.on.retain(|single| single.path().is_some());
    }
}

/// Leaves out the devices and the targets of `files`: all are on such a device as the job names.
pub(crate) fn drop_devices(files: &mut [FileSpec]) {
    for file in files {
        file.device = None;
        file.paths.clear();
        file.on.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(count: u32) -> FileSpec {
        let node = crate::tree::parse(&crate::diagnose::Source::file(
            "job.toml",
            &format!("name = \"data\"\ncount = {count}\nsize = \"1MiB\"\nat = \"50%\"\n"),
        ));
        let around = Surroundings { folder: Path::new(""), machine: None, only_set: false };
        FileSpec::read(&node.unwrap(), around).unwrap().0
    }

    #[test]
    fn one_file_has_a_name_and_several_have_numbers() {
        assert_eq!(names(&[file(1)]), ["data"]);
        assert_eq!(names(&[file(3)]), ["data.0", "data.1", "data.2"]);
        let origin = file(1).name_origin;
        let numbers = |name, count| named(name, &origin, &[file(count)]).ok();
        assert_eq!(numbers("data", 3), Some(0..3));
        assert_eq!(numbers("data.2", 3), Some(2..3));
        assert_eq!(numbers("data.0", 1), Some(0..1));
        assert_eq!(
            (numbers("data.3", 3), numbers("dat", 3), numbers("data.", 3)),
            (None, None, None)
        );
    }

    #[test]
    fn a_file_lies_where_it_is_said_on_its_device() {
        let device = Extent { base: 1 << 30, capacity: 4 << 20, block: 512 };
        let Lying { first, size, step } = file(1).lie("data", device).unwrap();
        assert_eq!((first, size, step), ((1 << 30) + (2 << 20), 1 << 20, 4096));
        let at = file(1).lie("data", Extent { capacity: 3 << 19, ..device });
        assert!(at.is_err_and(|error| error.to_string().contains("ends past its device")));
    }
}
