//! The kernel's scheduler in front of a disk, switched for the duration of a run.
//!
//! It is restored however the run ends: when [`Switched`] is dropped, or, after a kill, by
//! [`restore_left_behind`], which reads the note that every switch writes first.
//!
//! Source: the kernel's documentation, `Documentation/block/switching-sched.rst`.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use rustix::fs::FlockOperation;
use rustix::io::Errno;

use crate::exit_codes::{CANNOT, FAILED, UNSAFE_TARGET, WRONG_INPUT};
use crate::kernel::sysfs::{Disk, Sysfs, schedulers};
use crate::targets::Target;

/// The folder in which runs note their changes. Like a disk's scheduler, it does not survive a reboot.
const NOTES: &str = "/run/penstock";

/// The beginning of a note's name; the disk follows.
const NOTE: &str = "scheduler.";

/// Why a disk's scheduler was not switched.
#[derive(Debug, thiserror::Error)]
pub enum SchedulerError {
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
    /// Another run has switched it and is measuring.
    #[error(
        "{disk}: found another run that switches its scheduler; expected none\n\
         hint: two of them would measure each other: wait for the other to end"
    )]
    InUse {
        /// The disk.
        disk: String,
    },
    /// Another program switched it during a run.
    #[error(
        "{disk}: found it under {found} when the run ended; expected {name}\n\
         hint: something else switches schedulers, as udev rules or tuned do: stop it and run again"
    )]
    Changed {
        /// The disk.
        disk: String,
        /// The scheduler that the run had set.
        name: String,
        /// The scheduler that it has.
        found: String,
    },
    /// The system refused.
    #[error("{disk}: cannot switch its scheduler to {name}: {source}\nhint: only root may")]
    Refused {
        /// The disk.
        disk: String,
        /// The requested scheduler.
        name: String,
        /// The system's error.
        source: io::Error,
    },
}

impl SchedulerError {
    /// Returns the exit code of the command: 77 for what this machine cannot do, 2 for a wrong target, 5
    /// for a disk in use, 1 if another program switched the scheduler.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::NoDisk { .. } => WRONG_INPUT,
            Self::Changed { .. } => FAILED,
            Self::InUse { .. } => UNSAFE_TARGET,
            Self::Unknown { .. } | Self::Refused { .. } => CANNOT,
        }
    }
}

/// Disks with a switched scheduler, which is restored when this is dropped.
#[derive(Debug)]
pub struct Switched {
    places: Places,
    name: String,
    /// In the order in which they were switched.
    disks: Vec<Taken>,
}

/// A disk whose scheduler this run may switch, because it has locked the disk's note.
#[derive(Debug)]
struct Taken {
    disk: String,
    /// The disk's own scheduler.
    before: String,
    note: PathBuf,
    lock: File,
}

/// The folders of the disks and the notes.
#[derive(Clone, Debug)]
struct Places {
    sys: PathBuf,
    notes: PathBuf,
}

impl Places {
    fn real() -> Self {
        Self { sys: "/sys".into(), notes: NOTES.into() }
    }

    fn scheduler(&self, disk: &str) -> PathBuf {
        self.sys.join("block").join(disk).join("queue/scheduler")
    }

    /// Returns the path of the note on `disk`, which has its own scheduler.
    fn note(&self, disk: &str) -> PathBuf {
        self.notes.join(format!("{NOTE}{disk}"))
    }

    /// Gives `disk` the scheduler `name`.
    fn set(&self, disk: &str, name: &str) -> io::Result<()> {
        fs::write(self.scheduler(disk), name)
    }

    /// Locks `disk`, whose scheduler is `current`; returns `None` if another run has it. If there is a note of a
    /// killed run, the disk's own scheduler is the one in the note.
    fn take(&self, disk: &str, current: &str) -> io::Result<Option<Taken>> {
        fs::create_dir_all(&self.notes)?;
        let note = self.note(disk);
        loop {
            let mut options = File::options();
            let mut lock =
                options.read(true).write(true).create(true).truncate(false).open(&note)?;
            match rustix::fs::flock(&lock, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => {}
                Err(Errno::WOULDBLOCK) => return Ok(None),
                Err(errno) => return Err(errno.into()),
            }
            if lock.metadata()?.nlink() == 0 {
                // Its run has ended in between and removed it.
                continue;
            }
            let mut before = String::new();
            lock.read_to_string(&mut before)?;
            if before.is_empty() {
                // Before the switch: after a kill in between, restoring changes nothing.
                current.clone_into(&mut before);
                lock.write_all(before.as_bytes())?;
            }
            return Ok(Some(Taken { disk: disk.into(), before, note, lock }));
        }
    }
}

