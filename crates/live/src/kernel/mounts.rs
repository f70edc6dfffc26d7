//! Mounts in no folder: a descriptor holds one, so it ends with the process.
//!
//! Source: the kernel's documentation, `Documentation/filesystems/mount_api.rst`.

use std::os::fd::{AsFd, OwnedFd};

use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, fsconfig_create, fsconfig_set_string, fsmount,
    fsopen,
};

/// Mounts a file system of the type `kind` with `options`.
pub(crate) fn mount(kind: &str, options: &[(&str, &str)]) -> rustix::io::Result<OwnedFd> {
    let context = fsopen(kind, FsOpenFlags::FSOPEN_CLOEXEC)?;
    for &(key, value) in options {
        fsconfig_set_string(context.as_fd(), key, value)?;
    }
    fsconfig_create(context.as_fd())?;
    fsmount(context.as_fd(), FsMountFlags::FSMOUNT_CLOEXEC, MountAttrFlags::empty())
}
