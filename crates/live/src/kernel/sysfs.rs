//! Block devices in `/sys`: the disks under a path, and the settings of their queues.
//!
//! Values that are not listed are `None` or empty: a container may hide all of them, and kernels
//! differ.

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

pub use self::counters::{Counters, Moved};

mod counters;

/// The greatest depth of devices on devices: a file system on a mapping on an array on a partition
/// has four.
const LAYERS_MOST: usize = 16;

/// A tree like `/sys`.
#[derive(Clone, Debug)]
pub struct Sysfs {
    root: PathBuf,
}

/// The devices under a path.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Stack {
    /// The names of the devices, from the one that holds the path down to its disks, as `vda1`, `vda`.
    pub names: Vec<String>,
    /// The devices at the bottom.
    pub disks: Vec<Disk>,
}

/// A device that is made of no other device.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Disk {
    /// Its name, as `vda`.
    pub name: String,
    /// The name that its maker gave it.
    pub model: Option<String>,
    /// Whether it rotates.
    pub rotational: Option<bool>,
    /// The kernel's scheduler in use.
    pub scheduler: Option<String>,
    /// The schedulers that it can use.
    pub schedulers: Vec<String>,
    /// The requests that its queue can hold.
    pub requests: Option<u32>,
    /// The number of hardware queues.
    pub hardware_queues: Option<u32>,
    /// The file that it is made of, if it is a loop device.
    pub backing_file: Option<PathBuf>,
    /// The kernel's counters of its requests.
    pub counters: Option<Counters>,
}

impl Disk {
    /// Returns the scheduler in use, or the only one.
    pub fn in_force(&self) -> Option<&str> {
        let only = self.schedulers.first().filter(|_| self.schedulers.len() == 1);
        self.scheduler.as_ref().or(only).map(String::as_str)
    }
}

impl Sysfs {
    /// Creates the tree at `root`: `/sys`, or one that a test has made.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// Returns the devices under `path`, a file, a folder or a block device; `None` if there is no block device
    /// (but memory, a network, a container's overlay) or it is not listed.
    ///
    /// # Errors
    /// `path` cannot be inspected.
    pub fn under(&self, path: &Path) -> io::Result<Option<Stack>> {
        let meta = fs::metadata(path)?;
        let number = if meta.file_type().is_block_device() { meta.rdev() } else { meta.dev() };
        let (major, minor) = (rustix::fs::major(number), rustix::fs::minor(number));
        if major != 0 {
            return Ok(self.stack(major, minor));
        }
        // The number of some file systems, such as btrfs, is that of a volume and not of a device.
        let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
        let source = mount_source(&mounts, &fs::canonicalize(path)?);
        let device = source.and_then(|source| fs::metadata(source).ok());
        let device = device.filter(|meta| meta.file_type().is_block_device()).map(|m| m.rdev());
        Ok(device.and_then(|n| self.stack(rustix::fs::major(n), rustix::fs::minor(n))))
    }

    /// Returns the device with this number and the devices below it.
    pub fn stack(&self, major: u32, minor: u32) -> Option<Stack> {
        let folder = self.root.join(format!("dev/block/{major}:{minor}"));
        let mut stack = Stack { names: Vec::new(), disks: Vec::new() };
        descend(&fs::canonicalize(folder).ok()?, LAYERS_MOST, &mut stack);
        Some(stack)
    }
}

/// Adds the device of `folder` to `stack`, and the devices below it.
fn descend(folder: &Path, layers: usize, stack: &mut Stack) {
    let name = name(folder);
    if stack.names.contains(&name) || layers == 0 {
        return;
    }
    stack.names.push(name);
    if folder.join("partition").exists() {
        // A partition lies in the folder of its disk.
        return folder.parent().map_or((), |disk| descend(disk, layers - 1, stack));
    }
    let below = entries(&folder.join("slaves"));
    let below: Vec<_> = below.iter().filter_map(|link| fs::canonicalize(link).ok()).collect();
    if below.is_empty() {
        stack.disks.push(disk(folder));
    }
    for device in &below {
        descend(device, layers - 1, stack);
    }
}