/// Switches every disk under `targets` to the kernel's scheduler `name`.
///
/// # Errors
/// [`SchedulerError`]; disks switched by then are restored.
pub fn switch(targets: &[&Target], name: &str) -> Result<Switched, SchedulerError> {
    let mut disks: Vec<Disk> = Vec::new();
    for target in targets {
        let none = || SchedulerError::NoDisk { path: target.path().to_owned() };
        // The open file, not its path: a loop device is made of a file in another place.
        let open = format!("/proc/self/fd/{}", target.file().as_raw_fd());
        let stack = Sysfs::new("/sys").under(open.as_ref()).ok().flatten().ok_or_else(none)?;
        let mut below =
            stack.disks.into_iter().filter(|disk| !disk.schedulers.is_empty()).peekable();
        below.peek().ok_or_else(none)?;
        // A disk below several targets is switched once.
        for disk in below {
            if disks.iter().all(|known| known.name != disk.name) {
                disks.push(disk);
            }
        }
    }
    Switched::new(Places::real(), &disks, name)
}

impl Switched {
    fn new(places: Places, disks: &[Disk], name: &str) -> Result<Self, SchedulerError> {
        let mut this = Self { places, name: name.into(), disks: Vec::new() };
        for Disk { name: disk, scheduler, schedulers, .. } in disks {
            if !schedulers.iter().any(|known| known == name) {
                let (disk, known) = (disk.clone(), schedulers.clone());
                return Err(SchedulerError::Unknown { disk, name: name.into(), known });
            }
            let current = scheduler.as_deref().unwrap_or("none");
            let refused =
                |source| SchedulerError::Refused { disk: disk.clone(), name: name.into(), source };
            let taken = this.places.take(disk, current).map_err(refused)?;
            let in_use = || SchedulerError::InUse { disk: disk.clone() };
            this.disks.push(taken.ok_or_else(in_use)?);
            if current != name {
                this.places.set(disk, name).map_err(refused)?;
            }
        }
        Ok(this)
    }
}

impl Switched {
    /// Checks that every disk still has the scheduler that it was given.
    ///
    /// # Errors
    /// [`SchedulerError::Changed`]: another program switched it.
    pub fn check(&self) -> Result<(), SchedulerError> {
        for Taken { disk, .. } in &self.disks {
            let text = fs::read_to_string(self.places.scheduler(disk)).unwrap_or_default();
            // Commands to a disk that is gone fail by themselves.
            if let (Some(found), _) = schedulers(&text)
                && found != self.name
            {
                let (disk, name) = (disk.clone(), self.name.clone());
                return Err(SchedulerError::Changed { disk, name, found });
            }
        }
        Ok(())
    }
}

impl Drop for Switched {
    fn drop(&mut self) {
        for taken in self.disks.drain(..).rev() {
            // The note stays if the disk does not take its own scheduler back.
            let _ = taken.put_back(&self.places);
        }
    }
}

impl Taken {
    /// Restores the disk's own scheduler and releases the disk.
    fn put_back(self, places: &Places) -> io::Result<()> {
        match places.set(&self.disk, &self.before) {
            // The disk is gone, and its scheduler with it.
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        fs::remove_file(&self.note)?;
        drop(self.lock);
        Ok(())
    }
}

/// A disk whose scheduler was not restored, because the run that switched it was killed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LeftBehind {
    /// The disk.
    pub disk: String,
    /// Its own scheduler.
    pub scheduler: String,
}

/// Returns the disks whose scheduler was not restored by a run that has ended.
pub fn left_behind() -> Vec<LeftBehind> {
    left_in(&Places::real())
}

fn left_in(places: &Places) -> Vec<LeftBehind> {
    let notes = fs::read_dir(&places.notes).into_iter().flatten().flatten();
    let read = |entry: fs::DirEntry| {
        let name = entry.file_name();
        let disk = name.to_str()?.strip_prefix(NOTE)?.to_owned();
        let note = File::open(entry.path()).ok()?;
        // A living run holds the lock. Dropping the file releases this one.
        rustix::fs::flock(&note, FlockOperation::NonBlockingLockShared).ok()?;
        let scheduler = fs::read_to_string(entry.path()).ok().filter(|text| !text.is_empty())?;
        Some(LeftBehind { disk, scheduler })
    };
    let mut left: Vec<_> = notes.filter_map(read).collect();
    left.sort_unstable_by(|a, b| a.disk.cmp(&b.disk));
    left
}

/// Restores the scheduler of a disk that was left behind.
///
/// # Errors
/// The system refuses, or a run has the disk by now; the note stays.
pub fn restore_left_behind(left: &LeftBehind) -> io::Result<()> {
    restore_in(&Places::real(), left)
}

