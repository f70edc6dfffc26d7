//! Files that passes read and write: they begin missing, grow while they are written, and are removed at the end or
//! kept as owned files.
//!
//! A file that is written must not exist, or carry the mark of one that was kept. Its mark is gone once the file is
//! emptied, and comes back when it is kept. In between it has its name, because some file systems do less for a file
//! without one when it is flushed; what a killed process leaves is recognised by its data. A file that is only read may
//! be anybody's. A range of a block device takes the place of a file.
//!
//! Invariants: [`PassPlace::find`] changes nothing; a file that is removed was created here, or emptied.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::num::NonZeroU64;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{Advice, OFlags};

use super::create::{available, remove};
use super::direct::{Alignment, Direct};
use super::error::TargetError;
use super::mark::{self, Found, GRAIN, Holds, MARK};
use super::new_file::folder_of;
use super::opened::{Locked, check_kind};
use super::{Target, file_systems};
use crate::filling::{SECTOR, holds_no_data};
use crate::record::record_file::{give_up_record, record_beside};

/// The first use of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FirstUse {
    /// It is created, or emptied if it was kept.
    Creates,
    /// It is written over, so it was kept.
    Writes,
    /// It is read.
    Reads,
}

/// A file that may be used, or a free place for one.
pub struct PassPlace {
    path: PathBuf,
    /// The file that exists, and its lock unless it is only read.
    existing: Option<(Arc<File>, Option<Locked>)>,
    /// The bytes of the file system that it has.
    held: u64,
}

/// A file of passes, which is removed when it is dropped if it was made for them.
pub struct PassFile {
    path: PathBuf,
    file: Arc<File>,
    hold: Hold,
    /// First byte of the records.
    start: u64,
    /// Whether it was created or emptied, and is not kept.
    is_ours: AtomicBool,
}

/// A lock of a file, or a device that is held open.
enum Hold {
    None,
    File(Locked),
    Device { _target: Target },
}

impl PassPlace {
    /// Finds the file at `path` for this use, or a free place. It has, or will have, at least `size` bytes. A file
    /// that is to be written is locked.
    ///
    /// # Errors
    /// [`TargetError`]: the file is in the way, in use, no regular file or too short; there is none.
    pub fn find(path: &Path, first: FirstUse, size: u64) -> Result<Self, TargetError> {
        let place = |existing, held| Self { path: path.to_owned(), existing, held };
        let meta = match std::fs::metadata(path) {
            Ok(meta) => meta,
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(TargetError::system(path, "look at it", error));
            }
            Err(_) if std::fs::symlink_metadata(path).is_ok() => {
                return Err(TargetError::DanglingLink { path: path.to_owned() });
            }
            Err(_) if first != FirstUse::Creates => {
                return Err(TargetError::Unwritten { path: path.to_owned() });
            }
            Err(_) => {
                file_systems::check_not_the_kernels(folder_of(path), path)?;
                file_systems::check_not_among_devices(path, folder_of(path))?;
                return Ok(place(None, 0));
            }
        };
        check_kind(path, meta.file_type())?;
        file_systems::check_not_the_kernels(path, path)?;
        let nonblock = OFlags::NONBLOCK.bits().cast_signed();
        let mut options = File::options();
        options.read(true).custom_flags(nonblock);
        let open = |options: &std::fs::OpenOptions| {
            let file = options.open(path);
            file.map(Arc::new).map_err(|error| TargetError::system(path, "open it", error))
        };
        let file = open(&options)?;
        let len = length(path, &file)?;
        if first != FirstUse::Creates && len < size {
            return Err(TargetError::TooShort { path: path.to_owned(), len, needed: size });
        }
        if first == FirstUse::Reads {
            return Ok(place(Some((file, None)), 0));
        }
        check_kept(path, &file)?;
        let file = open(options.write(true))?;
        let lock = Locked::new(path, Arc::clone(&file))?;
        // It may have been changed before it was locked.
        check_kept(path, &file)?;
        Ok(place(Some((file, Some(lock))), meta.blocks() * SECTOR as u64))
    }

    /// Checks that all files have room for `size` bytes each, on the file systems where they are.
    ///
    /// # Errors
    /// [`TargetError::NoSpace`].
    pub fn check_room(places: &[Self], size: u64) -> Result<(), TargetError> {
        let mut needed: BTreeMap<u64, (u64, &Path)> = BTreeMap::new();
        for place in places {
            let folder = std::fs::metadata(folder_of(&place.path));
            let system = |error| TargetError::system(&place.path, "look at its folder", error);
            let (bytes, _) =
                needed.entry(folder.map_err(system)?.dev()).or_insert((0, &place.path));
            *bytes = bytes.saturating_add((size.saturating_add(MARK)).saturating_sub(place.held));
        }
        for (needed, path) in needed.into_values() {
            let folder = File::open(folder_of(path))
                .map_err(|error| TargetError::system(path, "open the folder for it", error))?;
            let available = available(&folder).unwrap_or(u64::MAX);
            if needed > available {
                let (path, file_system) = (path.to_owned(), file_systems::name(&folder));
                return Err(TargetError::NoSpace { path, file_system, needed, available });
            }
        }
        Ok(())
    }

    /// Opens the file, or creates it.
    ///
    /// # Errors
    /// [`TargetError`]: it cannot be created; a file has been created there meanwhile.
    pub fn open(self) -> Result<PassFile, TargetError> {
        let Self { path, existing, .. } = self;
        let file_of = |file, hold, is_ours| PassFile {
            path: path.clone(),
            file,
            hold,
            start: 0,
            is_ours: AtomicBool::new(is_ours),
        };
        match existing {
            Some((file, None)) => Ok(file_of(file, Hold::None, false)),
            Some((file, Some(lock))) => Ok(file_of(file, Hold::File(lock), false)),
            None => {
                let file = File::options().read(true).write(true).create_new(true).open(&path);
                let file = file.map(Arc::new).map_err(|error| match error.kind() {
                    io::ErrorKind::AlreadyExists => TargetError::Exists { path: path.clone() },
                    _ => TargetError::system(&path, "create it", error),
                })?;
                let mut file = file_of(file, Hold::None, true);
                file.hold = Hold::File(Locked::new(&path, Arc::clone(&file.file))?);
                Ok(file)
            }
        }
    }
}

