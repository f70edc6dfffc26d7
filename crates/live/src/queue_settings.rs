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

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::FlockOperation;
use rustix::io::Errno;

use crate::exit_codes::{CANNOT, FAILED, UNSAFE_TARGET, WRONG_INPUT};
use crate::kernel::sysfs::{Sysfs, entries, name, schedulers, text};
use crate::targets::Target;

/// The folder in which runs note their changes. Like a disk's settings, it does not survive a reboot.
const NOTES: &str = "/run/penstock";

/// The reason why the settings of a disk are held. What is held for a run is put back before what is held for as
/// long as the disk is served.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Purpose {
    Run,
    Serving,
}

impl Purpose {
    const ALL: [Self; 2] = [Self::Run, Self::Serving];

    /// Returns the beginning of a note's name; the disk follows.
    const fn note(self) -> &'static str {
        match self {
            Self::Run => "queue.",
            Self::Serving => "served.",
        }
    }
}

/// The attribute with the schedulers.
const SCHEDULER: &str = "scheduler";

/// The attribute with the depth of the queue.
const DEPTH: &str = "nr_requests";

/// The folder with the tunables of the scheduler.
const TUNABLES: &str = "iosched";

/// Attributes that the kernel may change by itself when the scheduler is switched.
const CHANGED_BY_A_SWITCH: [&str; 2] = [DEPTH, "wbt_lat_usec"];

/// The depth below which the kernel does not go.
const DEPTH_LEAST: u64 = 4;

/// Why the settings of a disk were not changed.
#[derive(Debug, thiserror::Error)]
pub enum QueueError {
    /// No disk with a scheduler holds the data.
    #[error(
        "{}: found no disk with a scheduler under it; expected a file or a device on one\n\
         hint: `penstock doctor {}` says what lies there", path.display(), path.display()
    )]
    NoDisk {
        /// The target.
        path: PathBuf,
    },
    /// The disk does not have this scheduler.
    #[error(
        "{disk}: found the schedulers {}; expected {name} among them\n\
         hint: a scheduler may be a module that is not loaded: `modprobe {name}`, or \
         `modprobe {name}-iosched`", known.join(", ")
    )]
    Unknown {
        /// The disk.
        disk: String,
        /// The requested scheduler.
        name: String,
        /// The schedulers of the disk.
        known: Vec<String>,
    },
    /// Neither the scheduler nor the queue has this setting.
    #[error(
        "{disk}: found no tunable {key} of {scheduler}; expected {}\n\
         hint: or a writable attribute of its queue, as nr_requests",
        if known.is_empty() { "none, as it has none".into() } else { known.join(", ") }
    )]
    NoSetting {
        /// The disk.
        disk: String,
        /// Its scheduler.
        scheduler: String,
        /// The requested setting.
        key: String,
        /// The tunables of the scheduler.
        known: Vec<String>,
    },
    /// Another run has changed it and is measuring.
    #[error(
        "{disk}: found another run that has changed its settings; expected none\n\
         hint: two of them would measure each other: wait for the other to end"
    )]
    InUse {
        /// The disk.
        disk: String,
    },
    /// Another program changed a setting during a run.
    #[error(
        "{disk}: found {attribute} at {found} when the run ended; expected {value}\n\
         hint: something else changes settings, as udev rules or tuned do: stop it and run again"
    )]
    Changed {
        /// The disk.
        disk: String,
        /// The attribute, as `scheduler`.
        attribute: String,
        /// The value that it was given.
        value: String,
        /// The value that it has.
        found: String,
    },
    /// The system refused.
    #[error(
        "{disk}: cannot set {attribute} to {value}: {source}\nhint: {}",
        if source.kind() == io::ErrorKind::InvalidInput {
            "the kernel refuses this value"
        } else {
            "only root may, where /sys is writable"
        }
    )]
    Refused {
        /// The disk.
        disk: String,
        /// The attribute, as `scheduler`.
        attribute: String,
        /// The requested value.
        value: String,
        /// The system's error.
        source: io::Error,
    },
}

