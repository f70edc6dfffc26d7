//! Block devices as targets: used only if the user names one twice and it is unused.
//!
//! An owned file has a mark; a disk has no room for one. So the user confirms by the device's serial number,
//! or by its path once more, that its data may be lost. Even then a device is refused that is in use or
//! carries a known format: the owner must remove it first. Data without a known format is refused as well,
//! unless the user confirms that it may be lost.
//!
//! Invariants: all checks are made before the device is opened for writing, and again once it is
//! opened exclusively, which the kernel refuses for a device that is mounted or held.

mod sample;
mod usage;

use std::fs::File;
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rustix::fs::OFlags;

pub(crate) use self::usage::{Listed, Roots, partitions};
use super::direct::Direct;
use super::error::TargetError;
use super::opened::{Locked, Opened, check_kind, not_ours};
use super::signature;

/// The number of tries to open a busy device, and the time between: a process that has just ended releases it
/// a little later.
const TRIES: u32 = 20;
const APART: Duration = Duration::from_millis(50);

/// Contents that a device may have, besides known formats.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Contents {
    /// Only data that runs have written.
    Empty,
    /// Any data: it may be lost.
    MayBeLost,
    /// Anything, known formats included: it is kept, so that the device need not be named twice.
    Kept,
}

/// Opens the block device at `path` for direct I/O and exclusively, if it is free, `named` is its
/// serial number or its path, and it holds no more than `contents`. A device whose contents are kept need not
/// be named.
pub(super) fn open(
    path: &Path,
    named: Option<&str>,
    contents: Contents,
    roots: &Roots,
) -> Result<Opened, TargetError> {
    let number = std::fs::metadata(path)
        .map_err(|error| TargetError::system(path, "look at it", error))
        .and_then(|meta| device_number(path, &meta))?;
    let listed = Listed::find(roots, number).ok_or_else(|| TargetError::NotFree {
        path: path.to_owned(),
        found: "a block device that /sys does not list".into(),
        hint: "whether it is in use cannot be seen here; name it where /sys is whole".into(),
    })?;
    if contents != Contents::Kept {
        check_named(path, named, &listed)?;
    }
    check_free(path, &listed, number, contents)?;
    let device = alone(path).map_err(|error| match error {
        TargetError::InUse { path } => TargetError::NotFree {
            path,
            found: "it in use by another run, or by the kernel".into(),
            hint: "wait for that run; or look in other containers for who mounts or holds it"
                .into(),
        },
        error => error,
    })?;
    let used = device.metadata().map_err(|error| TargetError::system(path, "look at it", error))?;
    if device_number(path, &used)? != number {
        return Err(TargetError::NotFree {
            path: path.to_owned(),
            found: "another device, that took the place of the first just now".into(),
            hint: "name it again when it stays".into(),
        });
    }
    let device = Arc::new(device);
    let locked = retried(|| Locked::new(path, Arc::clone(&device)))?;
    // Another process may have begun to use it before it was opened exclusively.
    check_free(path, &listed, number, contents)?;
    let direct = Direct::REAL;
    let alignment = direct.alignment(path, &device)?;
    direct.probe(path, &device, alignment)?;
    let unit = u64::from(alignment.offset.max(alignment.memory));
    let usable = length(path, &device)? / unit * unit;
    Ok(Opened { direct: locked, alignment, usable })
}

/// Opens the block device at `path` for direct I/O as its only user.
pub(crate) fn alone(path: &Path) -> Result<File, TargetError> {
    let flags = (OFlags::DIRECT | OFlags::EXCL).bits().cast_signed();
    retried(|| {
        let opened = File::options().read(true).write(true).custom_flags(flags).open(path);
        opened.map_err(|error| match error.kind() {
            io::ErrorKind::ResourceBusy => TargetError::InUse { path: path.to_owned() },
            _ => TargetError::system(path, "open it for direct reading and writing", error),
        })
    })
}

/// Retries `step` while the device is in use.
fn retried<T>(mut step: impl FnMut() -> Result<T, TargetError>) -> Result<T, TargetError> {
    for _ in 1..TRIES {
        match step() {
            Err(TargetError::InUse { .. }) => pause(),
            answer => return answer,
        }
    }
    step()
}

/// Returns the obstacle that `look` finds, if it stays: a process that is just being started shares, for a
/// moment, all open files of its parent, which may be this process.
fn lasting<T>(mut look: impl FnMut() -> Option<T>) -> Option<T> {
    for _ in 1..TRIES {
        look()?;
        pause();
    }
    look()
}

