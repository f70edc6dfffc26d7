//! The kernel's own scheduler in front of a disk, switched for the time of a run.
//!
//! It is put back when the run ends, however it does: by going out of scope, or, after a kill that
//! leaves no time, by [`restore_left_behind`], which reads the note that every switch writes first.
//!
//! Source: the kernel's documentation, `Documentation/block/switching-sched.rst`.

use std::fs;
use std::io;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

use crate::Target;
use crate::error::{CANNOT, WRONG_INPUT};
use crate::sysfs::{Disk, Sysfs};

/// Where runs note what they changed. It does not survive a boot, and neither does a scheduler.
const NOTES: &str = "/run/penstock";

/// Why a disk's scheduler was not switched.
#[derive(Debug, thiserror::Error)]
pub enum SchedulerError {
    /// What holds the data is no disk with a scheduler.
    #[error(
        "{}: found no disk with a scheduler under it; expected a file or a device on one\n\
         hint: `penstock doctor {}` says what lies there", path.display(), path.display()
    )]
    NoDisk {
        /// The target.
        path: PathBuf,
    },
    /// The disk has others.
    #[error(
        "{disk}: found the schedulers {}; expected {name} among them\n\
         hint: a scheduler may be a module that is not loaded: `modprobe {name}`, or \
         `modprobe {name}-iosched`", known.join(", ")
    )]
    Unknown {
        /// The disk.
        disk: String,
        /// What was asked for.
        name: String,
        /// What it has.
        known: Vec<String>,
    },
    /// The system did not let it happen.
    #[error("{disk}: cannot switch its scheduler to {name}: {source}\nhint: only root may")]
    Refused {
        /// The disk.
        disk: String,
        /// What was asked for.
        name: String,
        /// What the system said.
        source: io::Error,
    },
}

impl SchedulerError {
    /// What the command exits with: 77 for what this machine cannot do, 2 for a wrong target.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::NoDisk { .. } => WRONG_INPUT,
            Self::Unknown { .. } | Self::Refused { .. } => CANNOT,
        }
    }
}

/// Disks under a scheduler that is not their own; put back when this goes.
#[derive(Debug)]
pub struct Switched {
    places: Places,
    /// Disks and their own schedulers, in the order in which they were switched.
    before: Vec<(String, String)>,
}

/// Where the disks and the notes are.
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

    /// The note of the process `pid` on `disk`.
    fn note(&self, pid: u32, disk: &str) -> PathBuf {
        self.notes.join(format!("scheduler.{pid}.{disk}"))
    }

    /// Gives `disk` the scheduler `name`.
    fn set(&self, disk: &str, name: &str) -> io::Result<()> {
        fs::write(self.scheduler(disk), name)
    }
}

/// Puts every disk under `target` under the kernel's scheduler `name`.
///
/// # Errors
/// [`SchedulerError`]; what was switched by then is put back.
pub fn switch(target: &Target, name: &str) -> Result<Switched, SchedulerError> {
    let none = || SchedulerError::NoDisk { path: target.path().to_owned() };
    // What is open, not what its path says: a loop device is made of a file that lies elsewhere.
    let open = format!("/proc/self/fd/{}", target.file().as_raw_fd());
    let stack = Sysfs::new("/sys").under(open.as_ref()).ok().flatten().ok_or_else(none)?;
    let disks: Vec<Disk> =
        stack.disks.into_iter().filter(|disk| !disk.schedulers.is_empty()).collect();
    if disks.is_empty() {
        return Err(none());
    }
    Switched::new(Places::real(), &disks, name)
}

impl Switched {
    fn new(places: Places, disks: &[Disk], name: &str) -> Result<Self, SchedulerError> {
        let mut this = Self { places, before: Vec::new() };
        for Disk { name: disk, scheduler, schedulers, .. } in disks {
            if !schedulers.iter().any(|known| known == name) {
                let (disk, known) = (disk.clone(), schedulers.clone());
                return Err(SchedulerError::Unknown { disk, name: name.into(), known });
            }
            let before = scheduler.clone().unwrap_or_else(|| "none".into());
            if before == name {
                continue;
            }
            let refused =
                |source| SchedulerError::Refused { disk: disk.clone(), name: name.into(), source };
            // The note first: a kill in between puts back what was not changed, which harms nobody.
            fs::create_dir_all(&this.places.notes).map_err(refused)?;
            let note = this.places.note(std::process::id(), disk);
            fs::write(&note, &before).map_err(refused)?;
            this.before.push((disk.clone(), before));
            this.places.set(disk, name).map_err(refused)?;
        }
        Ok(this)
    }
}

