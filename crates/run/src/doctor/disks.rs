//! The block devices of this machine and what the kernel has set for each: `penstock linux show`
//! prints it, `penstock linux set` changes it.

use std::collections::BTreeMap;
use std::io::ErrorKind;

use penstock_jobs::nearest::suggest;
use penstock_live::queue_settings::{self, Held, QueueError, SchedulerStep, Setting};
use penstock_live::{Block, blocks};
use serde::Serialize;

use crate::failure::Failure;
use crate::result::version::VERSION;

/// The output of `linux show --json`.
#[derive(Debug, Serialize)]
pub struct Disks {
    /// Version of Penstock.
    pub penstock: &'static str,
    /// The devices, in the order of their names.
    pub disks: Vec<DiskSettings>,
}

/// A block device, and the attributes of its queue exactly as `/sys` has them.
#[derive(Debug, Serialize)]
pub struct DiskSettings {
    /// Its name, as `sda`.
    pub name: String,
    /// Its size in bytes; null if the kernel does not report it.
    pub bytes: Option<u64>,
    /// The name that its maker gave it; null if there is none.
    pub model: Option<String>,
    /// The file that it is made of; null if it is no loop device.
    pub backing_file: Option<String>,
    /// Commands that its driver gives it at once; null if the driver does not say it.
    pub queue_depth: Option<String>,
    /// The files of `queue` in its folder of `/sys/block`, without the end of their line:
    /// `scheduler` lists its schedulers, with the one in use in brackets.
    pub queue: BTreeMap<String, String>,
    /// The tunables of the scheduler in use: the files of `queue/iosched`.
    pub tunables: BTreeMap<String, String>,
    /// Obstacle to a run that writes to it; null if there is none but perhaps the data on it, which
    /// is not looked at.
    pub obstacle: Option<String>,
}

/// Lists all block devices that are no partitions, or the one called `name`, or at `/dev/name`.
///
/// # Errors
/// There is no such device, or it is a partition.
pub fn disks(name: Option<&str>) -> Result<Disks, Failure> {
    match name {
        Some(name) => Ok(Disks::of([block(name)?])),
        None => Ok(Disks::of(blocks())),
    }
}

/// The output of `linux set --json`.
#[derive(Debug, Serialize)]
pub struct DiskChange {
    /// Version of Penstock.
    pub penstock: &'static str,
    /// Name of the disk, as `sda`.
    pub disk: String,
    /// Its old settings.
    pub before: SchedulerSettings,
    /// Its settings now: those that were set.
    pub now: SchedulerSettings,
    /// The arguments of `penstock` that restore the old settings.
    pub undo: Vec<String>,
}

/// A scheduler of the kernel and settings of it and of the queue.
#[derive(Debug, Serialize)]
pub struct SchedulerSettings {
    /// Its name.
    pub scheduler: String,
    /// Tunables, or attributes of the queue, with their values.
    pub settings: BTreeMap<String, String>,
}

impl SchedulerSettings {
    fn new(scheduler: &str, settings: &[Setting]) -> Self {
        let pairs = settings.iter().map(|one| (one.key.clone(), one.value.clone()));
        Self { scheduler: scheduler.into(), settings: pairs.collect() }
    }
}

/// Sets the disk called `name` to `scheduler` with `sets`, as `read_expire=50`, for good.
///
/// # Errors
/// There is no such disk, scheduler or tunable, a value that the kernel refuses, a run that has
/// changed the disk's settings, or no permission.
pub fn set_disk(name: &str, scheduler: &str, sets: &[String]) -> Result<DiskChange, Failure> {
    let disk = scheduled(name)?;
    let settings: Vec<Setting> = sets.iter().map(|set| setting(set)).collect::<Result<_, _>>()?;
    let step = SchedulerStep { scheduler: scheduler.into(), settings: settings.clone() };
    let (before, now) = queue_settings::set(&disk, step).map_err(|error| match error {
        QueueError::Refused { disk, attribute, value, source }
            if matches!(source.kind(), ErrorKind::PermissionDenied) =>
        {
            let words = command(&disk, scheduler, &settings).join(" ");
            let message = format!("cannot set {attribute} of {disk} to {value}: {source}");
            Failure::cannot(message, format!("as root: `penstock {words}`"))
        }
        other => other.into(),
    })?;
    let undo = command(&disk, &before.scheduler, &before.settings);
    let now = SchedulerSettings::new(scheduler, &now);
    let before = SchedulerSettings::new(&before.scheduler, &before.settings);
    Ok(DiskChange { penstock: VERSION, disk, before, now, undo })
}

