//! Settings of a disk's queue in the kernel, changed for the duration of a run: its scheduler, the
//! scheduler's tunables, the queue's depth and other attributes.
//!
//! They are put back however the run ends: when [`Held`] is dropped, or, after a kill, by
//! [`restore_left_behind`], which reads the note that is written before each change. A note lists the
//! old values in the order in which they were noted, and is undone from its end. An old value belongs
//! to the scheduler under which it was read: tunables exist under their scheduler alone, and a queue
//! has a depth of its own under each.
//!
//! Source: the kernel's documentation, `Documentation/block/switching-sched.rst` and
//! `Documentation/ABI/stable/sysfs-block`.

use std::fs;
use std::io;
use std::os::fd::AsRawFd;

pub use self::error::QueueError;
use self::note::{Noted, Purpose, Why, read_note};
pub use self::taken::Setting;
use self::taken::{Places, SCHEDULER, TUNABLES, Taken};
use self::ways_back::{WAYS_BACK, way_back, without_way_back};
use crate::kernel::notes;
use crate::kernel::sysfs::{DEPTH, Disk, Sysfs, schedulers, text};
use crate::targets::Target;

mod error;
mod note;
mod taken;
#[cfg(test)]
mod tests;
mod ways_back;

/// Disks with changed settings, which are put back when this is dropped.
#[derive(Debug)]
pub struct Held {
    places: Places,
    /// In the order in which they were taken.
    disks: Vec<Taken>,
}

/// A scheduler of the kernel, and what is set under it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SchedulerStep {
    /// The scheduler, as `bfq`.
    pub scheduler: String,
    /// Its tunables, and attributes of the queue.
    pub settings: Vec<Setting>,
}

/// Sets every disk under `targets` to the schedulers of `steps`, one after another.
///
/// # Errors
/// [`QueueError`]; disks changed by then are put back.
pub fn hold(targets: &[&Target], steps: &[SchedulerStep]) -> Result<Held, QueueError> {
    let disks = disks_of(targets)?.into_iter().map(|disk| disk.name).collect();
    Held::new(Places::real(Purpose::Run), disks, steps)
}

/// Checks that every disk under `targets` has the scheduler `name`.
///
/// # Errors
/// [`QueueError`]: no disk has schedulers, or one lacks this one.
pub fn check(targets: &[&Target], name: &str) -> Result<(), QueueError> {
    disks_of(targets)?.into_iter().try_for_each(|disk| is_known(&disk.name, name, disk.schedulers))
}

/// Checks that the scheduler `name` is among `known`, those of `disk`.
fn is_known(disk: &str, name: &str, known: Vec<String>) -> Result<(), QueueError> {
    if known.iter().any(|scheduler| scheduler == name) {
        return Ok(());
    }
    Err(QueueError::Unknown { disk: disk.into(), name: name.into(), known })
}

/// Returns the disks with schedulers under `targets`.
fn disks_of(targets: &[&Target]) -> Result<Vec<Disk>, QueueError> {
    let mut disks: Vec<Disk> = Vec::new();
    for target in targets {
        let none = || QueueError::NoDisk { path: target.path().to_owned() };
        // The open file, not its path: a loop device is made of a file in another place.
        let open = format!("/proc/self/fd/{}", target.file().as_raw_fd());
        let stack = Sysfs::new("/sys").under(open.as_ref()).ok().flatten().ok_or_else(none)?;
        let mut below =
            stack.disks.into_iter().filter(|disk| !disk.schedulers.is_empty()).peekable();
        below.peek().ok_or_else(none)?;
        // A disk below several targets is switched once.
        for disk in below {
            if !disks.iter().any(|known| known.name == disk.name) {
                disks.push(disk);
            }
        }
    }
    Ok(disks)
}

/// Sets the disk called `disk` to the schedulers of `steps`, one after another, for as long as it is served. A
/// run may hold its settings meanwhile.
///
/// # Errors
/// [`QueueError`]; what was changed by then is put back.
pub fn hold_served(disk: &str, steps: &[SchedulerStep]) -> Result<Held, QueueError> {
    Held::new(Places::real(Purpose::Serving), vec![disk.into()], steps)
}