impl Drop for Switched {
    fn drop(&mut self) {
        for (disk, before) in self.before.drain(..).rev() {
            // The note stays if the disk does not take its own scheduler back.
            if self.places.set(&disk, &before).is_ok() {
                let _ = fs::remove_file(self.places.note(std::process::id(), &disk));
            }
        }
    }
}

/// A disk whose scheduler a run switched that was killed before it could put it back.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LeftBehind {
    /// The disk.
    pub disk: String,
    /// Its own scheduler.
    pub scheduler: String,
    note: PathBuf,
}

/// What runs have left behind that do not live any more.
pub fn left_behind() -> Vec<LeftBehind> {
    left_in(&Places::real(), |pid| Path::new("/proc").join(pid.to_string()).exists())
}

fn left_in(places: &Places, alive: impl Fn(u32) -> bool) -> Vec<LeftBehind> {
    let notes = fs::read_dir(&places.notes).into_iter().flatten().flatten();
    let read = |entry: fs::DirEntry| {
        let (note, name) = (entry.path(), entry.file_name());
        let (pid, disk) = name.to_str()?.strip_prefix("scheduler.")?.split_once('.')?;
        let dead = pid.parse().is_ok_and(|pid| !alive(pid));
        let scheduler = fs::read_to_string(&note).ok().filter(|_| dead)?;
        Some(LeftBehind { disk: disk.into(), scheduler, note })
    };
    let mut left: Vec<_> = notes.filter_map(read).collect();
    left.sort_unstable_by(|one, other| one.note.cmp(&other.note));
    left
}

/// Gives `left` its own scheduler back.
///
/// # Errors
/// The system does not let it; the note stays.
pub fn restore_left_behind(left: &LeftBehind) -> io::Result<()> {
    restore_in(&Places::real(), left)
}

fn restore_in(places: &Places, left: &LeftBehind) -> io::Result<()> {
    match places.set(&left.disk, &left.scheduler) {
        // The disk has gone, and its scheduler with it.
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => fs::remove_file(&left.note),
    }
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
        assert!(places.note(std::process::id(), "sda").exists());
        drop(switched);
        assert_eq!(scheduler(&places), "mq-deadline");
        assert_eq!(fs::read_dir(&places.notes).unwrap().count(), 0, "no note stays");
    }

    #[test]
    fn a_disk_that_has_it_is_left_alone() {
        let (_tree, places) = Tree::new("same");
        let before = scheduler(&places);
        drop(Switched::new(places.clone(), &[disk()], "mq-deadline").unwrap());
        assert_eq!(scheduler(&places), before, "not even written");
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

    #[test]
    fn what_a_killed_run_left_behind_is_found_and_put_back() {
        let (_tree, places) = Tree::new("left");
        std::mem::forget(Switched::new(places.clone(), &[disk()], "kyber").unwrap());
        assert_eq!(left_in(&places, |_| true), [], "it lives");
        let left = left_in(&places, |_| false);
        assert_eq!((left.len(), &*left[0].disk, &*left[0].scheduler), (1, "sda", "mq-deadline"));
        restore_in(&places, &left[0]).unwrap();
        assert_eq!(scheduler(&places), "mq-deadline");
        assert_eq!(left_in(&places, |_| false), []);
    }

    #[test]
    fn a_note_of_a_disk_that_has_gone_is_dropped() {
        let (_tree, places) = Tree::new("gone");
        std::mem::forget(Switched::new(places.clone(), &[disk()], "kyber").unwrap());
        fs::remove_dir_all(places.sys.join("block/sda")).unwrap();
        let left = left_in(&places, |_| false);
        restore_in(&places, &left[0]).unwrap();
        assert_eq!(left_in(&places, |_| false), []);
    }
}
