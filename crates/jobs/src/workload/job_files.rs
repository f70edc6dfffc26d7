//! The files of a job and the devices that they share. Each device, a lane of the run, has its own
//! queue and policy.

use std::ops::Range;

use crate::devices::DeviceSpec;
use crate::diagnose::{JobError, Origin, quote};
use crate::nearest::suggest;
use crate::text::Lines;
use crate::tree::{Node, Value};
use crate::workload::extent::{Extent, FileExtent};
use crate::workload::file_places::{self, FileDevice, FilePlace, OnMachine, Surroundings};
use crate::workload::files::{FILES_MOST, FileSpec};
use crate::workload::lanes::{FileTarget, LaneDevice};
use crate::workload::region::Edge;

/// The files of a job, section by section.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct JobFiles {
    pub(crate) sections: Vec<FileSpec>,
    /// Devices on which several files lie.
    pub(super) shared: Vec<LaneDevice>,
}

impl JobFiles {
    /// Reads the sections `[[file]]`.
    pub(super) fn read(node: &Node, around: Surroundings<'_>) -> Result<Self, JobError> {
        let hint = "a file is a section: `[[file]]` with name, size and device";
        let Value::List(items) = &node.value else { return Err(node.expected("files").hint(hint)) };
        let mut files: Vec<FileSpec> = Vec::with_capacity(items.len());
        let mut on_machine = Vec::new();
        for item in items {
            let (file, wishes) = FileSpec::read(item, around)?;
            if files.iter().any(|other| other.name == file.name) {
                let message = format!("two files are called {}", quote(&file.name));
                let hint =
                    "give one another name; several that are alike are one section with `count`";
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
            let hint = "each may have a device of its own: lower a `count`";
            return Err(JobError::new(message).at(&node.origin).hint(hint));
        }
        if files.is_empty() {
            return Err(JobError::new("the job has no file").at(&node.origin).hint(hint));
        }
        let mut shared = Vec::new();
        if let Some(devices) = around.devices {
            for (section, single) in file_places::assign(devices, on_machine, &mut shared)? {
                files[section].on.push(single);
            }
            files.iter_mut().for_each(FileSpec::merge_devices);
        }
        Ok(Self { sections: files, shared })
    }

    /// Writes the sections with every default in place.
    pub(super) fn write(&self, out: &mut Lines) {
        self.sections.iter().for_each(|file| file.write(&self.shared, out));
    }

    /// Iterates over all files, each with its section and its number there.
    fn each(&self) -> impl Iterator<Item = (&FileSpec, u32)> {
        self.sections.iter().flat_map(|file| (0..file.count).map(move |number| (file, number)))
    }

    /// Whether the place of the file `number` is a share of its device.
    pub(super) fn place_is_share(&self, number: usize) -> bool {
        let file = self.each().nth(number);
        file.is_some_and(|(file, _)| matches!(file.at, Some(Edge::Share(_))))
    }

    /// Returns the names of all files, in their order.
    pub(super) fn names(&self) -> Vec<String> {
        self.sections.iter().flat_map(FileSpec::names).collect()
    }

    /// Returns the number of the lane on which each file lies. Lanes are numbered in the order of
    /// their first files.
    pub(super) fn lanes(&self) -> Vec<usize> {
        // A device or target that others may share.
        #[derive(PartialEq)]
        enum SharedPlace {
            Device(usize),
            Path(String),
        }
        let mut keys: Vec<Option<SharedPlace>> = Vec::new();
        let lane = |(file, number): (&FileSpec, u32)| {
            let key = match (file.path_of(number), file.device_of(number)) {
                (Some(path), _) => Some(SharedPlace::Path(path)),
                (None, Some(FileDevice::Shared(device))) => Some(SharedPlace::Device(*device)),
                (None, _) => None,
            };
            let known = key.as_ref().and_then(|_| keys.iter().position(|known| *known == key));
            known.unwrap_or_else(|| {
                keys.push(key);
                keys.len() - 1
            })
        };
        self.each().map(lane).collect()
    }

    /// Returns the names of all lanes: of the device that files share, or of the only file.
    pub(super) fn lane_names(&self) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for ((file, number), lane) in self.each().zip(self.lanes()) {
            if lane == names.len() {
                names.push(match file.device_of(number) {
                    Some(FileDevice::Shared(device)) if file.path_of(number).is_none() => {
                        self.shared[*device].name.clone()
                    }
                    _ => file.name_of(number),
                });
            }
        }
        names
    }