impl PassFile {
    /// Uses the range of a block device from byte `start` on in place of a file.
    pub fn on_device(target: &Target, start: u64) -> Self {
        Self {
            path: target.path().to_owned(),
            file: Arc::clone(target.file()),
            hold: Hold::Device { _target: target.clone() },
            start,
            is_ours: AtomicBool::new(false),
        }
    }

    /// Returns its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the offset of its first record.
    pub(crate) fn start(&self) -> u64 {
        self.start
    }

    /// Checks that records of each of these lengths can be read and written with direct I/O.
    ///
    /// # Errors
    /// [`TargetError`]: the file system has no direct I/O, or needs another alignment.
    pub fn check_direct(&self, records: &[u64]) -> Result<(), TargetError> {
        let file = self.reopen(OFlags::RDONLY | OFlags::DIRECT);
        let file = file.map_err(|error| match error.raw_os_error() {
            Some(libc::EINVAL) => TargetError::DirectRefused {
                path: self.path.clone(),
                file_system: file_systems::name(&self.file),
                why: "opening it said EINVAL".into(),
            },
            _ => TargetError::system(&self.path, "open it for direct I/O", error),
        })?;
        let alignment = Direct::REAL.alignment(&self.path, &file)?;
        Direct::REAL.probe(&self.path, &file, alignment)?;
        let Alignment { offset: block, .. } = alignment;
        let block = u64::from(block);
        let odd = records.iter().find(|bytes| !bytes.is_multiple_of(block));
        odd.map_or(Ok(()), |&record| {
            let file_system = match self.hold {
                Hold::Device { .. } => "the device".into(),
                _ => file_systems::name(&file),
            };
            let (path, nearest) = (self.path.clone(), nearest_records(record, block));
            Err(TargetError::RecordUnaligned { path, file_system, record, block, nearest })
        })
    }

    /// Opens it once more, with these flags.
    pub(crate) fn reopen(&self, flags: OFlags) -> io::Result<File> {
        let fd_path = format!("/proc/self/fd/{}", self.file.as_raw_fd());
        let flags = flags | OFlags::CLOEXEC;
        let file = rustix::io::retry_on_intr(|| {
            rustix::fs::open(fd_path.as_str(), flags, rustix::fs::Mode::empty())
        });
        Ok(file?.into())
    }

    /// Empties it; the data of a device stays.
    pub(crate) fn empty(&self) -> Result<(), TargetError> {
        if matches!(self.hold, Hold::Device { .. }) {
            return Ok(());
        }
        let failed = |error| TargetError::system(&self.path, "empty it", error);
        give_up_record(&record_beside(&self.path)).map_err(failed)?;
        self.is_ours.store(true, Ordering::Relaxed);
        self.file.set_len(0).map_err(failed)
    }