fn disk(folder: &Path) -> Disk {
    let queue = folder.join("queue");
    let (scheduler, schedulers) = schedulers(&text(&queue.join("scheduler")).unwrap_or_default());
    let hardware_queues = entries(&folder.join("mq")).len() as u32;
    Disk {
        name: name(folder),
        model: text(&folder.join("device/model")),
        rotational: text(&queue.join("rotational")).map(|text| text != "0"),
        scheduler,
        schedulers,
        requests: text(&queue.join("nr_requests")).and_then(|text| text.parse().ok()),
        hardware_queues: (hardware_queues > 0).then_some(hardware_queues),
        backing_file: text(&folder.join("loop/backing_file")).map(PathBuf::from),
        counters: text(&folder.join("stat")).and_then(|text| Counters::parse(&text)),
    }
}

/// Returns the scheduler in brackets, and all schedulers, of `text`, as `none [mq-deadline] kyber`.
pub(crate) fn schedulers(text: &str) -> (Option<String>, Vec<String>) {
    let name = |word: &str| word.trim_matches(['[', ']']).to_owned();
    let in_use = text.split_whitespace().find(|word| word.starts_with('['));
    (in_use.map(name), text.split_whitespace().map(name).collect())
}

/// Returns the source of the file system at `path`, according to `mounts`, the text of `/proc/self/mountinfo`.
fn mount_source(mounts: &str, path: &Path) -> Option<PathBuf> {
    let mount = |line: &str| {
        let (own, other) = line.split_once(" - ")?;
        let point = plain(own.split(' ').nth(4)?);
        let source = plain(other.split(' ').nth(1)?);
        path.starts_with(&point).then_some((point.len(), source))
    };
    // A later mount at the same place hides an earlier one; `max_by_key` returns the last maximum.
    let deepest = mounts.lines().filter_map(mount).max_by_key(|(len, _)| *len);
    deepest.map(|(_, source)| PathBuf::from(source))
}

/// Returns a field of the mount table with its escapes replaced.
pub(crate) fn plain(field: &str) -> String {
    let escapes = [("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")];
    escapes.iter().fold(field.to_owned(), |text, (escape, plain)| text.replace(escape, plain))
}

pub(crate) fn name(folder: &Path) -> String {
    folder.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// Returns the text of an attribute; `None` if it is empty or cannot be read.
pub(crate) fn text(path: &Path) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    Some(text.trim().to_owned()).filter(|text| !text.is_empty())
}

/// The attribute with the depth of a queue.
pub(crate) const DEPTH: &str = "nr_requests";

/// The depth below which the kernel does not go.
const DEPTH_LEAST: u64 = 4;

/// Writes an attribute, which has to exist.
pub(crate) fn write(path: &Path, value: &str) -> io::Result<()> {
    let file = fs::File::options().write(true).truncate(true).open(path);
    file.and_then(|mut file| file.write_all(value.as_bytes()))
}

/// Sets the depth of the queue in the folder `queue`. After a switch of the scheduler the kernel shows the usual
/// depth again, whatever it is, and takes the number that it shows for no change: another one comes first.
pub(crate) fn set_depth(queue: &Path, depth: &str) -> io::Result<()> {
    let path = queue.join(DEPTH);
    if let (Some(shown), Ok(number)) = (text(&path), depth.parse::<u64>())
        && shown == depth
    {
        write(&path, &(number / 2).max(DEPTH_LEAST).to_string())?;
    }
    write(&path, depth)
}

/// Returns the entries of a folder, ordered by name; none if there is no folder.
pub(crate) fn entries(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut paths: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

#[cfg(test)]
pub(crate) mod fake;
#[cfg(test)]
mod tests;