    /// Returns the devices of all lanes; `usual`, the device of the job, is for files that name
    /// none. Empty if no file names one.
    ///
    /// # Errors
    /// A file has no device.
    pub(super) fn devices(&self, usual: Option<&DeviceSpec>) -> Result<Vec<LaneDevice>, JobError> {
        if self.each().all(|(file, number)| file.device_of(number).is_none()) {
            return Ok(Vec::new());
        }
        let mut devices: Vec<LaneDevice> = Vec::new();
        for ((file, number), lane) in self.each().zip(self.lanes()) {
            if lane < devices.len() {
                continue;
            }
            let name = file.name_of(number);
            let spec = match file.device_of(number) {
                Some(FileDevice::Shared(device)) => {
                    devices.push(self.shared[*device].clone());
                    continue;
                }
                Some(FileDevice::Own(spec)) => Some(&**spec),
                None => usual,
            };
            let spec = spec.cloned().ok_or_else(|| {
                let message = format!("file {name} has no device");
                let hint = "give its section a `device`, or the job one for all that name none";
                JobError::new(message).at(&file.name_origin).hint(hint)
            })?;
            devices.push(LaneDevice { name, spec });
        }
        Ok(devices)
    }

    /// Returns the devices that several files share.
    pub(super) fn shared(&self) -> &[LaneDevice] {
        &self.shared
    }

    /// Returns the real targets of all files, in their order; empty if the files are on models.
    ///
    /// # Errors
    /// Some files are on targets, and others are not.
    pub(super) fn targets(&self) -> Result<Vec<FileTarget>, JobError> {
        let place =
            |(file, number): (_, _)| (file, FileSpec::name_of(file, number), file.path_of(number));
        let (on_targets, others): (Vec<_>, Vec<_>) =
            self.each().map(place).partition(|(.., path)| path.is_some());
        if let (Some((_, named, _)), Some((file, other, _))) = (on_targets.first(), others.first())
        {
            let message = format!("file {named} is on a real target, and {other} names none");
            let hint = format!(
                "files are all on targets, or all on models: name one as in --on {other}=PATH"
            );
            return Err(JobError::new(message).at(&file.name_origin).hint(hint));
        }
        let target = |(_, file, path): (&FileSpec, String, Option<String>)| {
            path.map(|path| FileTarget { file, path })
        };
        Ok(on_targets.into_iter().filter_map(target).collect())
    }

    /// Whether there are files and each names a device.
    pub(crate) fn all_have_devices(&self) -> bool {
        !self.sections.is_empty() && self.sections.iter().all(|file| file.device.is_some())
    }

    /// Returns two files of different sections that lie on devices of their own, though their
    /// sections name the same device, or none.
    pub(super) fn apart(&self) -> Option<[String; 2]> {
        // The device of each that is on a model of its own: a word, or that of the job.
        let word = |file: &FileSpec| {
            let usual = file.device.is_none() && file.paths.is_empty() && file.on.is_empty();
            file.device_word().map(str::to_owned).or_else(|| usual.then(String::new))
        };
        let words: Vec<Option<String>> = self.sections.iter().map(word).collect();
        let pair = |(number, word): (usize, &Option<String>)| {
            let before =
                words[..number].iter().position(|other| word.is_some() && other == word)?;
            Some([before, number].map(|number| self.sections[number].name_of(0)))
        };
        words.iter().enumerate().find_map(pair)
    }

    /// Returns the numbers of the files called `name`, which was written at `origin`.
    pub(super) fn named(&self, name: &str, origin: &Origin) -> Result<Range<u32>, JobError> {
        let mut first = 0;
        for file in &self.sections {
            if file.name == name {
                return Ok(first..first + file.count);
            }
            if let Some(number) = file.number(name) {
                return Ok(first + number..first + number + 1);
            }
            first += file.count;
        }
        let error = JobError::new(format!("there is no file {}", quote(name))).at(origin);
        let of_section =
            |file: &&FileSpec| name.split_once('.').is_some_and(|(n, _)| n == file.name);
        Err(error.hint(match self.sections.iter().find(of_section) {
            Some(file) => file.numbered(),
            None => suggest(name, self.sections.iter().map(|file| file.name.as_str())),
        }))
    }