    /// Gives an empty file this length; a device has its own.
    pub(crate) fn extend(&self, len: u64) -> Result<(), TargetError> {
        if matches!(self.hold, Hold::Device { .. }) {
            return Ok(());
        }
        let extended = self.file.set_len(len);
        extended.map_err(|error| TargetError::system(&self.path, "set its length", error))
    }

    /// Checks that it has `size` bytes from its start on.
    pub(crate) fn check_length(&self, size: u64) -> Result<(), TargetError> {
        let (len, needed) = (length(&self.path, &self.file)?, self.start + size);
        if len < needed {
            return Err(TargetError::TooShort { path: self.path.clone(), len, needed });
        }
        Ok(())
    }

    /// Moves what was written to the device.
    pub(crate) fn flush(&self) -> io::Result<()> {
        self.file.sync_all()
    }

    /// Drops `size` bytes from the page cache.
    pub(crate) fn drop_cached(&self, size: u64) -> io::Result<()> {
        if !matches!(self.hold, Hold::None) {
            self.file.sync_data()?;
        }
        Ok(rustix::fs::fadvise(&self.file, self.start, NonZeroU64::new(size), Advice::DontNeed)?)
    }

    /// Reads `bytes` from its first record on; returns whether there are as many.
    pub(crate) fn begins(&self, bytes: &mut [u8]) -> bool {
        let file = self.reopen(OFlags::RDONLY);
        file.is_ok_and(|file| file.read_exact_at(bytes, self.start).is_ok())
    }

    /// Marks it as an owned file, if it was made here. Any other file stays as it is.
    ///
    /// # Errors
    /// [`TargetError`]: the mark cannot be written.
    pub fn keep(self) -> Result<(), TargetError> {
        if self.is_ours.load(Ordering::Relaxed) {
            let size = length(&self.path, &self.file)?;
            Self::check_size(&self.path, size)?;
            mark::write(&self.file, size, Holds::Filling)
                .map_err(|error| TargetError::system(&self.path, "mark it as kept", error))?;
            self.is_ours.store(false, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Checks that a file of `size` bytes at `path` can be kept.
    ///
    /// # Errors
    /// [`TargetError::BadSize`].
    pub fn check_size(path: &Path, size: u64) -> Result<(), TargetError> {
        if size == 0 || !size.is_multiple_of(GRAIN) {
            return Err(TargetError::BadSize { path: path.to_owned(), size, grain: GRAIN });
        }
        Ok(())
    }
}

impl Drop for PassFile {
    fn drop(&mut self) {
        let is_of_another = matches!(&self.hold, Hold::File(lock) if !lock.is_of_this_process());
        if !is_of_another && self.is_ours.load(Ordering::Relaxed) {
            remove(&self.path, &self.file);
        }
    }
}

fn length(path: &Path, file: &File) -> Result<u64, TargetError> {
    super::device::length(path, file)
}

/// Checks that `file` was kept by an earlier run, which alone wrote to it.
fn check_kept(path: &Path, file: &File) -> Result<(), TargetError> {
    let len = length(path, file)?;
    let why = match mark::read(file, len) {
        Ok(Found::Ours { holds: Holds::Filling, .. }) => return Ok(()),
        Ok(Found::Ours { holds: Holds::Data, .. }) => "with an application's data",
        Ok(_) if begins_as_written(file) => "that a run which was killed seems to have left",
        Ok(_) => "without Penstock's mark",
        Err(error) => return Err(TargetError::system(path, "read its mark", error)),
    };
    Err(TargetError::InTheWay { path: path.to_owned(), len, why })
}

/// Returns whether `file` begins with data that a pass wrote.
pub(crate) fn begins_as_written(file: &File) -> bool {
    let mut bytes = [0; GRAIN as usize];
    let read = file.read_exact_at(&mut bytes, 0);
    read.is_ok()
        && bytes.chunks(SECTOR).all(|sector| sector[8..16] != [0; 8] && holds_no_data(sector))
}

/// Returns the lengths nearest to `record` that are multiples of `block`, as options.
fn nearest_records(record: u64, block: u64) -> String {
    let written = |bytes: u64| {
        if bytes.is_multiple_of(1024) {
            format!("-r {}k", bytes / 1024)
        } else {
            format!("-r {bytes}b")
        }
    };
    let (below, above) = (record / block * block, record.next_multiple_of(block));
    match below {
        0 => written(above),
        _ => format!("{} or {}", written(below), written(above)),
    }
}