#[allow(clippy::disallowed_methods)] // the kernel does not report when it releases a device
fn pause() {
    std::thread::sleep(APART);
}

/// Returns the number of the block device with this `meta`.
fn device_number(path: &Path, meta: &std::fs::Metadata) -> Result<u64, TargetError> {
    if meta.file_type().is_block_device() {
        return Ok(meta.rdev());
    }
    check_kind(path, meta.file_type())?;
    Err(not_ours(path, meta.len(), "where a block device was named"))
}

/// Returns whether `named` is another path of the file or device at `path`, or the serial number of that device.
pub(super) fn is_named(path: &Path, named: &str, roots: &Roots) -> bool {
    let number = std::fs::metadata(path).ok().and_then(|meta| device_number(path, &meta).ok());
    let listed = number.and_then(|number| Listed::find(roots, number));
    names(path, named, listed.as_ref())
}

fn names(path: &Path, named: &str, listed: Option<&Listed>) -> bool {
    let is_same = |named| std::fs::canonicalize(path).is_ok_and(|own| own == named);
    let is_path = || Path::new(named) == path || std::fs::canonicalize(named).is_ok_and(is_same);
    listed.is_some_and(|listed| listed.serials().iter().any(|serial| serial == named)) || is_path()
}

/// Checks that a device was named a second time, by serial number or path.
fn check_named(path: &Path, named: Option<&str>, listed: &Listed) -> Result<(), TargetError> {
    if named.is_some_and(|named| names(path, named, Some(listed))) {
        return Ok(());
    }
    let serials = listed.serials();
    let mut about = vec![format!("{} bytes", listed.len().unwrap_or(0))];
    about.extend(listed.model().map(|model| format!("model {model}")));
    about.extend(serials.first().map(|serial| format!("serial {serial}")));
    let second = named.map_or_else(|| "once".into(), |named| format!("and then as {named:?}"));
    let name = serials.first().cloned().unwrap_or_else(|| path.display().to_string());
    Err(TargetError::NotNamedTwice { path: path.to_owned(), about: about.join(", "), second, name })
}

/// Checks that a device is unused and holds no more than `contents`: but for contents that are kept, no known
/// format.
fn check_free(
    path: &Path,
    listed: &Listed,
    number: u64,
    contents: Contents,
) -> Result<(), TargetError> {
    let not_free = |found, hint| TargetError::NotFree { path: path.to_owned(), found, hint };
    let obstacle = listed.obstacle().map_err(|error| {
        let found = format!("that the kernel does not report what is in use ({error})");
        not_free(found, "name it where /proc is whole".into())
    })?;
    if let Some(usage::Obstacle { found, hint }) = obstacle.or_else(|| lasting(|| listed.writer()))
    {
        return Err(not_free(found, hint));
    }
    if contents == Contents::Kept {
        return Ok(());
    }
    let read = |error| TargetError::system(path, "look for what is on it", error);
    let nonblock = OFlags::NONBLOCK.bits().cast_signed();
    let device = File::options().read(true).custom_flags(nonblock).open(path).map_err(read)?;
    if device_number(path, &device.metadata().map_err(read)?)? != number {
        return Err(TargetError::InUse { path: path.to_owned() });
    }
    let len = length(path, &device)?;
    let signature = signature::find(&device, len).map_err(read)?;
    let found =
        signature.map(|signature::Signature { name, offset }| format!("{name} at byte {offset}"));
    let by_libblkid = || signature::ask(&device).map(|name| format!("what libblkid calls {name}"));
    if let Some(found) = found.or_else(by_libblkid) {
        let hint = format!(
            "nothing is written over what can be recognised: if it is not needed, remove it with \
             `wipefs -a {}`, and add `--even-if-not-empty` for what is left of it",
            path.display()
        );
        return Err(not_free(found, hint));
    }
    if contents == Contents::MayBeLost {
        return Ok(());
    }
    match sample::first_data(&device, len).map_err(read)? {
        Some(at) => Err(TargetError::NotEmpty { path: path.to_owned(), at }),
        None => Ok(()),
    }
}

/// Returns the length of an open device or file in bytes.
pub(super) fn length(path: &Path, device: &File) -> Result<u64, TargetError> {
    let end = rustix::fs::seek(device, rustix::fs::SeekFrom::End(0));
    end.map_err(|errno| TargetError::system(path, "ask for its size", errno.into()))
}

#[cfg(test)]
mod tests;
