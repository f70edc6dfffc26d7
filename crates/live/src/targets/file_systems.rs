//! Types of file systems: their names in `mount`, and those whose files cannot be targets.

use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use super::error::TargetError;
use crate::kernel::sysfs::plain;

/// File systems of the kernel's own files, which call the kernel when they are read or written. The numbers are
/// those of statfs(2).
const KERNELS: [(u32, &str); 16] = [
    (0x0000_9fa0, "proc"),
    (0x6265_6572, "sysfs"),
    (0x6462_6720, "debugfs"),
    (0x7472_6163, "tracefs"),
    (0x6265_6570, "configfs"),
    (0x7363_6673, "securityfs"),
    (0x0027_e0eb, "cgroup"),
    (0x6367_7270, "cgroup2"),
    (0xcafe_4a11, "bpf"),
    (0xde5e_81e4, "efivarfs"),
    (0x6165_676c, "pstore"),
    (0xf97c_ff8c, "selinuxfs"),
    (0x4341_5d53, "smackfs"),
    (0x4249_4e4d, "binfmt_misc"),
    (0x1980_0202, "mqueue"),
    (0x6e73_6673, "nsfs"),
];

/// Returns the type of the file system of `file`, as `mount` names it.
pub(super) fn name(file: &File) -> String {
    let Ok(answer) = rustix::fs::fstatfs(file) else { return unknown() };
    // The numbers of statfs(2), sign-extended on some architectures.
    let number = answer.f_type as u32;
    let name = match number {
        0x0000_ef53 => "ext4",
        0x5846_5342 => "xfs",
        0x9123_683e => "btrfs",
        0xf2f5_2010 => "f2fs",
        0x2fc1_2fc1 => "zfs",
        0xca45_1a4e => "bcachefs",
        0x0102_1994 => "tmpfs",
        0x8584_58f6 => "ramfs",
        0x794c_7630 => "overlayfs",
        0x0000_6969 => "nfs",
        0xff53_4d42 | 0xfe53_4d42 => "cifs",
        0x0102_1997 => "9p",
        0x6573_5546 => "fuse",
        0x0000_4d44 => "vfat",
        0x2011_bab0 => "exfat",
        0x7366_746e => "ntfs3",
        0x0000_f15f => "ecryptfs",
        _ => return format!("a file system of type {number:#x}"),
    };
    name.to_owned()
}

/// Returns the text in place of the name of an unknown file system.
pub(super) fn unknown() -> String {
    "its file system".to_owned()
}

/// Checks that `path`, or a file in the folder `path`, is not one of the kernel's own files. It does not open
/// the file, which can have side effects.
pub(super) fn check_not_the_kernels(path: &Path, shown: &Path) -> Result<(), TargetError> {
    let Ok(answer) = rustix::fs::statfs(path) else { return Ok(()) };
    let number = answer.f_type as u32;
    match KERNELS.iter().find(|(kernels, _)| *kernels == number) {
        Some(&(_, file_system)) => {
            Err(TargetError::Kernels { path: shown.to_owned(), file_system })
        }
        None => Ok(()),
    }
}

/// Checks that `folder` has no nodes of devices, before the file `path` is created there: a mistyped name of a
/// device would become a file in memory.
pub(super) fn check_not_among_devices(path: &Path, folder: &Path) -> Result<(), TargetError> {
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    let canonical = fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned());
    let number = fs::metadata(folder).map(|meta| meta.dev()).unwrap_or_default();
    let number = format!("{}:{}", rustix::fs::major(number), rustix::fs::minor(number));
    if holds_devices(&mounts, &number, &canonical) {
        return Err(TargetError::AmongDevices { path: path.to_owned() });
    }
    Ok(())
}

/// Returns whether the file system with this number, which holds `folder`, has nodes of devices: its type is
/// `devtmpfs`, or it is mounted on `/dev`, as in containers. `/dev/shm`, for files in memory, is another file
/// system.
fn holds_devices(mounts: &str, number: &str, folder: &Path) -> bool {
    let mut device_mounts = mounts.lines().filter_map(|line| {
        let (own, other) = line.split_once(" - ")?;
        let mut own = own.split(' ').skip(2);
        let (its, point) = (own.next()?, plain(own.nth(1)?));
        let kind = other.split(' ').next()?;
        (its == number).then(|| kind == "devtmpfs" || point == "/dev")
    });
    let below_dev = folder.starts_with("/dev") && !folder.starts_with("/dev/shm");
    // Where /dev is a folder of the root, or the mounts cannot be read, the path decides.
    device_mounts.any(|holds| holds) || below_dev
}

#[cfg(test)]
mod tests {
    use super::*;

    const MACHINE: &str = "\
        21 1 8:1 / / rw - ext4 /dev/sda1 rw\n\
        22 21 0:5 / /dev rw,nosuid shared:2 - devtmpfs udev rw\n\
        23 22 0:23 / /dev/shm rw - tmpfs tmpfs rw\n\
        24 21 0:5 / /srv/chroot/dev rw - devtmpfs udev rw\n";
    const CONTAINER: &str = "\
        30 1 0:40 / / rw - overlay overlay rw\n\
        31 30 0:41 / /dev rw,nosuid - tmpfs tmpfs rw\n\
        32 31 0:42 / /dev/shm rw - tmpfs shm rw\n";

    #[test]
    fn devices_lie_on_devtmpfs_and_on_what_is_mounted_on_dev() {
        for (mounts, number, folder, holds) in [
            (MACHINE, "0:5", "/dev", true),
            (MACHINE, "0:5", "/dev/mapper", true),
            (MACHINE, "0:5", "/srv/chroot/dev", true),
            (MACHINE, "0:23", "/dev/shm", false),
            (MACHINE, "8:1", "/srv", false),
            (CONTAINER, "0:41", "/dev/disk/by-id", true),
            (CONTAINER, "0:42", "/dev/shm/x", false),
            (CONTAINER, "0:40", "/data", false),
            ("21 1 8:1 / / rw - ext4 /dev/sda1 rw\n", "8:1", "/dev", true),
            ("21 1 8:1 / / rw - ext4 /dev/sda1 rw\n", "8:1", "/home/dev", false),
            ("", "0:5", "/dev", true),
            ("", "0:5", "/dev/shm", false),
        ] {
            assert_eq!(holds_devices(mounts, number, Path::new(folder)), holds, "{folder}");
        }
    }

    #[test]
    fn files_of_the_kernel_are_recognised_before_they_are_opened() {
        let refused = |path: &str| check_not_the_kernels(path.as_ref(), path.as_ref());
        let error = refused("/proc/self/status").unwrap_err();
        assert_eq!(error.exit_code(), 5);
        assert!(error.to_string().contains("a file of the kernel's own (proc)"), "{error}");
        assert!(refused("/proc").is_err());
        assert!(refused(env!("CARGO_MANIFEST_DIR")).is_ok());
        assert!(refused("/no/such/file").is_ok(), "another check reports it");
    }
}
