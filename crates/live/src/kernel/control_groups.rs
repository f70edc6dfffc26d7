//! Control groups of a run: one for each class, with its weight, in a group of the run's own.
//!
//! A scheduler that divides a disk by the weights of control groups, as `bfq`, sees the group of the thread that
//! submits a request. In cgroup v1 (`blkio`) each thread may be in another group. In cgroup v2 it may not: only
//! threaded controllers can be enabled in threaded groups, and `io` is none of them, so classes, which are
//! threads of one process, cannot have weights there.
//!
//! The groups are removed when [`ControlGroups`] is dropped, or, after a kill, by [`LeftGroups::remove`]: a note
//! says where they are.
//!
//! Source: the kernel's documentation, `Documentation/block/bfq-iosched.rst`,
//! `Documentation/admin-guide/cgroup-v1/cgroups.rst`, and `Documentation/admin-guide/cgroup-v2.rst`, section
//! "Threads".

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use rustix::fs::Access;

use crate::kernel::notes::{self, NOTES};
use crate::kernel::sysfs::{entries, name, plain, text};

/// The scheduler of current kernels that divides by the weights of control groups.
pub const WEIGHING: &str = "bfq";

/// The weights that it takes.
const WEIGHTS: RangeInclusive<u32> = 1..=1000;

/// The beginning of the name of a run's group; the number of its process follows.
const GROUP: &str = "penstock-";

/// The beginning of the name of a note; the name of the group follows.
const NOTE: &str = "groups.";

/// How often the removal of a group is tried: workers of the kernel leave it a moment after their thread.
const TRIES: u32 = 200;

/// The time between two tries.
const APART: Duration = Duration::from_millis(10);

/// The reason why classes of a run cannot have weights in the kernel.
#[derive(Debug, thiserror::Error)]
pub enum NoWeights {
    /// No controller for block devices is mounted.
    #[error("the controller `blkio` of cgroup v1 is not mounted here")]
    NoController,
    /// Cgroup v2 has the controller.
    #[error(
        "cgroup v2 has the controller `io` here, which divides among processes, and classes are threads"
    )]
    OnlyProcesses,
    /// The scheduler does not divide by the weights of groups.
    #[error("{scheduler} does not divide by the weights of control groups")]
    NotDivided {
        /// The scheduler.
        scheduler: String,
    },
    /// The system refused.
    #[error("{}: {source}", path.display())]
    Refused {
        /// The file or folder.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
}

/// The control groups of the classes of a run, which are removed when this is dropped.
#[derive(Debug)]
pub struct ControlGroups {
    /// The group of the run.
    group: PathBuf,
    /// The group of each class, and its weight as the kernel has it.
    classes: Vec<(PathBuf, u32)>,
    note: PathBuf,
    lock: File,
}

/// The folders that are read and written.
struct Hierarchy {
    proc: PathBuf,
    notes: PathBuf,
}

impl Hierarchy {
    fn real() -> Self {
        Self { proc: "/proc".into(), notes: NOTES.into() }
    }

    /// Returns the folder of this process's group, if `scheduler` divides by the weights of the groups in it.
    fn own_group(&self, scheduler: &str) -> Result<PathBuf, NoWeights> {
        let mounts = fs::read_to_string(self.proc.join("self/mountinfo")).unwrap_or_default();
        let mounts: Vec<Mount> = mounts.lines().filter_map(Mount::parse).collect();
        let Some(mount) = mounts.iter().find(|mount| mount.is_v1("blkio")) else {
            let controllers = |mount: &Mount| text(&mount.point.join("cgroup.controllers"));
            let mut v2 = mounts.iter().filter(|mount| mount.kind == "cgroup2");
            let has_io = v2.any(|mount| {
                controllers(mount).is_some_and(|all| all.split(' ').any(|name| name == "io"))
            });
            return Err(if has_io { NoWeights::OnlyProcesses } else { NoWeights::NoController });
        };
        let groups = fs::read_to_string(self.proc.join("self/cgroup")).unwrap_or_default();
        let own = groups.lines().find_map(|line| {
            let (_, line) = line.split_once(':')?;
            let (controllers, path) = line.split_once(':')?;
            controllers.split(',').any(|name| name == "blkio").then_some(path)
        });
        // A container may see a part of the hierarchy alone.
        let inside = own.and_then(|own| Path::new(own).strip_prefix(&mount.root).ok());
        let group = mount.point.join(inside.unwrap_or(Path::new("")));
        let prefix = format!("blkio.{scheduler}.");
        if entries(&group).iter().any(|file| name(file).starts_with(&prefix)) {
            return Ok(group);
        }
        Err(NoWeights::NotDivided { scheduler: scheduler.into() })
    }
}

