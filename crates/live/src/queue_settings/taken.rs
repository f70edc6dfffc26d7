//! A disk whose settings are changed and put back.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::error::QueueError;
use super::note::{Noted, Purpose, Why, read_note};
use super::ways_back::{WayBack, way_back};
use crate::kernel::notes::{self, NOTES};
use crate::kernel::sysfs::{DEPTH, entries, name, schedulers, set_depth, text, write};

/// The attribute with the schedulers.
pub(super) const SCHEDULER: &str = "scheduler";

/// The folder with the tunables of the scheduler.
pub(super) const TUNABLES: &str = "iosched";

/// Attributes that the kernel may change by itself when the scheduler is switched.
const CHANGED_BY_A_SWITCH: [&str; 2] = [DEPTH, "wbt_lat_usec"];

/// A setting as the user names it: a tunable of the scheduler, or an attribute of the queue.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Setting {
    /// Its name, as `low_latency` or `nr_requests`.
    pub key: String,
    /// Its value.
    pub value: String,
}

impl Setting {
    /// Creates a setting.
    pub fn new(key: impl Into<String>, value: impl Into<String>) -> Self {
        Self { key: key.into(), value: value.into() }
    }

    /// Returns the setting of an attribute of the queue's folder.
    pub(super) fn of(attribute: &str, value: &str) -> Self {
        let key = attribute.strip_prefix(TUNABLES).map_or(attribute, |name| &name[1..]);
        Self { key: key.into(), value: value.into() }
    }
}

/// A disk whose settings this run may change, because it has locked the disk's note.
#[derive(Debug)]
pub(super) struct Taken {
    pub(super) disk: String,
    /// The old values, the oldest first.
    pub(super) before: Vec<Noted>,
    /// The attributes that were set, with their values.
    pub(super) set: Vec<(String, String)>,
    /// Attributes that were set in earlier steps, which may show other values by now.
    pub(super) earlier: Vec<(String, String)>,
    pub(super) note: PathBuf,
    lock: File,
}

/// The folders of the disks and the notes.
#[derive(Clone, Debug)]
pub(super) struct Places {
    pub(super) sys: PathBuf,
    pub(super) notes: PathBuf,
    pub(super) purpose: Purpose,
}

impl Places {
    pub(super) fn real(purpose: Purpose) -> Self {
        Self { sys: "/sys".into(), notes: NOTES.into(), purpose }
    }

    pub(super) fn queue(&self, disk: &str) -> PathBuf {
        self.sys.join("block").join(disk).join("queue")
    }

    /// Returns the path of the note on `disk`.
    pub(super) fn note(&self, disk: &str) -> PathBuf {
        self.notes.join(format!("{}{disk}", self.purpose.note()))
    }

    /// Reads an attribute of the queue of `disk`; of the schedulers, the one in use.
    pub(super) fn read(&self, disk: &str, attribute: &str) -> Option<String> {
        let text = text(&self.queue(disk).join(attribute))?;
        if attribute != SCHEDULER {
            return Some(text);
        }
        let (in_use, all) = schedulers(&text);
        in_use.or_else(|| all.into_iter().next())
    }

    fn write(&self, disk: &str, attribute: &str, value: &str) -> io::Result<()> {
        write(&self.queue(disk).join(attribute), value)
    }

    fn write_depth(&self, disk: &str, depth: &str) -> io::Result<()> {
        set_depth(&self.queue(disk), depth)
    }

    /// Returns the tunables of the scheduler of `disk`.
    fn tunables(&self, disk: &str) -> Vec<String> {
        entries(&self.queue(disk).join(TUNABLES)).iter().map(|path| name(path)).collect()
    }

    /// Locks `disk`; returns `None` if another run has it. If there is a note of a killed run, its old values
    /// are the disk's own.
    pub(super) fn take(&self, disk: &str) -> io::Result<Option<Taken>> {
        let note = self.note(disk);
        let Some(mut lock) = notes::lock(&note)? else { return Ok(None) };
        let before = read_note(&mut lock)?;
        let (disk, set) = (disk.into(), Vec::new());
        let mut taken = Taken { disk, before, set, earlier: Vec::new(), note, lock };
        if taken.before.is_empty() {
            taken.note_scheduler(self)?;
        }
        Ok(Some(taken))
    }
}

impl Taken {
    /// Notes the scheduler with all that a switch to another one may change.
    fn note_scheduler(&mut self, places: &Places) -> io::Result<()> {
        let Some(under) = places.read(&self.disk, SCHEDULER) else { return Ok(()) };
        let tunables = places.tunables(&self.disk).into_iter();
        let tunables = tunables.map(|name| format!("{TUNABLES}/{name}"));
        let others = CHANGED_BY_A_SWITCH.into_iter().map(String::from);
        let mut noted = Vec::new();
        for attribute in [SCHEDULER.into()].into_iter().chain(tunables).chain(others) {
            if let Some(value) = places.read(&self.disk, &attribute) {
                noted.push(Noted { why: Why::Switch, under: under.clone(), attribute, value });
            }
        }
        self.note(noted)
    }

    /// Adds old values to the note, before they change.
    fn note(&mut self, noted: Vec<Noted>) -> io::Result<()> {
        let lines: String = noted.iter().map(Noted::line).collect();
        self.lock.write_all(lines.as_bytes())?;
        self.before.extend(noted);
        Ok(())
    }