fn restore_in(places: &Places, left: &LeftBehind) -> io::Result<()> {
    let taken = places.take(&left.disk, &left.scheduler)?;
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
            let places = Places { sys: root.join("sys"), notes: root.join("notes") };
            fs::create_dir_all(places.sys.join("block/sda/queue")).unwrap();
            fs::write(places.scheduler("sda"), "none [mq-deadline] kyber\n").unwrap();
            (Self(root), places)
        }
    }

    impl Drop for Tree {
        fn drop(&mut self) {
            fs::remove_dir_all(&self.0).expect("the folder is ours");
        }
    }

    fn disk() -> Disk {
        Disk {
            name: "sda".into(),
            model: None,
            rotational: None,
            scheduler: Some("mq-deadline".into()),
            schedulers: ["none", "mq-deadline", "kyber"].map(String::from).into(),
            requests: None,
            hardware_queues: None,
            backing_file: None,
            counters: None,
        }
    }

    fn scheduler(places: &Places) -> String {
        fs::read_to_string(places.scheduler("sda")).unwrap()
    }

    #[test]
    fn a_switch_lasts_as_long_as_it_is_held() {
        let (_tree, places) = Tree::new("switch");
        let switched = Switched::new(places.clone(), &[disk()], "kyber").unwrap();
        assert_eq!(scheduler(&places), "kyber");
        assert_eq!(fs::read_to_string(places.note("sda")).unwrap(), "mq-deadline");
        drop(switched);
        assert_eq!(scheduler(&places), "mq-deadline");
        assert_eq!(fs::read_dir(&places.notes).unwrap().count(), 0, "no note stays");
    }

    #[test]
    fn a_switch_by_another_program_is_reported_and_undone() {
        let (_tree, places) = Tree::new("changed");
        let switched = Switched::new(places.clone(), &[disk()], "kyber").unwrap();
        fs::write(places.scheduler("sda"), "none mq-deadline [kyber]\n").unwrap();
        switched.check().unwrap();
        fs::write(places.scheduler("sda"), "[none] mq-deadline kyber\n").unwrap();
        let error = switched.check().unwrap_err();
        assert_eq!(error.exit_code(), 1);
        assert!(error.to_string().starts_with("sda: found it under none"), "{error}");
        drop(switched);
        assert_eq!(scheduler(&places), "mq-deadline");
    }

    #[test]
    fn a_disk_that_has_it_is_taken_all_the_same() {
        let (_tree, places) = Tree::new("same");
        let switched = Switched::new(places.clone(), &[disk()], "mq-deadline").unwrap();
        assert_eq!(scheduler(&places), "none [mq-deadline] kyber\n", "not even written");
        let other = Switched::new(places.clone(), &[disk()], "kyber").unwrap_err();
        assert_eq!(other.exit_code(), 5, "nor by another run meanwhile: {other}");
        drop(switched);
        assert_eq!(scheduler(&places), "mq-deadline");
    }

    #[test]
    fn an_unknown_scheduler_puts_back_what_was_switched_before_it() {
        let (_tree, places) = Tree::new("unknown");
        let other = Disk { name: "sdb".into(), schedulers: vec!["none".into()], ..disk() };
        let error = Switched::new(places.clone(), &[disk(), other], "kyber").unwrap_err();
        assert_eq!(error.exit_code(), 77);
        assert!(error.to_string().starts_with("sdb: found the schedulers none; expected kyber"));
        assert_eq!(scheduler(&places), "mq-deadline");
    }

    /// The state after a run was killed under `kyber`.
    fn killed(places: &Places) {
        fs::create_dir_all(&places.notes).unwrap();
        fs::write(places.note("sda"), "mq-deadline").unwrap();
        places.set("sda", "kyber").unwrap();
    }

    #[test]
    fn what_a_killed_run_left_behind_is_found_and_put_back() {
        let (_tree, places) = Tree::new("left");
        let alive = Switched::new(places.clone(), &[disk()], "kyber").unwrap();
        assert_eq!(left_in(&places), [], "it lives");
        drop(alive);
        killed(&places);
        let left = left_in(&places);
        assert_eq!((left.len(), &*left[0].disk, &*left[0].scheduler), (1, "sda", "mq-deadline"));
        restore_in(&places, &left[0]).unwrap();
        assert_eq!(scheduler(&places), "mq-deadline");
        assert_eq!(left_in(&places), []);
    }

    #[test]
    fn the_next_run_puts_back_what_a_killed_one_switched() {
        let (_tree, places) = Tree::new("next");
        killed(&places);
        let found = Disk { scheduler: Some("kyber".into()), ..disk() };
        drop(Switched::new(places.clone(), &[found], "none").unwrap());
        assert_eq!(scheduler(&places), "mq-deadline", "its own, not what it was found under");
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