/// A mount, according to a line of `/proc/self/mountinfo`.
struct Mount {
    kind: String,
    /// The part of the file system that is mounted.
    root: String,
    point: PathBuf,
    options: String,
}

impl Mount {
    fn parse(line: &str) -> Option<Self> {
        let (own, other) = line.split_once(" - ")?;
        let (mut own, mut other) = (own.split(' ').skip(3).map(plain), other.split(' ').map(plain));
        let (root, point, kind) = (own.next()?, own.next()?.into(), other.next()?);
        Some(Self { kind, root, point, options: other.nth(1)? })
    }

    /// Returns whether it is a hierarchy of cgroup v1 with `controller`.
    fn is_v1(&self, controller: &str) -> bool {
        self.kind == "cgroup" && self.options.split(',').any(|option| option == controller)
    }
}

/// Returns the folder in which a run makes its groups under `scheduler`, according to `proc`, a tree like
/// `/proc`.
///
/// # Errors
/// [`NoWeights`]: the reason why it makes none.
pub fn group_for(proc: &Path, scheduler: &str) -> Result<PathBuf, NoWeights> {
    let here = Hierarchy { proc: proc.into(), ..Hierarchy::real() };
    let group = here.own_group(scheduler)?;
    match rustix::fs::access(&group, Access::WRITE_OK) {
        Ok(()) => Ok(group),
        Err(errno) => Err(NoWeights::Refused { path: group, source: errno.into() }),
    }
}

impl ControlGroups {
    /// Makes a group for each of `weights`, those of classes, under `scheduler`. Groups that killed runs have
    /// left are removed first.
    ///
    /// # Errors
    /// [`NoWeights`]; groups made by then are removed.
    pub fn new(scheduler: &str, weights: &[u32]) -> Result<Self, NoWeights> {
        for left in left_groups() {
            let _ = left.remove();
        }
        Self::new_in(&Hierarchy::real(), scheduler, weights)
    }

    fn new_in(tree: &Hierarchy, scheduler: &str, weights: &[u32]) -> Result<Self, NoWeights> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("{GROUP}{}-{number}", std::process::id());
        let group = tree.own_group(scheduler)?.join(&name);
        let note = tree.notes.join(format!("{NOTE}{name}"));
        let refused = |path: &Path| {
            let path = path.to_owned();
            |source| NoWeights::Refused { path, source }
        };
        let locked =
            notes::lock(&note).and_then(|lock| lock.ok_or(io::ErrorKind::ResourceBusy.into()));
        let lock = locked.map_err(refused(&note))?;
        let mut this = Self { group, classes: Vec::new(), note, lock };
        let line = format!("{}\n", this.group.display());
        this.lock.write_all(line.as_bytes()).map_err(refused(&this.note))?;
        fs::create_dir(&this.group).map_err(refused(&this.group))?;
        for (number, weight) in within(weights).into_iter().enumerate() {
            let class = this.group.join(format!("class{number}"));
            fs::create_dir(&class).map_err(refused(&class))?;
            let file = class.join(format!("blkio.{scheduler}.weight"));
            this.classes.push((class, weight));
            let taken = write(&file, &weight.to_string()).and_then(|()| fs::read_to_string(&file));
            let taken = taken.map_err(refused(&file))?;
            if let Some(Ok(taken)) = taken.split_whitespace().last().map(str::parse) {
                this.classes[number].1 = taken;
            }
        }
        Ok(this)
    }

    /// Returns the weight of each class as the kernel has it.
    pub fn weights(&self) -> Vec<u32> {
        self.classes.iter().map(|(_, weight)| *weight).collect()
    }

    /// Puts this thread into the group of the class `number`, with the threads that it starts from now on.
    ///
    /// # Errors
    /// The system's error.
    pub fn enter(&self, number: usize) -> io::Result<()> {
        // Zero is the thread that writes.
        write(&self.classes[number].0.join("tasks"), "0")
    }
}