/// A disk with changed settings, which are put back when this is dropped.
#[derive(Debug)]
pub struct HeldDisk(Held);

impl HeldDisk {
    /// Sets the disk called `name` to `scheduler`, or leaves it the one that it has, with `settings`. After
    /// a kill `doctor --clean` and the next run put them back.
    ///
    /// # Errors
    /// As [`set_disk`], and for a setting that cannot be put back.
    pub fn new(
        name: &str,
        scheduler: Option<&str>,
        settings: Vec<(String, String)>,
    ) -> Result<Self, Failure> {
        let disk = scheduled(name)?;
        let settings = settings.into_iter().map(|(key, value)| Setting { key, value }).collect();
        Ok(Self(queue_settings::hold_disk(&disk, scheduler, settings)?))
    }

    /// Returns the schedulers and the values that the kernel took, in the order in which they were set.
    pub fn settings(&self) -> Vec<(String, String)> {
        self.0.taken().map(|setting| (setting.key, setting.value)).collect()
    }
}

/// Returns the disk called `name`, which has schedulers.
fn scheduled(name: &str) -> Result<String, Failure> {
    let Block { name: disk, queue, .. } = block(name)?;
    if !queue.iter().any(|(attribute, _)| attribute == "scheduler") {
        let message = format!("{disk} has no schedulers");
        return Err(Failure::wrong(
            message,
            "`penstock linux show` lists the disks that have some",
        ));
    }
    Ok(disk)
}

/// Parses a setting, as `read_expire=50`.
fn setting(text: &str) -> Result<Setting, Failure> {
    match text.split_once('=') {
        Some((key, value)) if !key.is_empty() && !value.is_empty() => {
            Ok(Setting { key: key.into(), value: value.into() })
        }
        _ => Err(Failure::wrong(
            format_args!("found {text:?}; expected KEY=VALUE"),
            "as read_expire=50 or nr_requests=64",
        )),
    }
}

/// Returns the arguments of `penstock` that set `disk` to `scheduler` with `settings`.
fn command(disk: &str, scheduler: &str, settings: &[Setting]) -> Vec<String> {
    let words = ["linux", "set", disk, scheduler].into_iter().map(String::from);
    words.chain(settings.iter().map(|one| format!("{}={}", one.key, one.value))).collect()
}

/// Finds the block device called `name`, or at `/dev/name`, among those that are no partitions.
fn block(name: &str) -> Result<Block, Failure> {
    let mut all = blocks();
    let wanted = name.strip_prefix("/dev/").unwrap_or(name);
    if let Some(at) = all.iter().position(|block| block.name == wanted) {
        return Ok(all.swap_remove(at));
    }
    if let Some(disk) = all.iter().find(|block| block.partitions.iter().any(|one| one == wanted)) {
        let message = format!("{wanted} is a partition, and its disk has the scheduler");
        return Err(Failure::wrong(message, format!("name the disk: {}", disk.name)));
    }
    let message = format!("there is no block device {wanted}");
    Err(Failure::wrong(message, suggest(wanted, all.iter().map(|block| &*block.name))))
}

impl Disks {
    fn of(blocks: impl IntoIterator<Item = Block>) -> Self {
        let settings = |block: Block| DiskSettings {
            name: block.name,
            bytes: block.bytes,
            model: block.model,
            backing_file: block.backing_file,
            queue_depth: block.queue_depth,
            queue: block.queue.into_iter().collect(),
            tunables: block.tunables.into_iter().collect(),
            obstacle: block.obstacle,
        };
        Self { penstock: VERSION, disks: blocks.into_iter().map(settings).collect() }
    }
}