impl QueueError {
    /// Returns the exit code of the command: 77 for what this machine cannot do, 2 for a wrong target or a
    /// wrong setting, 5 for a disk in use, 1 if another program changed a setting.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::NoDisk { .. } | Self::NoSetting { .. } => WRONG_INPUT,
            Self::Refused { source, .. } if source.kind() == io::ErrorKind::InvalidInput => {
                WRONG_INPUT
            }
            Self::Changed { .. } => FAILED,
            Self::InUse { .. } => UNSAFE_TARGET,
            Self::Unknown { .. } | Self::Refused { .. } => CANNOT,
        }
    }
}

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
    fn of(attribute: &str, value: &str) -> Self {
        let key = attribute.strip_prefix(TUNABLES).map_or(attribute, |name| &name[1..]);
        Self { key: key.into(), value: value.into() }
    }
}

/// Disks with changed settings, which are put back when this is dropped.
#[derive(Debug)]
pub struct Held {
    places: Places,
    /// In the order in which they were taken.
    disks: Vec<Taken>,
}

/// A disk whose settings this run may change, because it has locked the disk's note.
#[derive(Debug)]
struct Taken {
    disk: String,
    /// The old values, the oldest first.
    before: Vec<Noted>,
    /// The attributes that were set, with their values.
    set: Vec<(String, String)>,
    note: PathBuf,
    lock: File,
}

/// The old value of an attribute.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Noted {
    why: Why,
    /// The scheduler under which it was read.
    under: String,
    /// The path of the attribute in the queue's folder.
    attribute: String,
    value: String,
}

/// The reason why an old value was noted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Why {
    /// A switch of the scheduler may change the attribute.
    Switch,
    /// The attribute was about to be set.
    Set,
}

impl Noted {
    /// Parses a line of a note; `None` for a line that was not finished.
    fn parse(line: &str) -> Option<Self> {
        let mut words = line.strip_suffix('\n')?.splitn(4, ' ');
        let why = match words.next()? {
            "switch" => Why::Switch,
            "set" => Why::Set,
            _ => return None,
        };
        let mut word = || words.next().map(str::to_owned);
        Some(Self { why, under: word()?, attribute: word()?, value: word()? })
    }

    fn line(&self) -> String {
        let why = match self.why {
            Why::Switch => "switch",
            Why::Set => "set",
        };
        format!("{why} {} {} {}\n", self.under, self.attribute, self.value)
    }
}

/// The folders of the disks and the notes.
#[derive(Clone, Debug)]
struct Places {
    sys: PathBuf,
    notes: PathBuf,
    purpose: Purpose,
}

impl Places {
    fn real(purpose: Purpose) -> Self {
        Self { sys: "/sys".into(), notes: NOTES.into(), purpose }
    }

    fn queue(&self, disk: &str) -> PathBuf {
        self.sys.join("block").join(disk).join("queue")
    }

    /// Returns the path of the note on `disk`.
    fn note(&self, disk: &str) -> PathBuf {
        self.notes.join(format!("{}{disk}", self.purpose.note()))
    }

    /// Reads an attribute of the queue of `disk`; of the schedulers, the one in use.
    fn read(&self, disk: &str, attribute: &str) -> Option<String> {
        let text = text(&self.queue(disk).join(attribute))?;
        if attribute != SCHEDULER {
            return Some(text);
        }
        let (in_use, all) = schedulers(&text);
        in_use.or_else(|| all.into_iter().next())
    }

    fn write(&self, disk: &str, attribute: &str, value: &str) -> io::Result<()> {
        // Opened, not created: an attribute that is missing is an error.
        let file =
            File::options().write(true).truncate(true).open(self.queue(disk).join(attribute));
        file.and_then(|mut file| file.write_all(value.as_bytes()))
    }

    /// Sets the depth of the queue of `disk`. After a switch of the scheduler the kernel shows the usual depth
    /// again, whatever it is, and takes the number that it shows for no change: another one comes first.
    fn write_depth(&self, disk: &str, depth: &str) -> io::Result<()> {
        if let (Some(shown), Ok(number)) = (self.read(disk, DEPTH), depth.parse::<u64>())
            && shown == depth
        {
            self.write(disk, DEPTH, &(number / 2).max(DEPTH_LEAST).to_string())?;
        }
        self.write(disk, DEPTH, depth)
    }

