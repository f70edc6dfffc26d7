//! A section of files of a job: their name, number, size and place.

use serde_json::{Value as Json, json};

use crate::amount::{Count, SIZE};
use crate::classes;
use crate::describe;
use crate::diagnose::{JobError, Origin, quote};
use crate::keys::{keys, table};
use crate::kinds::{Each, Own, Text, section};
use crate::machines::MachineSpec;
use crate::named_device;
use crate::reader::Reader;
use crate::rows::Rows;
use crate::text::{Lines, quoted};
use crate::tree::Node;
use crate::units::{about, size_text};
use crate::workload::extent::{Extent, FileExtent};
use crate::workload::file_places::{
    self, FileDevice, FilePlace, NUMBER, NamedFilePlace, NamedSingle, SingleFile, Surroundings,
    Wish, check_paths,
};
use crate::workload::lanes::{LaneDevice, path_schema};
use crate::workload::region::{Edge, whole_blocks};

/// Most files of a job: each may have a device, a queue and a policy.
pub(super) const FILES_MOST: u64 = 1 << 10;

keys! {
    /// The files of the agents: one, or several that are alike.
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
    /// Number of such files, each on a device of its own, unless they share one.
    COUNT count: u32 = Count(1, FILES_MOST), or 1;
    /// Bytes of each file.
    BYTES size: u64 = SIZE.above_zero().hint("a file holds something"), needs "\"4GiB\"";
    /// Begin of each file on its device: a share of the device, or bytes. If not given, the device's
    /// begin; on a device that files share, the end of the file before it.
    AT at: Edge = Own { read: Edge::read, text: Edge::quoted, schema: Edge::schema };
    /// The device of each file: a named device, the path of a device file, or the device itself,
    /// each file on one of its own; or the name of a device of the job or of its machine, which all
    /// files that name it share. If not given, the device of the job, or the machine's next.
    DEVICE device: Node = section(file_places::device_schema);
    /// The real target of each file, on which the job runs live unless `--on` names models: the
    /// path of a file that Penstock owns, the same behind a loop device as `loop:PATH`, or a block
    /// device. Files with the same path share it. For several files a list, in their order, or one path with `%d` in place of the
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
    /// Place of each on its device, if it is given.
    pub at: Option<Edge>,
    /// Device of each, if it is not that of the job.
    pub(super) device: Option<FileDevice>,
    /// Real targets as they were written; empty if the files are on models.
    pub(super) paths: Vec<String>,
    /// The files that are on other devices or targets.
    pub(super) on: Vec<SingleFile>,
    pub(super) name_origin: Origin,
    device_origin: Origin,
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

impl FileSpec {
    /// Reads the section, and the devices of a machine that its files may take.
    pub(super) fn read(
        node: &Node,
        around: Surroundings<'_>,
    ) -> Result<(Self, Vec<(u32, Wish)>), JobError> {
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
            at: reader.find(&AT)?,
            device: None,
            paths,
            on: Vec::new(),
            name_origin: reader.place(&NAME).clone(),
            device_origin: reader.place(&NAME).part(0..0),
            size_origin: reader.place(&BYTES).clone(),
            at_origin: reader.place(&AT).clone(),
            name,
        };
        let next = || around.devices.map(|known| NamedFilePlace::OfMachine(file.on_any_of(known)));
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
            file.device = Some(spec);
            file.device_origin = device_origin.clone();
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
        Wish { devices: 0..machine.count(), by_name: false, origin: self.name_origin.clone() }
    }

    /// Replaces the single devices by a common one, if each file has its own and they are equal.
    pub(super) fn merge_devices(&mut self) {
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

    /// Writes the section with every default in place; `shared` are the devices that files share.
    pub(super) fn write(&self, shared: &[LaneDevice], out: &mut Lines) {
        Rows::of(&[KEYS])
            .put(&NAME, &self.name)
            .put(&COUNT, &self.count)
            .put(&BYTES, &self.size)
            .maybe(&AT, self.at.as_ref())
            .maybe(&PATH, Some(&self.paths).filter(|paths| !paths.is_empty()))
            .section(Some(&format!("[[{}]]", FILE.name)), out);
        match &self.device {
            None => {}
            Some(FileDevice::Own(spec)) => {
                spec.write(&format!("{}.{}", FILE.name, DEVICE.name), out);
            }
            Some(FileDevice::Shared(at)) => out.line(DEVICE.name, quoted(&shared[*at].name)),
        }
        let on = format!("{}.{}", FILE.name, ON.name);
        let number = |single: &SingleFile| quoted(&single.number.to_string());
        let word = |single: &SingleFile| match &single.on {
            FilePlace::Path(path) => Some(quoted(path)),
            FilePlace::Device(FileDevice::Shared(at)) => Some(quoted(&shared[*at].name)),
            FilePlace::Device(FileDevice::Own(_)) => None,
        };
        if self.on.iter().any(|single| word(single).is_some()) {
            out.section(&format!("[{on}]"));
        }
        for (single, word) in self.on.iter().filter_map(|single| Some((single, word(single)?))) {
            out.line(&number(single), word);
        }
        for single in &self.on {
            if let FilePlace::Device(FileDevice::Own(spec)) = &single.on {
                spec.write(&format!("{on}.{}", number(single)), out);
            }
        }
    }

    /// Names of all files.
    pub(super) fn names(&self) -> impl Iterator<Item = String> {
        (0..self.count).map(|number| self.name_of(number))
    }

    /// Name of the file `number`.
    pub(super) fn name_of(&self, number: u32) -> String {
        match self.count {
            1 => self.name.clone(),
            _ => format!("{}.{number}", self.name),
        }
    }

    /// Returns the number of the file called `name`, if there is one; a single file also has the
    /// number 0.
    pub(super) fn number(&self, name: &str) -> Option<u32> {
        let number = name.strip_prefix(&self.name)?.strip_prefix('.')?.parse().ok()?;
        (number < self.count).then_some(number)
    }

    /// Describes the names of all files, for a hint.
    pub(super) fn numbered(&self) -> String {
        file_places::numbered(&self.name, self.count)
    }

    /// Returns the device of the file `number`, if it is not that of the job.
    pub(super) fn device_of(&self, number: u32) -> Option<&FileDevice> {
        let single = self.on.iter().find(|single| single.number == number);
        single.and_then(SingleFile::device).or(self.device.as_ref())
    }

    /// Returns the path of the file `number`, if it is on a real target.
    pub(super) fn path_of(&self, number: u32) -> Option<String> {
        if let Some(single) = self.on.iter().find(|single| single.number == number) {
            return single.path().map(Into::into);
        }
        let path = match &self.paths[..] {
            [path] => Some(path),
            each => each.get(number as usize),
        };
        path.map(|path| path.replace(NUMBER, &number.to_string()))
    }

    /// Returns the word with which the section names a device for each of its files alone.
    pub(super) fn device_word(&self) -> Option<&str> {
        let own = matches!(self.device, Some(FileDevice::Own(_)));
        Some(self.device_origin.text()).filter(|text| own && text.starts_with('"'))
    }

    /// Returns the extent on `device` of the file called `name`; `behind` is the end of the files
    /// that precede it on the device.
    pub(super) fn extent_on(
        &self,
        name: &str,
        device: Extent,
        behind: u64,
    ) -> Result<FileExtent, JobError> {
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
        let past = |at: &str, hint: &str| {
            let message = format!(
                "file {name} begins at {at} and has {size}: it ends past its device, which has {holds}"
            );
            larger(message, &self.at_origin, hint)
        };
        let Some(edge) = self.at else {
            let at = behind.next_multiple_of(step);
            if at.checked_add(self.size).is_none_or(|end| end > capacity) {
                let hint = "lower the `size` of files that share the device, or name a larger one";
                return past(&size_text(at), hint);
            }
            return Ok(self.extent_at(device, at, step));
        };
        let hint = "let it begin nearer to the device's beginning, or lower its `size`";
        let at = match edge {
            Edge::At(bytes) if bytes > capacity => return past(&edge.text(), hint),
            at => at.on(capacity, step)?,
        };
        if at + self.size > capacity {
            return past(&edge.text(), hint);
        }
        Ok(self.extent_at(device, at, step))
    }

    fn extent_at(&self, device: Extent, at: u64, step: u64) -> FileExtent {
        let (size, _) = whole_blocks(self.size, device.block);
        FileExtent { first: device.base + at, size, step }
    }

    /// Returns the error for its file called `name`, which shares bytes with the file `other`.
    pub(super) fn overlaps(&self, name: &str, other: &str) -> JobError {
        let message = format!("file {name} begins within {other}, which is on the same device");
        let hint = "leave `at` out: files that share a device then lie behind each other";
        JobError::new(message).at(&self.at_origin).hint(hint)
    }
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

#[cfg(test)]
mod tests;
