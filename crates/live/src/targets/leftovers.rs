//! Leftovers of killed runs: loop devices, incomplete files, outputs.
//!
//! Use it to report them and to clean up. A loop device counts as left behind if the file below has our mark
//! and the device is unused: it is neither mounted nor held, no process has it open, and the kernel grants us
//! exclusive access.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, OFlags};

use crate::kernel::openers::openers;
use crate::kernel::sysfs::{entries, name, text};
use crate::targets::device::alone;
use crate::targets::loops;
use crate::targets::new_file::UNFINISHED;
use crate::targets::pass_file::begins_as_written;
use crate::targets::{GRAIN, Listed, MARK, Roots, begins_as_filled, is_ours};

/// An unused loop device over an owned file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LoopDevice {
    /// Its node, as `/dev/loop3`.
    pub node: PathBuf,
    /// The owned file that it is made of.
    pub file: PathBuf,
}

impl LoopDevice {
    /// Detaches it. The file below stays as it is.
    ///
    /// # Errors
    /// The device is in use by now, or the user lacks the permission.
    pub fn remove(&self) -> io::Result<()> {
        let device = alone(&self.node).map_err(io::Error::other)?;
        // By now it may be made of another file.
        if left(&Roots::real(), &name(&self.node)).as_ref() != Some(self) {
            return Err(io::Error::other("it is in use by now"));
        }
        loops::clear(&device)
    }
}

/// Returns the loop devices that runs left behind; none where they cannot be listed.
pub fn loop_devices() -> Vec<LoopDevice> {
    let roots = Roots::real();
    let names = entries(&roots.sys.join("block")).into_iter().map(|folder| name(&folder));
    let unused = |device: &LoopDevice| {
        let flags = OFlags::EXCL.bits().cast_signed();
        let alone = || File::options().read(true).custom_flags(flags).open(&device.node);
        let number = fs::metadata(&device.node).map(|meta| meta.rdev());
        let is_it = |other| number.as_ref().is_ok_and(|&number| number == other);
        openers(&roots.proc, is_it).is_empty() && alone().is_ok()
    };
    names.filter_map(|name| left(&roots, &name)).filter(unused).collect()
}

/// Returns the loop device called `name`, if it is made of an owned file and, as far as the kernel reports,
/// free.
fn left(roots: &Roots, name: &str) -> Option<LoopDevice> {
    let file = text(&roots.sys.join("block").join(name).join("loop/backing_file"))?;
    let file = PathBuf::from(file);
    if !has_data(&file) || !is_ours(&File::open(&file).ok()?) {
        return None;
    }
    let node = Path::new("/dev").join(name);
    let listed = Listed::find(roots, fs::metadata(&node).ok()?.rdev())?;
    let free = listed.obstacle().ok()?.is_none();
    (free && listed.name() == name).then_some(LoopDevice { node, file })
}

/// Returns the files at `path`, or in the folder `path`, whose creation was not finished, and those that passes wrote
/// and that were not kept. They are recognised by their beginning. Nothing is removed, as another process may be creating one now.
pub fn half_made(path: &Path) -> Vec<PathBuf> {
    let files = if path.is_dir() { entries(path) } else { vec![path.to_owned()] };
    let half = |path: &PathBuf| {
        has_data(path)
            && File::open(path).is_ok_and(|file| {
                (begins_as_filled(&file) || begins_as_written(&file)) && !is_ours(&file)
            })
    };
    files.into_iter().filter(half).collect()
}

/// Returns the files at `path`, or in the folder `path`, that are incomplete outputs, such as a report or a
/// picture, of killed processes, whose locks ended with them.
pub fn unfinished_outputs(path: &Path) -> Vec<PathBuf> {
    let files = if path.is_dir() { entries(path) } else { vec![path.to_owned()] };
    files.into_iter().filter(|path| unlocked_output(path).is_some()).collect()
}

/// Removes the incomplete output at `path`.
///
/// # Errors
/// It is being written by now, or the user lacks the permission.
pub fn remove_unfinished_output(path: &Path) -> io::Result<()> {
    let _locked = unlocked_output(path).ok_or(io::ErrorKind::ResourceBusy)?;
    fs::remove_file(path)
}

/// Returns the file at `path`, locked, if it has the name of an incomplete output, `.NAME.PID` and
/// [`UNFINISHED`], and no process writes it.
fn unlocked_output(path: &Path) -> Option<File> {
    let name = name(path);
    let (_, process) = name.strip_prefix('.')?.strip_suffix(UNFINISHED)?.rsplit_once('.')?;
    let _: u32 = process.parse().ok()?;
    // Opening anything but a file can have side effects.
    let regular = fs::symlink_metadata(path).is_ok_and(|meta| meta.is_file());
    let file = regular.then(|| File::open(path).ok()).flatten()?;
    rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive).ok()?;
    Some(file)
}

/// Returns whether a regular file with space for a block and a mark is at `path`. It does not open the file, as
/// opening anything else can have side effects.
fn has_data(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|meta| meta.is_file() && meta.len() >= GRAIN + MARK)
}

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;

    use super::*;
    use crate::targets::{Target, User};

    #[test]
    fn a_file_without_its_mark_is_half_made() {
        let folder = std::env::temp_dir().join(format!("penstock-half-{}", std::process::id()));
        fs::create_dir(&folder).unwrap();
        let path = folder.join("data.img");
        drop(Target::open(&path, Some(65_536)).unwrap());
        fs::write(folder.join("theirs"), vec![7; 8192]).unwrap();
        assert!(half_made(&folder).is_empty());
        // The state after a creation was killed: no mark yet.
        File::options().write(true).open(&path).unwrap().set_len(65_536).unwrap();
        assert_eq!(half_made(&folder), [path.as_path()]);
        assert_eq!(half_made(&path), [path.as_path()]);
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_live_target_is_not_left_behind() {
        let path = std::env::temp_dir().join(format!("penstock-left-{}", std::process::id()));
        let go_on = &mut |_, _| ControlFlow::Continue(());
        let target = match Target::open_loop(&path, Some(65_536), User::Run, go_on) {
            Ok(target) => target,
            Err(error) if error.exit_code() == 77 => return eprintln!("skipped: {error}"),
            Err(error) => panic!("{error}"),
        };
        let ours = |one: &LoopDevice| one.file == path;
        assert!(!loop_devices().iter().any(ours));
        drop(target);
        fs::remove_file(path).unwrap();
    }
}