    /// Returns the tunables of the scheduler of `disk`.
    fn tunables(&self, disk: &str) -> Vec<String> {
        entries(&self.queue(disk).join(TUNABLES)).iter().map(|path| name(path)).collect()
    }

    /// Locks `disk`; returns `None` if another run has it. If there is a note of a killed run, its old values
    /// are the disk's own.
    fn take(&self, disk: &str) -> io::Result<Option<Taken>> {
        fs::create_dir_all(&self.notes)?;
        let note = self.note(disk);
        loop {
            let mut options = File::options();
            let mut lock =
                options.read(true).append(true).create(true).truncate(false).open(&note)?;
            match rustix::fs::flock(&lock, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => {}
                Err(Errno::WOULDBLOCK) => return Ok(None),
                Err(errno) => return Err(errno.into()),
            }
            if lock.metadata()?.nlink() == 0 {
                // Its run has ended in between and removed it.
                continue;
            }
            let before = read_note(&mut lock)?;
            let (disk, set) = (disk.into(), Vec::new());
            let mut taken = Taken { disk, before, set, note, lock };
            if taken.before.is_empty() {
                taken.note_scheduler(self)?;
            }
            return Ok(Some(taken));
        }
    }
}

/// Reads the old values of a note.
fn read_note(note: &mut File) -> io::Result<Vec<Noted>> {
    let mut text = String::new();
    note.read_to_string(&mut text)?;
    Ok(text.split_inclusive('\n').filter_map(Noted::parse).collect())
}

/// A scheduler of the kernel, and what is set under it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Step {
    /// The scheduler, as `bfq`.
    pub scheduler: String,
    /// Its tunables, and attributes of the queue.
    pub settings: Vec<Setting>,
}

/// Sets every disk under `targets` to the schedulers of `steps`, one after another.
///
/// # Errors
/// [`QueueError`]; disks changed by then are put back.
pub fn hold(targets: &[&Target], steps: &[Step]) -> Result<Held, QueueError> {
    let mut disks: Vec<String> = Vec::new();
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
            if !disks.contains(&disk.name) {
                disks.push(disk.name);
            }
        }
    }
    Held::new(Places::real(Purpose::Run), disks, steps)
}

