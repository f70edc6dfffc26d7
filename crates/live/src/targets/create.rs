//! The creation of owned files.
//!
//! Space is reserved and then written once, because the first write into a fresh extent converts it, and
//! that time would be measured. The mark is written last, after the data is durable, so an incomplete file
//! is never ours.
//!
//! The file has no name until it is complete, so that nothing remains however the process ends. Where the
//! file system cannot do that, it has its name from the start: a creation that fails or is interrupted
//! removes it, and a killed one leaves a file without a mark.

use std::fs::{File, Metadata, OpenOptions};
use std::io;
use std::ops::ControlFlow;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use penstock_core::Seed;
use rand::Rng as _;
use rustix::fs::{AtFlags, FallocateFlags};
use rustix::io::Errno;

use super::direct::{self, Alignment, Direct};
use super::error::TargetError;
use super::file_systems;
use super::mark::{self, GRAIN, Holds, MARK};
use super::new_file::folder_of;
use super::opened::{Locked, Opened, open_direct};
use crate::record::record_file::{give_up_record, record_beside};

/// The size of a write while filling, in bytes: large enough for the full rate of a disk.
const CHUNK: u32 = 1 << 20;

/// The callback for progress: bytes written, and the total. `Break` stops the creation.
pub(super) type Progress<'a> = &'a mut dyn FnMut(u64, u64) -> ControlFlow<()>;

/// Creates an owned file of `usable` bytes at `path`, where no file exists.
pub(super) fn create(
    path: &Path,
    usable: u64,
    holds: Holds,
    direct: &Direct,
    progress: Progress<'_>,
) -> Result<Opened, TargetError> {
    let folder = folder_of(path);
    file_systems::check_not_the_kernels(folder, path)?;
    file_systems::check_not_among_devices(path, folder)?;
    let handle = File::open(folder)
        .map_err(|error| TargetError::system(path, "open the folder for it", error))?;
    let site = Site { path, folder: &handle, usable, holds, direct };
    site.check_space()?;
    // The record belongs to a file that was here before.
    give_up_record(&record_beside(path)).map_err(|error| {
        TargetError::system(path, "mark the record of its verified writes", error)
    })?;
    if let Some(file) = (direct.nameless)(folder).map_err(|error| site.cannot_create(error))? {
        // Its only name is the one in /proc.
        let name = PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()));
        if name.exists() {
            let opened = site.open_nameless(&name)?;
            site.make(&file, &opened, progress)?;
            if site.link(&name)? {
                return Ok(opened);
            }
            // Falls through: the file is created with a name from the start.
        }
    }
    let file = OpenOptions::new().read(true).write(true).create_new(true).open(path);
    let file = file.map_err(|error| site.cannot_create(error))?;
    let unfinished = Unfinished::new(path, &file)?;
    let opened = open_direct(path, &file, usable, direct)?;
    site.make(&file, &opened, progress)?;
    handle.sync_all().map_err(|error| site.failed("make it durable", error))?;
    unfinished.finish();
    Ok(opened)
}

/// Fills `usable` bytes of `file`, an owned file at `path`, from byte `start` on as a new file is filled, and makes
/// them durable. Returns whether all were written: `progress` may stop it.
pub(super) fn fill_again(
    path: &Path,
    file: &File,
    alignment: Alignment,
    (start, usable): (u64, u64),
    progress: Progress<'_>,
) -> Result<bool, TargetError> {
    let folder = File::open(folder_of(path))
        .map_err(|error| TargetError::system(path, "open its folder", error))?;
    let holds = Holds::Filling;
    let site = Site { path, folder: &folder, usable, holds, direct: &Direct::REAL };
    match site.fill(file, alignment, start, progress) {
        Err(TargetError::Interrupted { .. }) => return Ok(false),
        filled => filled?,
    }
    file.sync_all().map_err(|error| site.failed("make it durable", error))?;
    Ok(true)
}

/// Returns the generator of the first content of a file. A run does not depend on it, so its seed is fixed. It
/// is not zeros, which some disks and file systems do not store.
fn filling() -> impl rand::Rng {
    Seed(0).stream("owned file", 0)
}