/// Sets the disk called `disk` to `scheduler`, or leaves it the one that it has, with `settings`: only
/// those whose way back is known. The depth, `nr_requests`, is that of the device, under any scheduler.
///
/// # Errors
/// [`QueueError`]; what was changed by then is put back.
pub fn hold_disk(
    disk: &str,
    scheduler: Option<&str>,
    settings: Vec<Setting>,
) -> Result<Held, QueueError> {
    hold_disk_in(Places::real(Purpose::Run), disk, scheduler, settings)
}

fn hold_disk_in(
    places: Places,
    disk: &str,
    scheduler: Option<&str>,
    settings: Vec<Setting>,
) -> Result<Held, QueueError> {
    let is_refused = |key: &str| {
        key != SCHEDULER && way_back(key).is_none() && places.queue(disk).join(key).exists()
    };
    if let Some(Setting { key, .. }) = settings.iter().find(|setting| is_refused(&setting.key)) {
        return Err(QueueError::NoWayBack {
            disk: disk.into(),
            attribute: key.clone(),
            reason: without_way_back(key),
            known: WAYS_BACK.iter().map(|(name, _)| *name).collect(),
        });
    }
    let scheduler = scheduler.map(String::from).or_else(|| places.read(disk, SCHEDULER));
    let scheduler = scheduler.unwrap_or_default();
    let (depth, settings): (Vec<_>, Vec<_>) =
        settings.into_iter().partition(|setting| setting.key == DEPTH);
    let mut steps = vec![SchedulerStep { scheduler, settings }];
    if !depth.is_empty() {
        steps.insert(0, SchedulerStep { scheduler: "none".into(), settings: depth });
    }
    Held::new(places, vec![disk.into()], &steps)
}

/// The old settings of a disk.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Before {
    /// Its scheduler.
    pub scheduler: String,
    /// The tunables of that scheduler and the attributes of the queue that differ or may differ now.
    pub settings: Vec<Setting>,
}

/// Sets the disk called `disk` as `step` says, for good. Returns what it had, and the values that
/// the kernel took.
///
/// # Errors
/// [`QueueError`]; what was changed by then is put back.
pub fn set(disk: &str, step: SchedulerStep) -> Result<(Before, Vec<Setting>), QueueError> {
    let held = Held::new(Places::real(Purpose::Run), vec![disk.into()], &[step])?;
    let now = held.settings().map(|(_, setting)| setting).collect();
    Ok((held.keep(), now))
}

impl Held {
    fn new(
        places: Places,
        disks: Vec<String>,
        steps: &[SchedulerStep],
    ) -> Result<Self, QueueError> {
        let mut this = Self { places, disks: Vec::new() };
        for disk in disks {
            let list = text(&this.places.queue(&disk).join(SCHEDULER)).unwrap_or_default();
            let known = schedulers(&list).1;
            steps.iter().try_for_each(|step| is_known(&disk, &step.scheduler, known.clone()))?;
            let taken = this.places.take(&disk).map_err(|source| QueueError::Refused {
                disk: disk.clone(),
                attribute: SCHEDULER.into(),
                value: steps.last().map(|step| step.scheduler.clone()).unwrap_or_default(),
                source,
            })?;
            this.disks.push(taken.ok_or_else(|| QueueError::InUse { disk: disk.clone() })?);
            let taken = this.disks.last_mut().expect("it was just added");
            for SchedulerStep { scheduler, settings } in steps {
                // Settings of an earlier step may show other values under this scheduler.
                taken.earlier.append(&mut taken.set);
                taken.change(&this.places, SCHEDULER, scheduler)?;
                taken.keep_tunables(&this.places)?;
                for Setting { key, value } in settings {
                    let attribute = taken.attribute(&this.places, scheduler, key)?;
                    taken.change(&this.places, &attribute, value)?;
                }
            }
        }
        Ok(this)
    }

    /// Checks that every disk still has the settings that it was given.
    ///
    /// # Errors
    /// [`QueueError::Changed`]: another program changed one.
    pub fn check(&self) -> Result<(), QueueError> {
        self.disks.iter().try_for_each(|taken| {
            let mut set = taken.set.iter();
            set.try_for_each(|(attribute, value)| taken.check(&self.places, attribute, value))
        })
    }

