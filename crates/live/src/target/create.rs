//! Making an owned file.
//!
//! Space is set aside and then really written once: a first write into a fresh extent converts it,
//! and that would be timed. The mark comes last, after the data are durable, so a half-made file is
//! never ours; a creation that fails or is interrupted removes its file.

use std::fs::{File, OpenOptions};
use std::io;
use std::ops::ControlFlow;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use penstock_core::Seed;
use rand::Rng as _;
use rustix::fs::FallocateFlags;

use super::direct::{self, Alignment, Direct, file_system};
use super::mark::{self, GRAIN, MARK};
use super::{Opened, TargetError};

/// Bytes of one write while filling: large enough for the full rate of a disk.
const CHUNK: u32 = 1 << 20;

/// How the caller hears of progress: bytes written, bytes in all. `Break` stops the creation.
pub(super) type Progress<'a> = &'a mut dyn FnMut(u64, u64) -> ControlFlow<()>;

/// Makes an owned file of `usable` bytes at `path`, where nothing is.
pub(super) fn create(
    path: &Path,
    usable: u64,
    direct: &Direct,
    progress: Progress<'_>,
) -> Result<Opened, TargetError> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = File::open(folder.unwrap_or(Path::new(".")))
        .map_err(|error| TargetError::system(path, "open the folder for it", error))?;
    check_space(path, &folder, usable)?;
    let plain = OpenOptions::new().read(true).write(true).create_new(true).open(path);
    let plain = plain.map_err(|error| TargetError::system(path, "create it", error))?;
    let unfinished = Unfinished::new(path, &plain)?;
    let opened = super::open_direct(path, plain, usable, direct)?;
    if !usable.is_multiple_of(u64::from(opened.alignment.offset)) {
        let grain = u64::from(opened.alignment.offset);
        return Err(TargetError::BadSize { path: path.to_owned(), size: usable, grain });
    }
    reserve(path, &opened.plain, &folder, usable)?;
    fill(path, &opened.direct, &folder, usable, opened.alignment, progress)?;
    let durable = opened.direct.sync_all().and_then(|()| mark::write(&opened.plain, usable));
    let durable = durable.and_then(|()| folder.sync_all());
    durable.map_err(|error| failed(path, &folder, usable, "make it durable", error))?;
    direct.probe(path, &opened.direct, opened.alignment)?;
    unfinished.finish();
    Ok(opened)
}

/// Refuses what cannot fit, before anything is made.
fn check_space(path: &Path, folder: &File, usable: u64) -> Result<(), TargetError> {
    if usable == 0 || !usable.is_multiple_of(GRAIN) || usable > i64::MAX as u64 - MARK {
        return Err(TargetError::BadSize { path: path.to_owned(), size: usable, grain: GRAIN });
    }
    if available(folder).is_some_and(|available| usable + MARK > available) {
        return Err(no_space(path, folder, usable));
    }
    Ok(())
}

/// Sets the space aside. A file system that cannot gets it from the writing that follows.
fn reserve(path: &Path, file: &File, folder: &File, usable: u64) -> Result<(), TargetError> {
    let reserve = || rustix::fs::fallocate(file, FallocateFlags::empty(), 0, usable + MARK);
    match rustix::io::retry_on_intr(reserve) {
        Ok(()) | Err(rustix::io::Errno::OPNOTSUPP | rustix::io::Errno::NOSYS) => Ok(()),
        Err(errno) => Err(failed(path, folder, usable, "set its space aside", errno.into())),
    }
}

/// Writes every usable byte once.
fn fill(
    path: &Path,
    file: &File,
    folder: &File,
    usable: u64,
    alignment: Alignment,
    progress: Progress<'_>,
) -> Result<(), TargetError> {
    let len = CHUNK.max(alignment.offset);
    let mut area = direct::buffer(path, len)?;
    let chunk = area.own(0, len as usize);
    // What a file holds at first does not matter to a run, so its seed is fixed; it is not zeros,
    // which some disks and file systems do not store.
    let mut rng = Seed(0).stream("owned file", 0);
    let mut written = 0;
    while written < usable {
        if progress(written, usable).is_break() {
            return Err(TargetError::Interrupted { path: path.to_owned() });
        }
        let len = (usable - written).min(chunk.len() as u64) as usize;
        rng.fill_bytes(chunk);
        let mut done = 0;
        while done < len {
            let rest = &chunk[done..len];
            let at = written + done as u64;
            let result = rustix::io::retry_on_intr(|| rustix::io::pwrite(file, rest, at));
            let count = match result {
                Ok(count) => count / alignment.offset as usize * alignment.offset as usize,
                Err(errno) => return Err(failed(path, folder, usable, "fill it", errno.into())),
            };
            if count == 0 {
                let error = io::ErrorKind::WriteZero.into();
                return Err(failed(path, folder, usable, "fill it", error));
            }
            done += count;
        }
        written += len as u64;
    }
    // What is said at the end does not stop a file that is whole.
    let _ = progress(written, usable);
    Ok(())
}

/// The error for a failed step, which may be a lack of space.
fn failed(
    path: &Path,
    folder: &File,
    usable: u64,
    doing: &'static str,
    error: io::Error,
) -> TargetError {
    match error.raw_os_error() {
        Some(libc::ENOSPC | libc::EDQUOT | libc::EFBIG) => no_space(path, folder, usable),
        _ => TargetError::system(path, doing, error),
    }
}

fn no_space(path: &Path, folder: &File, usable: u64) -> TargetError {
    TargetError::NoSpace {
        path: path.to_owned(),
        file_system: file_system(folder),
        needed: usable + MARK,
        available: available(folder).unwrap_or(0),
    }
}

/// Bytes that the user may still take.
fn available(folder: &File) -> Option<u64> {
    let answer = rustix::fs::fstatvfs(folder).ok()?;
    Some(answer.f_bavail.saturating_mul(answer.f_frsize))
}

/// Removes the file again unless it is finished.
struct Unfinished {
    path: PathBuf,
    /// Device and inode: what is at the path by then may be somebody else's.
    identity: Option<(u64, u64)>,
}

impl Unfinished {
    fn new(path: &Path, file: &File) -> Result<Self, TargetError> {
        let meta = file.metadata();
        let meta = meta.map_err(|error| TargetError::system(path, "look at it", error))?;
        Ok(Self { path: path.to_owned(), identity: Some((meta.dev(), meta.ino())) })
    }

    fn finish(mut self) {
        self.identity = None;
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        let Some(ours) = self.identity else { return };
        let there = std::fs::symlink_metadata(&self.path).map(|meta| (meta.dev(), meta.ino()));
        if there.is_ok_and(|there| there == ours) {
            // The error that led here is the one to report.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}