/// Returns whether `file` begins with this content.
pub(crate) fn begins_as_filled(file: &File) -> bool {
    let (mut found, mut filled) = ([0; GRAIN as usize], [0; GRAIN as usize]);
    filling().fill_bytes(&mut filled);
    file.read_exact_at(&mut found, 0).is_ok() && found == filled
}

/// The place of a new file, and its size.
struct Site<'a> {
    path: &'a Path,
    folder: &'a File,
    usable: u64,
    holds: Holds,
    direct: &'a Direct,
}

impl Site<'_> {
    /// Opens the file called `name` for direct I/O, and locks it before any other process can open it.
    fn open_nameless(&self, name: &Path) -> Result<Opened, TargetError> {
        let direct = self.direct.open_as(name, self.path)?;
        let direct = Locked::new(self.path, Arc::new(direct))?;
        let alignment = self.direct.alignment(self.path, &direct.file)?;
        Ok(Opened { direct, alignment, usable: self.usable })
    }

    /// Turns `plain`, which is also open as `opened`, into an owned file that is durable except for its name.
    fn make(
        &self,
        plain: &File,
        opened: &Opened,
        progress: Progress<'_>,
    ) -> Result<(), TargetError> {
        let (path, usable) = (self.path, self.usable);
        let Opened { direct: Locked { file: direct, .. }, alignment, .. } = opened;
        if !usable.is_multiple_of(u64::from(alignment.offset)) {
            let grain = u64::from(alignment.offset);
            return Err(TargetError::BadSize { path: path.to_owned(), size: usable, grain });
        }
        self.reserve(plain)?;
        self.fill(direct, *alignment, 0, progress)?;
        let emptied = || match self.holds {
            Holds::Filling => Ok(()),
            Holds::Data => plain.write_all_at(&[0; GRAIN as usize], 0),
        };
        let durable = direct.sync_all().and_then(|()| emptied());
        let durable = durable.and_then(|()| mark::write(plain, usable, self.holds));
        durable.map_err(|error| self.failed("make it durable", error))?;
        self.direct.probe(path, direct, *alignment)
    }

    /// Gives the file called `name` its proper name, durably. Returns whether the file system can do that. A
    /// file that exists by now is not replaced.
    fn link(&self, name: &Path) -> Result<bool, TargetError> {
        let Some(own) = self.path.file_name() else { return Ok(false) };
        let follow = AtFlags::SYMLINK_FOLLOW;
        match rustix::fs::linkat(rustix::fs::CWD, name, self.folder, own, follow) {
            Ok(()) => {}
            Err(Errno::EXIST) => return Err(self.cannot_create(Errno::EXIST.into())),
            Err(_) => return Ok(false),
        }
        // Otherwise a crash may remove the name again, and with it the file.
        let durable = self.folder.sync_all();
        durable.map_err(|error| {
            let _ = std::fs::remove_file(self.path);
            self.failed("make it durable", error)
        })?;
        Ok(true)
    }

    /// Checks that the file fits, before anything is created.
    fn check_space(&self) -> Result<(), TargetError> {
        let usable = self.usable;
        if usable == 0 || !usable.is_multiple_of(GRAIN) || usable > i64::MAX as u64 - MARK {
            let path = self.path.to_owned();
            return Err(TargetError::BadSize { path, size: usable, grain: GRAIN });
        }
        if available(self.folder).is_some_and(|available| self.full_size() > available) {
            return Err(self.no_space());
        }
        Ok(())
    }

    /// Returns the size of the file in bytes, including its mark.
    fn full_size(&self) -> u64 {
        self.usable + MARK
    }

    /// Reserves the space. A file system that cannot do that allocates it during the writes that
    /// follow.
    fn reserve(&self, file: &File) -> Result<(), TargetError> {
        let reserve = || rustix::fs::fallocate(file, FallocateFlags::empty(), 0, self.full_size());
        match rustix::io::retry_on_intr(reserve) {
            Ok(()) | Err(Errno::OPNOTSUPP | Errno::NOSYS) => Ok(()),
            Err(errno) => Err(self.failed("set its space aside", errno.into())),
        }
    }

    /// Writes every usable byte once, from byte `start` of the file on: an application that has written
    /// nothing yet finds zeros.
    fn fill(
        &self,
        file: &File,
        alignment: Alignment,
        start: u64,
        progress: Progress<'_>,
    ) -> Result<(), TargetError> {
        let usable = self.usable;
        let len = CHUNK.max(alignment.offset);
        let mut area = direct::buffer(self.path, len)?;
        let chunk = area.own(0, len as usize);
        let mut rng = filling();
        let mut written = 0;
        while written < usable {
            if progress(written, usable).is_break() {
                return Err(TargetError::Interrupted { path: self.path.to_owned() });
            }
            let len = (usable - written).min(chunk.len() as u64) as usize;
            match self.holds {
                Holds::Filling => rng.fill_bytes(chunk),
                // The beginning says until the end that the file is being made.
                Holds::Data => {
                    chunk.fill(0);
                    if written == 0 {
                        rng.fill_bytes(&mut chunk[..GRAIN as usize]);
                    }
                }
            }
            let mut done = 0;
            while done < len {
                let rest = &chunk[done..len];
                let at = start + written + done as u64;
                let result = rustix::io::retry_on_intr(|| rustix::io::pwrite(file, rest, at));
                let count = match result {
                    Ok(count) => count / alignment.offset as usize * alignment.offset as usize,
                    Err(errno) => return Err(self.failed("fill it", errno.into())),
                };
                if count == 0 {
                    return Err(self.failed("fill it", io::ErrorKind::WriteZero.into()));
                }
                done += count;
            }
            written += len as u64;
        }
        // The file is complete, so the callback cannot stop it.
        let _ = progress(written, usable);
        Ok(())
    }

    /// Returns the error for a failed step, which may be a lack of space. If the space is enough, and inodes or a
    /// quota are not, the system's own message says more.
    fn failed(&self, doing: &'static str, error: io::Error) -> TargetError {
        let short = available(self.folder).is_some_and(|available| self.full_size() > available);
        match error.raw_os_error() {
            Some(libc::ENOSPC | libc::EDQUOT) if short => self.no_space(),
            _ => TargetError::system(self.path, doing, error),
        }
    }

    fn cannot_create(&self, error: io::Error) -> TargetError {
        self.failed("create it", error)
    }

    fn no_space(&self) -> TargetError {
        TargetError::NoSpace {
            path: self.path.to_owned(),
            file_system: file_systems::name(self.folder),
            needed: self.full_size(),
            available: available(self.folder).unwrap_or(0),
        }
    }
}