/// Sets the disk called `disk` to the schedulers of `steps`, one after another, for as long as it is served. A
/// run may hold its settings meanwhile.
///
/// # Errors
/// [`QueueError`]; what was changed by then is put back.
pub fn hold_served(disk: &str, steps: &[Step]) -> Result<Held, QueueError> {
    Held::new(Places::real(Purpose::Serving), vec![disk.into()], steps)
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
pub fn set(disk: &str, step: Step) -> Result<(Before, Vec<Setting>), QueueError> {
    let held = Held::new(Places::real(Purpose::Run), vec![disk.into()], &[step])?;
    let now = held.settings().map(|(_, setting)| setting).collect();
    Ok((held.keep(), now))
}

impl Held {
    fn new(places: Places, disks: Vec<String>, steps: &[Step]) -> Result<Self, QueueError> {
        let mut this = Self { places, disks: Vec::new() };
        for disk in disks {
            let list = text(&this.places.queue(&disk).join(SCHEDULER)).unwrap_or_default();
            let known = schedulers(&list).1;
            let unknown = |step: &&Step| !known.contains(&step.scheduler);
            if let Some(Step { scheduler, .. }) = steps.iter().find(unknown) {
                return Err(QueueError::Unknown { disk, name: scheduler.clone(), known });
            }
            let taken = this.places.take(&disk).map_err(|source| QueueError::Refused {
                disk: disk.clone(),
                attribute: SCHEDULER.into(),
                value: steps.last().map(|step| step.scheduler.clone()).unwrap_or_default(),
                source,
            })?;
            this.disks.push(taken.ok_or_else(|| QueueError::InUse { disk: disk.clone() })?);
            let taken = this.disks.last_mut().expect("it was just added");
            for Step { scheduler, settings } in steps {
                // Settings of an earlier step may show other values under this scheduler.
                taken.set.clear();
                taken.change(&this.places, SCHEDULER, scheduler)?;
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
    fn attribute(&self, places: &Places, scheduler: &str, key: &str) -> Result<String, QueueError> {
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
    fn change(&mut self, places: &Places, attribute: &str, value: &str) -> Result<(), QueueError> {
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

    /// Checks that `attribute` has `value`.
    fn check(&self, places: &Places, attribute: &str, value: &str) -> Result<(), QueueError> {
        // Commands to a disk that is gone fail by themselves.
        let Some(found) = places.read(&self.disk, attribute).filter(|found| found != value) else {
            return Ok(());
        };
        let (disk, attribute) = (self.disk.clone(), attribute.into());
        Err(QueueError::Changed { disk, attribute, value: value.into(), found })
    }

    /// Puts the disk's own settings back, the last change first, and releases the disk.
    fn put_back(self, places: &Places) -> io::Result<()> {
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
        if attribute == DEPTH && *why == Why::Set {
            return gone(places.write_depth(&self.disk, value));
        }
        if now(attribute).is_some_and(|now| now != *value) {
            write(attribute, value)?;
        }
        Ok(())
    }
}

/// Forgives that the disk is gone, and its settings with it.
fn gone(written: io::Result<()>) -> io::Result<()> {
    written.or_else(|error| match error.kind() {
        io::ErrorKind::NotFound => Ok(()),
        _ => Err(error),
    })
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
        let mut note = File::open(entry.path()).ok()?;
        // A living process holds the lock. Dropping the file releases this one.
        rustix::fs::flock(&note, FlockOperation::NonBlockingLockShared).ok()?;
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

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder with a disk `sda` under `mq-deadline`, as `/sys` shows it.
    struct Tree(PathBuf);

    impl Tree {
        fn new(name: &str) -> (Self, Places) {
            let root = std::env::temp_dir().join(format!("penstock-{name}-{}", std::process::id()));
            let places =
                Places { sys: root.join("sys"), notes: root.join("notes"), purpose: Purpose::Run };
            fs::create_dir_all(places.sys.join("block/sda/queue")).unwrap();
            fs::create_dir(places.queue("sda").join(TUNABLES)).unwrap();
            let attributes = [
                ("scheduler", "none [mq-deadline] kyber\n"),
                ("nr_requests", "256\n"),
                ("rotational", "0\n"),
                ("iosched/read_expire", "500\n"),
            ];
            for (attribute, text) in attributes {
                fs::write(places.queue("sda").join(attribute), text).unwrap();
            }
            (Self(root), places)
        }
    }

    impl Drop for Tree {
        fn drop(&mut self) {
            fs::remove_dir_all(&self.0).expect("the folder is ours");
        }
    }

    fn held(
        places: &Places,
        scheduler: &str,
        settings: &[(&str, &str)],
    ) -> Result<Held, QueueError> {
        let setting =
            |&(key, value): &(&str, &str)| Setting { key: key.into(), value: value.into() };
        let settings = settings.iter().map(setting).collect();
        let step = Step { scheduler: scheduler.into(), settings };
        Held::new(places.clone(), vec!["sda".into()], &[step])
    }

    fn raw(places: &Places, attribute: &str) -> String {
        fs::read_to_string(places.queue("sda").join(attribute)).unwrap()
    }

    fn put(places: &Places, attribute: &str, text: &str) {
        fs::write(places.queue("sda").join(attribute), text).unwrap();
    }

    #[test]
    fn a_switch_lasts_as_long_as_it_is_held() {
        let (_tree, places) = Tree::new("switch");
        let changed = held(&places, "kyber", &[]).unwrap();
        assert_eq!(raw(&places, "scheduler"), "kyber");
        let note = "switch mq-deadline scheduler mq-deadline\n\
                    switch mq-deadline iosched/read_expire 500\n\
                    switch mq-deadline nr_requests 256\n";
        assert_eq!(fs::read_to_string(places.note("sda")).unwrap(), note);
        drop(changed);
        assert_eq!(raw(&places, "scheduler"), "mq-deadline");
        assert_eq!(fs::read_dir(&places.notes).unwrap().count(), 0, "no note stays");
    }

    #[test]
    fn a_switch_by_another_program_is_reported_and_undone() {
        let (_tree, places) = Tree::new("changed");
        let changed = held(&places, "kyber", &[]).unwrap();
        put(&places, "scheduler", "none mq-deadline [kyber]\n");
        changed.check().unwrap();
        put(&places, "scheduler", "[none] mq-deadline kyber\n");
        let error = changed.check().unwrap_err();
        assert_eq!(error.exit_code(), 1);
        assert!(
            error.to_string().starts_with("sda: found scheduler at none when the run"),
            "{error}"
        );
        drop(changed);
        assert_eq!(raw(&places, "scheduler"), "mq-deadline");
    }

    #[test]
    fn a_disk_that_has_it_is_taken_all_the_same() {
        let (_tree, places) = Tree::new("same");
        let changed = held(&places, "mq-deadline", &[]).unwrap();
        assert_eq!(raw(&places, "scheduler"), "none [mq-deadline] kyber\n", "not even written");
        let other = held(&places, "kyber", &[]).unwrap_err();
        assert_eq!(other.exit_code(), 5, "nor by another run meanwhile: {other}");
        drop(changed);
        assert_eq!(raw(&places, "scheduler"), "none [mq-deadline] kyber\n", "nor put back");
    }

    #[test]
    fn an_unknown_scheduler_puts_back_what_was_switched_before_it() {
        let (_tree, places) = Tree::new("unknown");
        fs::create_dir_all(places.queue("sdb")).unwrap();
        fs::write(places.queue("sdb").join("scheduler"), "none\n").unwrap();
        let disks = vec!["sda".into(), "sdb".into()];
        let step = Step { scheduler: "kyber".into(), settings: vec![] };
        let error = Held::new(places.clone(), disks, &[step]).unwrap_err();
        assert_eq!(error.exit_code(), 77);
        assert!(error.to_string().starts_with("sdb: found the schedulers none; expected kyber"));
        assert_eq!(raw(&places, "scheduler"), "mq-deadline");
    }

    #[test]
    fn settings_are_put_back_the_last_first_and_what_a_switch_changed_after_it() {
        let (_tree, places) = Tree::new("settings");
        let changed = held(&places, "none", &[("rotational", "1"), ("nr_requests", "4")]).unwrap();
        assert_eq!((&*raw(&places, "rotational"), &*raw(&places, "nr_requests")), ("1", "4"));
        let note = fs::read_to_string(places.note("sda")).unwrap();
        assert!(note.ends_with("\nset none rotational 0\nset none nr_requests 256\n"), "{note}");
        put(&places, "iosched/read_expire", "40\n");
        drop(changed);
        assert_eq!(raw(&places, "scheduler"), "mq-deadline");
        assert_eq!((&*raw(&places, "rotational"), &*raw(&places, "nr_requests")), ("0", "256"));
        assert_eq!(raw(&places, "iosched/read_expire"), "500");
    }

    #[test]
    fn settings_that_are_to_stay_stay_and_the_old_ones_are_returned() {
        let (_tree, places) = Tree::new("stay");
        let settings = [("read_expire", "50"), ("rotational", "1")];
        let before = held(&places, "mq-deadline", &settings).unwrap().keep();
        let old: Vec<_> = before.settings.iter().map(|old| (&*old.key, &*old.value)).collect();
        assert_eq!(before.scheduler, "mq-deadline");
        assert_eq!(old, [("read_expire", "500"), ("rotational", "0")]);
        assert_eq!((raw(&places, "iosched/read_expire"), left_in(&places)), ("50".into(), vec![]));
    }

    #[test]
    fn steps_are_undone_from_the_last_and_each_under_its_own_scheduler() {
        let (_tree, places) = Tree::new("steps");
        let depth = Setting { key: "nr_requests".into(), value: "4".into() };
        let steps = [
            Step { scheduler: "none".into(), settings: vec![depth] },
            Step { scheduler: "none".into(), settings: vec![] },
        ];
        let changed = Held::new(places.clone(), vec!["sda".into()], &steps).unwrap();
        let note = fs::read_to_string(places.note("sda")).unwrap();
        assert!(note.ends_with("\nset none nr_requests 256\n"), "{note}");
        assert_eq!(changed.settings().count(), 0, "the depth may look otherwise by now");
        drop(changed);
        assert_eq!(
            (raw(&places, "scheduler"), raw(&places, "nr_requests")),
            ("mq-deadline".into(), "256".into())
        );
    }

    #[test]
    fn what_is_held_for_a_run_is_put_back_before_what_is_held_for_serving() {
        let (_tree, places) = Tree::new("purposes");
        let serving = Places { purpose: Purpose::Serving, ..places.clone() };
        let served = held(&serving, "none", &[("nr_requests", "4")]).unwrap();
        drop(held(&places, "none", &[("rotational", "1")]).unwrap());
        assert_eq!(
            (raw(&places, "scheduler"), raw(&places, "nr_requests")),
            ("none".into(), "4".into())
        );
        drop(served);
        assert_eq!(raw(&places, "nr_requests"), "256");
    }

    #[test]
    fn what_a_switch_back_would_not_restore_is_returned_too() {
        let (_tree, places) = Tree::new("lost");
        let before = held(&places, "kyber", &[]).unwrap().keep();
        let old: Vec<_> = before.settings.iter().map(|old| (&*old.key, &*old.value)).collect();
        assert_eq!(old, [("read_expire", "500"), ("nr_requests", "256")]);
    }

    #[test]
    fn an_unknown_setting_is_refused_and_nothing_stays_changed() {
        for key in ["low_latency", "scheduler", "../nr_requests", "iosched/read_expire"] {
            let (_tree, places) = Tree::new("no-setting");
            let error = held(&places, "kyber", &[("rotational", "1"), (key, "0")]).unwrap_err();
            assert_eq!(error.exit_code(), 2, "{key}");
            assert!(error.to_string().contains("of kyber; expected read_expire"), "{error}");
            assert_eq!(
                (raw(&places, "scheduler"), raw(&places, "rotational")),
                ("mq-deadline".into(), "0".into())
            );
        }
    }

    #[test]
    fn a_line_that_a_kill_cut_does_not_count() {
        let line = "set none nr_requests 128\n";
        assert!(Noted::parse(line).is_some_and(|noted| noted.line() == line));
        for cut in 0..line.len() {
            assert_eq!(Noted::parse(&line[..cut]), None);
        }
    }

    /// The state after a run was killed under `kyber`.
    fn killed(places: &Places) {
        fs::create_dir_all(&places.notes).unwrap();
        let note = "switch mq-deadline scheduler mq-deadline\n";
        fs::write(places.note("sda"), note).unwrap();
        put(places, "scheduler", "none mq-deadline [kyber]\n");
    }

    #[test]
    fn what_a_killed_run_left_behind_is_found_and_put_back() {
        let (_tree, places) = Tree::new("left");
        let alive = held(&places, "kyber", &[]).unwrap();
        assert_eq!(left_in(&places), [], "it lives");
        drop(alive);
        killed(&places);
        let left = left_in(&places);
        assert_eq!((left.len(), &*left[0].disk, &*left[0].scheduler), (1, "sda", "mq-deadline"));
        restore_in(&places, &left[0]).unwrap();
        assert_eq!(raw(&places, "scheduler"), "mq-deadline");
        assert_eq!(left_in(&places), []);
    }

    #[test]
    fn the_next_run_puts_back_what_a_killed_one_switched() {
        let (_tree, places) = Tree::new("next");
        killed(&places);
        drop(held(&places, "none", &[]).unwrap());
        assert_eq!(
            raw(&places, "scheduler"),
            "mq-deadline",
            "its own, not what it was found under"
        );
    }

    #[test]
    fn a_note_of_a_disk_that_has_gone_is_dropped() {
        let (_tree, places) = Tree::new("gone");
        killed(&places);
        fs::remove_dir_all(places.sys.join("block/sda")).unwrap();
        let left = left_in(&places);
        restore_in(&places, &left[0]).unwrap();
        assert_eq!(left_in(&places), []);
    }
}