    /// Returns the attribute that `key` names under `scheduler`.
    pub(super) fn attribute(
        &self,
        places: &Places,
        scheduler: &str,
        key: &str,
    ) -> Result<String, QueueError> {
        let known = places.tunables(&self.disk);
        if known.iter().any(|name| name == key) {
            return Ok(format!("{TUNABLES}/{key}"));
        }
        let is_name = Path::new(key).components().count() == 1 && !key.starts_with('.');
        let path = places.queue(&self.disk).join(key);
        let writable = |path: &Path| {
            fs::metadata(path).is_ok_and(|meta| meta.is_file() && meta.mode() & 0o200 != 0)
        };
        if is_name && key != SCHEDULER && writable(&path) {
            return Ok(key.into());
        }
        let (disk, scheduler, key) = (self.disk.clone(), scheduler.into(), key.into());
        Err(QueueError::NoSetting { disk, scheduler, key, known })
    }

    /// Notes the old value of `attribute` and sets it to `value`.
    pub(super) fn change(
        &mut self,
        places: &Places,
        attribute: &str,
        value: &str,
    ) -> Result<(), QueueError> {
        let refused = |disk: &str, source| QueueError::Refused {
            disk: disk.into(),
            attribute: attribute.into(),
            value: value.into(),
            source,
        };
        let old = places.read(&self.disk, attribute);
        if attribute == SCHEDULER && old.as_deref() == Some(value) {
            self.set.push((attribute.into(), value.into()));
            return Ok(());
        }
        // The scheduler and its tunables were noted when the disk was taken. Those of another scheduler go
        // with it.
        let is_noted = attribute == SCHEDULER || attribute.starts_with(TUNABLES);
        if let Some(value) = old.filter(|_| !is_noted) {
            let under = places.read(&self.disk, SCHEDULER).unwrap_or_default();
            let noted = Noted { why: Why::Set, under, attribute: attribute.into(), value };
            self.note(vec![noted]).map_err(|source| refused(&self.disk, source))?;
        }
        let written = match attribute {
            DEPTH => places.write_depth(&self.disk, value),
            _ => places.write(&self.disk, attribute, value),
        };
        written.map_err(|source| refused(&self.disk, source))?;
        // The kernel rounds, as times to its ticks, and does not go below some values.
        let now = places.read(&self.disk, attribute).unwrap_or_else(|| value.into());
        if attribute == SCHEDULER && now != value {
            let source = io::Error::other(format!("it has {now}"));
            return Err(refused(&self.disk, source));
        }
        self.set.push((attribute.into(), now));
        Ok(())
    }

    /// Gives the tunables the values that they had under this scheduler: a switch to another one and back
    /// lost them.
    pub(super) fn keep_tunables(&self, places: &Places) -> Result<(), QueueError> {
        let now = places.read(&self.disk, SCHEDULER);
        let mut kept = self.before.iter().filter(|noted| {
            Some(&noted.under) == now.as_ref() && noted.attribute.starts_with(TUNABLES)
        });
        kept.try_for_each(|noted| {
            self.restore(places, noted).map_err(|source| QueueError::Refused {
                disk: self.disk.clone(),
                attribute: noted.attribute.clone(),
                value: noted.value.clone(),
                source,
            })
        })
    }

    /// Checks that `attribute` has `value`.
    pub(super) fn check(
        &self,
        places: &Places,
        attribute: &str,
        value: &str,
    ) -> Result<(), QueueError> {
        // Commands to a disk that is gone fail by themselves.
        let Some(found) = places.read(&self.disk, attribute).filter(|found| found != value) else {
            return Ok(());
        };
        let (disk, attribute) = (self.disk.clone(), attribute.into());
        Err(QueueError::Changed { disk, attribute, value: value.into(), found })
    }

    /// Puts the disk's own settings back, the last change first, and releases the disk.
    pub(super) fn put_back(self, places: &Places) -> io::Result<()> {
        let noted = |why: Why| self.before.iter().filter(move |noted| noted.why == why);
        // The switch back may change attributes, so these come after it.
        for noted in noted(Why::Set).rev().chain(noted(Why::Switch)) {
            self.restore(places, noted)?;
        }
        fs::remove_file(&self.note)?;
        drop(self.lock);
        Ok(())
    }

    /// Gives an attribute its old value, under the scheduler of that value.
    fn restore(&self, places: &Places, noted: &Noted) -> io::Result<()> {
        let Noted { why, under, attribute, value } = noted;
        let now = |attribute: &str| places.read(&self.disk, attribute);
        let write = |attribute: &str, value: &str| gone(places.write(&self.disk, attribute, value));
        if now(SCHEDULER).is_some_and(|now| now != *under) {
            write(SCHEDULER, under)?;
        }
        let is_other = || now(attribute).is_some_and(|now| now != *value);
        match way_back(attribute) {
            Some(WayBack::Depth) if *why == Why::Set => {
                return gone(places.write_depth(&self.disk, value));
            }
            Some(WayBack::Chosen(text)) if *why == Why::Set || is_other() => {
                // An older kernel refuses it.
                let _ = write(attribute, text);
            }
            _ => {}
        }
        if is_other() { write(attribute, value) } else { Ok(()) }
    }
}

/// Forgives that the disk is gone, and its settings with it.
fn gone(written: io::Result<()>) -> io::Result<()> {
    written.or_else(|error| match error.kind() {
        io::ErrorKind::NotFound => Ok(()),
        _ => Err(error),
    })
}