/// Returns the bytes that are free for this user; `None` where the file system does not count them.
pub(super) fn available(folder: &File) -> Option<u64> {
    let answer = rustix::fs::fstatvfs(folder).ok()?;
    (answer.f_blocks > 0).then(|| answer.f_bavail.saturating_mul(answer.f_frsize))
}

/// A file by its device and inode.
#[derive(Clone, Copy, PartialEq, Eq)]
struct FileIdentity {
    device: u64,
    inode: u64,
}

impl FileIdentity {
    fn new(meta: &Metadata) -> Self {
        Self { device: meta.dev(), inode: meta.ino() }
    }

    /// Removes this file at `path`, unless another one is there by now. An error is not reported: the
    /// one that led here is.
    fn remove_at(self, path: &Path) {
        let there = std::fs::symlink_metadata(path).map(|meta| Self::new(&meta));
        if there.is_ok_and(|there| there == self) {
            let _ = std::fs::remove_file(path);
        }
    }
}

/// Removes `file` at `path`, unless another file is there by now.
pub(super) fn remove(path: &Path, file: &File) {
    if let Ok(meta) = file.metadata() {
        FileIdentity::new(&meta).remove_at(path);
    }
}

/// Removes the file when it is dropped unless it is finished.
struct Unfinished {
    path: PathBuf,
    identity: Option<FileIdentity>,
}

impl Unfinished {
    fn new(path: &Path, file: &File) -> Result<Self, TargetError> {
        let meta = file.metadata();
        let meta = meta.map_err(|error| TargetError::system(path, "look at it", error))?;
        Ok(Self { path: path.to_owned(), identity: Some(FileIdentity::new(&meta)) })
    }

    fn finish(mut self) {
        self.identity = None;
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        if let Some(ours) = self.identity {
            ours.remove_at(&self.path);
        }
    }
}