    /// Returns the extent of each file over `devices`, one for each lane; the whole device if there
    /// are no files. Files that share a device and do not say where they begin lie behind each
    /// other.
    ///
    /// # Errors
    /// A file does not fit on its device, or overlaps another.
    pub(super) fn layout(&self, devices: &[Extent]) -> Result<Vec<FileExtent>, JobError> {
        if self.sections.is_empty() {
            return Ok(devices.iter().copied().map(FileExtent::whole).collect());
        }
        let lanes = self.lanes();
        // The files that were placed so far on each lane: their bytes and their names.
        let mut placed: Vec<Vec<(Range<u64>, String)>> = vec![Vec::new(); devices.len()];
        let mut extents = Vec::with_capacity(lanes.len());
        for ((file, number), lane) in self.each().zip(lanes) {
            let (name, device) = (file.name_of(number), devices[lane]);
            let behind = placed[lane].last().map_or(0, |(bytes, _)| bytes.end - device.base);
            let extent = file.extent_on(&name, device, behind)?;
            let bytes = extent.place(0..file.size);
            let within = |(other, _): &&(Range<u64>, String)| {
                bytes.start < other.end && other.start < bytes.end
            };
            if let Some((_, other)) = placed[lane].iter().find(within) {
                return Err(file.overlaps(&name, other));
            }
            placed[lane].push((bytes, name));
            extents.push(extent);
        }
        Ok(extents)
    }

    /// Removes the models of the files, which are on real targets.
    pub(super) fn drop_models(&mut self) {
        self.shared.clear();
        for file in &mut self.sections {
            file.device = None;
            file.on.retain(|single| single.path().is_some());
        }
    }

    /// Puts all files on devices like `spec`. Files that share a device go on sharing it; if none
    /// do, the sections name no device, and that of the job is for all.
    pub(super) fn put_on(&mut self, spec: &DeviceSpec) {
        for device in &mut self.shared {
            device.spec = spec.clone();
        }
        let alone = self.shared.is_empty();
        let changed = |device: FileDevice| match device {
            FileDevice::Shared(_) => Some(device),
            FileDevice::Own(_) => (!alone).then(|| FileDevice::Own(Box::new(spec.clone()))),
        };
        for file in &mut self.sections {
            file.paths.clear();
            file.device = match file.device.take() {
                Some(device) => changed(device),
                None => (!alone).then(|| FileDevice::Own(Box::new(spec.clone()))),
            };
            let on = std::mem::take(&mut file.on).into_iter();
            file.on = on
                .filter_map(|mut single| {
                    let FilePlace::Device(device) = single.on else { return None };
                    single.on = FilePlace::Device(changed(device)?);
                    Some(single)
                })
                .collect();
        }
    }

    /// Puts all files, which share one device, on the real target at `path`.
    pub(super) fn put_on_target(&mut self, path: &str) {
        self.drop_models();
        for file in &mut self.sections {
            file.on.clear();
            file.paths = vec![path.to_owned(); file.count as usize];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::Source;
    use crate::tree;
    use std::path::Path;

    fn files(count: u32) -> JobFiles {
        let text = format!("file = [{{ name = \"data\", count = {count}, size = \"1MiB\" }}]\n");
        let root = tree::parse(&Source::file("job.toml", &text)).unwrap();
        let Value::Table(table) = &root.value else { unreachable!("a file is a table") };
        let around = Surroundings { folder: Path::new(""), devices: None, only_set: false };
        JobFiles::read(&table.entries[0].node, around).unwrap()
    }

    #[test]
    fn one_file_has_a_name_and_several_have_numbers() {
        assert_eq!(files(1).names(), ["data"]);
        assert_eq!(files(3).names(), ["data.0", "data.1", "data.2"]);
        let origin = files(1).sections[0].name_origin.clone();
        let numbers = |name, count| files(count).named(name, &origin).ok();
        assert_eq!(numbers("data", 3), Some(0..3));
        assert_eq!(numbers("data.2", 3), Some(2..3));
        assert_eq!(numbers("data.0", 1), Some(0..1));
        let unknown = [numbers("data.3", 3), numbers("dat", 3), numbers("data.", 3)];
        assert_eq!(unknown, [None, None, None]);
    }
}
