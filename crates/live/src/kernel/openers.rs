//! Processes that have a block device open, as far as `/proc` shows them.
//!
//! Use it to find users of a device that the kernel does not report: programs that opened it without
//! `O_EXCL`, as virtual machines do. It does not find processes that this user may not inspect, processes of
//! other containers and hosts, or mappings of a device that was closed since.

use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use crate::kernel::sysfs::{entries, name, text};

/// A process that has a device open.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Opener {
    /// The process ID.
    pub(crate) process: u32,
    /// Its name; empty if it is not visible.
    pub(crate) name: String,
    /// Whether it may write.
    pub(crate) writes: bool,
    /// The number of the device.
    pub(crate) device: u64,
}

/// Returns the processes that have a device open whose number `is_wanted`, once for each open file, except this
/// process. `proc` is the path of `/proc`.
pub(crate) fn openers(proc: &Path, is_wanted: impl Fn(u64) -> bool) -> Vec<Opener> {
    let own = std::process::id();
    let mut openers = Vec::new();
    for folder in entries(proc) {
        // Entries that are no processes, such as `self`, have names that are no numbers.
        let Ok(process) = name(&folder).parse() else { continue };
        for fd in if process == own { Vec::new() } else { files(&folder) } {
            let Some(device) = device(&fd).filter(|&device| is_wanted(device)) else { continue };
            let name = text(&folder.join("comm")).unwrap_or_default();
            openers.push(Opener { process, name, writes: may_write(&fd), device });
        }
    }
    openers
}

/// Returns the open files of a process. If its first thread has ended, they are listed with its other threads.
fn files(process: &Path) -> Vec<PathBuf> {
    let files = entries(&process.join("fd"));
    if !files.is_empty() {
        return files;
    }
    entries(&process.join("task")).iter().flat_map(|thread| entries(&thread.join("fd"))).collect()
}

/// Returns the number of the block device that is open as `fd`.
fn device(fd: &Path) -> Option<u64> {
    let meta = fs::metadata(fd).ok()?;
    meta.file_type().is_block_device().then(|| meta.rdev())
}

/// Returns whether the file that is open as `fd` was opened for writing. It counts as such if its flags are not
/// visible.
fn may_write(fd: &Path) -> bool {
    let about = fd.parent().and_then(Path::parent).map(|folder| folder.join("fdinfo"));
    let about = about.map(|folder| folder.join(name(fd)));
    let flags = about.and_then(|about| fs::read_to_string(about).ok()).unwrap_or_default();
    let flags = flags.lines().find_map(|line| line.strip_prefix("flags:"));
    let flags = flags.and_then(|flags| libc::c_int::from_str_radix(flags.trim(), 8).ok());
    flags.is_none_or(|flags| flags & libc::O_ACCMODE != libc::O_RDONLY)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::kernel::sysfs::fake::Tree;

    /// Any block device of this machine: its node and its number.
    fn some_device() -> Option<(PathBuf, u64)> {
        let found = entries(Path::new("/dev")).into_iter().find_map(|node| {
            let number = device(&node)?;
            Some((node, number))
        });
        if found.is_none() {
            eprintln!("skipped: this machine shows no block device");
        }
        found
    }

    /// A process that has `node` open with these flags, as `/proc` shows it.
    fn process(tree: &Tree, number: u32, node: &Path, flags: &str, folder: &str) {
        let at = format!("proc/{number}/{folder}");
        tree.file(&format!("proc/{number}/comm"), "database\n")
            .file(&format!("{at}fdinfo/7"), &format!("pos:\t0\nflags:\t{flags}\nmnt_id:\t9\n"));
        fs::create_dir_all(tree.root().join(format!("{at}fd"))).unwrap();
        symlink(node, tree.root().join(format!("{at}fd/7"))).unwrap();
    }

    #[test]
    fn writers_are_distinguished_from_readers() {
        let Some((node, device)) = some_device() else { return };
        let tree = Tree::new("openers");
        process(&tree, 11, &node, "0100000", "");
        process(&tree, 12, &node, "0100002", "");
        process(&tree, 13, &node, "02140001", "");
        process(&tree, 14, Path::new("/dev/null"), "0100002", "");
        process(&tree, std::process::id(), &node, "0100002", "");
        let found = openers(&tree.root().join("proc"), |number| number == device);
        let opener = |process, writes| Opener { process, name: "database".into(), writes, device };
        assert_eq!(found, [opener(11, false), opener(12, true), opener(13, true)]);
        assert_eq!(openers(&tree.root().join("proc"), |_| false), []);
    }

    #[test]
    fn a_process_without_its_first_thread_is_seen_by_its_other_threads() {
        let Some((node, device)) = some_device() else { return };
        let tree = Tree::new("threads");
        process(&tree, 11, &node, "0100002", "task/12/");
        let found = openers(&tree.root().join("proc"), |number| number == device);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].process, 11);
    }

    #[test]
    fn what_cannot_be_seen_counts_as_open_for_writing() {
        let Some((node, device)) = some_device() else { return };
        let tree = Tree::new("no-fdinfo");
        process(&tree, 11, &node, "0100000", "");
        fs::remove_dir_all(tree.root().join("proc/11/fdinfo")).unwrap();
        let found = openers(&tree.root().join("proc"), |number| number == device);
        assert!(found[0].writes);
    }
}