    /// Returns the values that the kernel took for settings other than the scheduler, each with the disk's name.
    pub fn settings(&self) -> impl Iterator<Item = (&str, Setting)> {
        let of_disk = |taken: &'_ Taken| {
            let set = taken.set.iter().filter(|(attribute, _)| attribute != SCHEDULER);
            set.map(|(attribute, value)| Setting::of(attribute, value)).collect::<Vec<_>>()
        };
        self.disks.iter().flat_map(move |taken| {
            of_disk(taken).into_iter().map(|setting| (taken.disk.as_str(), setting))
        })
    }

    /// Returns the schedulers and the values that the kernel took, in the order in which they were set, with
    /// those that it does not show any more.
    pub fn taken(&self) -> impl Iterator<Item = Setting> {
        let taken = self.disks.iter().flat_map(|taken| taken.earlier.iter().chain(&taken.set));
        taken.map(|(attribute, value)| Setting::of(attribute, value))
    }

    /// Leaves the settings as they are. Returns what the only disk had.
    fn keep(mut self) -> Before {
        let taken = self.disks.pop().expect("one disk was taken");
        let scheduler = taken.before.first().map(|noted| noted.under.clone()).unwrap_or_default();
        let switched = taken
            .set
            .iter()
            .any(|(attribute, value)| attribute == SCHEDULER && *value != scheduler);
        let mut settings: Vec<Setting> = Vec::new();
        for Noted { why, attribute, value, .. } in &taken.before {
            let is_set = taken.set.iter().any(|(set, _)| set == attribute);
            // A switch back gives the scheduler its usual tunables, and the queue its usual depth.
            let is_lost = switched && (attribute.starts_with(TUNABLES) || attribute == DEPTH);
            let setting = Setting::of(attribute, value);
            let is_known = settings.iter().any(|known| known.key == setting.key);
            if attribute != SCHEDULER && !is_known && (is_set || is_lost && *why == Why::Switch) {
                settings.push(setting);
            }
        }
        // The note has nothing to put back any more.
        let _ = fs::remove_file(&taken.note);
        Before { scheduler, settings }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        for taken in self.disks.drain(..).rev() {
            // The note stays if the disk does not take its own settings back.
            let _ = taken.put_back(&self.places);
        }
    }
}

/// A disk whose settings were not put back, because the process that changed them was killed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LeftBehind {
    /// The disk.
    pub disk: String,
    /// Its own scheduler.
    pub scheduler: String,
    purpose: Purpose,
}

/// Returns the disks whose settings were not put back by a process that has ended, in the order in which they are
/// to be put back.
pub fn left_behind() -> Vec<LeftBehind> {
    Purpose::ALL.into_iter().flat_map(|purpose| left_in(&Places::real(purpose))).collect()
}

fn left_in(places: &Places) -> Vec<LeftBehind> {
    let notes = fs::read_dir(&places.notes).into_iter().flatten().flatten();
    let read = |entry: fs::DirEntry| {
        let name = entry.file_name();
        let disk = name.to_str()?.strip_prefix(places.purpose.note())?.to_owned();
        let mut note = notes::abandoned(&entry.path())?;
        let scheduler = read_note(&mut note).ok()?.into_iter().next()?.under;
        Some(LeftBehind { disk, scheduler, purpose: places.purpose })
    };
    let mut left: Vec<_> = notes.filter_map(read).collect();
    left.sort_unstable_by(|a, b| a.disk.cmp(&b.disk));
    left
}

/// Puts back the settings of a disk that was left behind.
///
/// # Errors
/// The system refuses, or a process has the disk by now; the note stays.
pub fn restore_left_behind(left: &LeftBehind) -> io::Result<()> {
    restore_in(&Places::real(left.purpose), left)
}

fn restore_in(places: &Places, left: &LeftBehind) -> io::Result<()> {
    let taken = places.take(&left.disk)?;
    taken.ok_or(io::ErrorKind::ResourceBusy)?.put_back(places)
}