impl Drop for ControlGroups {
    fn drop(&mut self) {
        // The note stays if a group does.
        if remove(&self.group).is_ok() {
            let _ = fs::remove_file(&self.note);
        }
    }
}

/// Writes `value` to a file of the kernel.
fn write(file: &Path, value: &str) -> io::Result<()> {
    // Opened, not created: one that is missing is an error.
    File::options().write(true).open(file)?.write_all(value.as_bytes())
}

/// Returns `weights` as weights that the kernel takes. Their ratios are kept if integers within its bounds have
/// them, else to the nearest.
fn within(weights: &[u32]) -> Vec<u32> {
    let most = weights.iter().copied().max().unwrap_or(1);
    if most <= *WEIGHTS.end() {
        return weights.to_vec();
    }
    let common = weights.iter().fold(0, |a, &b| greatest_common_divisor(a, b));
    let (most, end) = (u64::from(most / common), u64::from(*WEIGHTS.end()));
    let scaled = |weight: &u32| match u64::from(weight / common) {
        weight if most <= end => weight as u32,
        weight => ((weight * end + most / 2) / most).max(1) as u32,
    };
    weights.iter().map(scaled).collect()
}

fn greatest_common_divisor(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}

/// Removes `group` and the groups in it.
fn remove(group: &Path) -> io::Result<()> {
    let inside = entries(group).into_iter().filter(|path| path.is_dir());
    inside.chain([group.to_owned()]).try_for_each(|group| remove_single(&group))
}

#[allow(clippy::disallowed_methods)] // the kernel does not report when the last thread has left
fn remove_single(group: &Path) -> io::Result<()> {
    for _ in 0..TRIES {
        match fs::remove_dir(group) {
            Err(error) if error.kind() == io::ErrorKind::ResourceBusy => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            removed => return removed,
        }
        // A thread that was given up may wait for its device for ever.
        let threads = fs::read_to_string(group.join("tasks")).unwrap_or_default();
        let above = group.with_file_name("tasks");
        for thread in threads.lines() {
            let _ = write(&above, thread);
        }
        std::thread::sleep(APART);
    }
    fs::remove_dir(group)
}

/// Control groups that were not removed, because their process was killed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LeftGroups {
    /// The group of the run.
    pub group: PathBuf,
    note: PathBuf,
}

/// Returns the groups of processes that have ended.
pub fn left_groups() -> Vec<LeftGroups> {
    left_in(&Hierarchy::real())
}

fn left_in(tree: &Hierarchy) -> Vec<LeftGroups> {
    let is_note = |path: &PathBuf| name(path).starts_with(NOTE);
    let read = |note: PathBuf| {
        let mut line = String::new();
        notes::abandoned(&note)?.read_to_string(&mut line).ok()?;
        // A note that was not finished is of groups that were not made yet.
        let group = PathBuf::from(line.strip_suffix('\n').unwrap_or_default());
        let is_ours = line.is_empty() || name(&group).starts_with(GROUP);
        is_ours.then_some(LeftGroups { group, note })
    };
    entries(&tree.notes).into_iter().filter(is_note).filter_map(read).collect()
}

impl LeftGroups {
    /// Removes them and their note.
    ///
    /// # Errors
    /// The system's error; the note stays.
    pub fn remove(&self) -> io::Result<()> {
        remove(&self.group)?;
        fs::remove_file(&self.note)
    }
}

#[cfg(test)]
mod tests;
