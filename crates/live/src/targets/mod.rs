//! Targets: files and devices that are safe to write over.
//!
//! A target is an *owned file*: one that a run created, or that carries the mark of an earlier one;
//! a loop device over such a file; or a block device that a person named twice and that carries
//! nothing (`device`); or, for a gate, a file that the application declares its own. Everything
//! else is refused: a file without the mark, or a target in use by another run. An existing file is
//! never grown, cut or written over, and a missing one is never created unless a size is given. A
//! target may be narrowed to a *view*.
//!
//! Invariants: nothing is written or locked before the target is known to be free to use, which is
//! checked again once it is locked; the file that was checked is the file that is used.

mod adopted;
pub(crate) mod blocks;
mod create;
pub(crate) mod device;
mod direct;
pub(crate) mod error;
mod file_systems;
pub(crate) mod leftovers;
mod lent;
pub(crate) mod loops;
mod mark;
pub(crate) mod new_file;
mod opened;
pub(crate) mod pass_file;
pub(crate) mod plain;
mod renewal;
pub(crate) mod residency;
mod signature;
mod trial;

use std::fs::{File, Metadata};
use std::io;
use std::ops::ControlFlow;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, FileTypeExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::OFlags;

pub(crate) use self::create::begins_as_filled;
pub use self::device::Contents;
pub(crate) use self::device::{Listed, Roots};
use self::direct::{Alignment, Direct};
pub use self::error::TargetError;
use self::loops::Control;
use self::mark::{Found, Holds};
pub(crate) use self::mark::{GRAIN, MARK};
use self::opened::{Locked, Opened, check_kind, not_ours, open_direct};
pub use self::trial::{DirectIo, file_system};
use crate::record::record_file::{give_up_record, record_beside};

/// A file or device that may be written over, open for direct I/O and locked against other runs.
///
/// Clones share the file and its lock, which goes with the last of them: several runs after one
/// another may use one target.
#[derive(Clone, Debug)]
pub struct Target {
    inner: Arc<Inner>,
    /// The usable part: its first byte and its length.
    start: u64,
    len: u64,
}

/// The user of an owned file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum User {
    /// A run, which generates its data: a file with an application's data is refused.
    Run,
    /// A run for which the user gave up the data in the file, which belongs to runs from then on.
    RunOverData,
    /// A gate: the file belongs to its application from then on.
    Application,
    /// A served device that begins without data: a file with an application's data is refused. The file
    /// belongs to the device's users from then on.
    Server,
}

impl User {
    /// Returns the kind of data in a file that this user has written to.
    fn holds(self) -> Holds {
        match self {
            Self::Run | Self::RunOverData => Holds::Filling,
            Self::Application | Self::Server => Holds::Data,
        }
    }
}

#[derive(Debug)]
struct Inner {
    path: PathBuf,
    alignment: Alignment,
    file_system: String,
    file: Arc<File>,
    /// The length of the file, including its mark.
    length: u64,
    /// The file itself, or the file below a loop device, which is closed first; `None` for a target that is
    /// only read.
    lock: Option<Locked>,
}

impl Target {
    /// Opens the owned file at `path` for a run. With a size in bytes, creates the file if it is
    /// missing.
    ///
    /// # Errors
    /// As [`Target::open_with`].
    pub fn open(path: &Path, create: Option<u64>) -> Result<Self, TargetError> {
        Self::open_with(path, create, User::Run, &mut |_, _| ControlFlow::Continue(()))
    }

    /// Opens the owned file at `path` for any user, or creates it if a size is given. While a file is created,
    /// `progress` is called with the bytes written and the total; `Break` stops the creation and removes the
    /// file.
    ///
    /// # Errors
    /// [`TargetError`]: the file is not ours or not the user's, is in use, has another size, or
    /// cannot be opened; there is no file, or no space; the file system has no direct I/O.
    pub fn open_with(
        path: &Path,
        create: Option<u64>,
        user: User,
        progress: &mut dyn FnMut(u64, u64) -> ControlFlow<()>,
    ) -> Result<Self, TargetError> {
        Self::open_through(&Direct::REAL, path, create, user, progress)
    }

    /// Opens the file as [`open_with`](Self::open_with), behind a loop device of its own, which the kernel
    /// detaches with the target. Its queue has the kernel's schedulers.
    ///
    /// # Errors
    /// As [`Target::open_with`], and [`TargetError::NoLoopDevice`] if no loop device can be made.
    pub fn open_loop(
        path: &Path,
        create: Option<u64>,
        user: User,
        progress: &mut dyn FnMut(u64, u64) -> ControlFlow<()>,
    ) -> Result<Self, TargetError> {
        let control = Control::open(path)?;
        if create.is_some() && !path.exists() {
            // During its creation a file has no name, and the kernel would list a device over an
            // unnamed file.
            open_file(&Direct::REAL, path, create, user, progress)?;
        }
        let Opened { direct: file, alignment, usable } =
            open_file(&Direct::REAL, path, create, user, progress)?;
        let device = control.make(path, &file.file, usable, alignment.offset)?;
        let alignment = Direct::REAL.alignment(path, &device)?;
        Direct::REAL.probe(path, &device, alignment)?;
        let file_system = file_systems::name(&file.file);
        let (path, file, lock) = (path.to_owned(), Arc::new(device), Some(file));
        let inner = Inner { path, alignment, file_system, file, length: usable + MARK, lock };
        Ok(Self::with_usable(inner, usable))
    }

    /// Opens the block device at `path`, if `named` is its serial number or its path once more, it is
    /// unused, and it holds no more than `contents`. Data that a run writes there stays.
    ///
    /// # Errors
    /// [`TargetError`]: it was not named twice; it is in use, carries something, holds data or is
    /// too small; it cannot be opened.
    pub fn open_device(
        path: &Path,
        named: Option<&str>,
        contents: Contents,
    ) -> Result<Self, TargetError> {
        let Opened { direct: file, alignment, usable } =
            device::open(path, named, contents, &Roots::real())?;
        let (path, used, file_system) =
            (path.to_owned(), Arc::clone(&file.file), "a block device".into());
        let (length, lock) = (usable, Some(file));
        let inner = Inner { path, alignment, file_system, file: used, length, lock };
        Ok(Self::with_usable(inner, usable))
    }

    /// Returns whether `named` names the file or block device at `path` once more: by its path, or a device
    /// by its serial number.
    pub fn is_named(path: &Path, named: &str) -> bool {
        device::is_named(path, named, &Roots::real())
    }

    /// Opens any regular file or block device for reading alone, even if it is in use: nothing is
    /// locked, and a write fails.
    ///
    /// # Errors
    /// [`TargetError`]: there is no file, or no data; it cannot be opened past the page cache.
    pub fn open_reading(path: &Path) -> Result<Self, TargetError> {
        let failed = |error| TargetError::system(path, "look at it", error);
        let meta = std::fs::metadata(path).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => TargetError::Missing { path: path.to_owned() },
            _ => failed(error),
        })?;
        if !meta.file_type().is_block_device() {
            check_kind(path, meta.file_type())?;
        }
        file_systems::check_not_the_kernels(path, path)?;
        let file = Direct::open_reading(path)?;
        let alignment = Direct::REAL.alignment(path, &file)?;
        let length = device::length(path, &file)?;
        // The mark is read through the page cache: its offset may not be aligned.
        let usable = match File::open(path).and_then(|plain| mark::read(&plain, length)) {
            Ok(Found::Ours { usable, .. }) => usable,
            _ => length,
        };
        let unit = u64::from(alignment.offset.max(alignment.memory));
        let usable = usable / unit * unit;
        if usable == 0 {
            return Err(TargetError::TooSmall { path: path.to_owned(), len: length });
        }
        Direct::REAL.probe(path, &file, alignment)?;
        let file_system = file_systems::name(&file);
        let (path, file) = (path.to_owned(), Arc::new(file));
        let inner = Inner { path, alignment, file_system, file, length, lock: None };
        Ok(Self::with_usable(inner, usable))
    }

    fn open_through(
        direct: &Direct,
        path: &Path,
        create: Option<u64>,
        user: User,
        progress: create::Progress<'_>,
    ) -> Result<Self, TargetError> {
        let opened = open_file(direct, path, create, user, progress)?;
        let Opened { direct: file, alignment, usable } = opened;
        let file_system = file_systems::name(&file.file);
        let (path, used) = (path.to_owned(), Arc::clone(&file.file));
        let (length, lock) = (usable + MARK, Some(file));
        let inner = Inner { path, alignment, file_system, file: used, length, lock };
        Ok(Self::with_usable(inner, usable))
    }

    /// Creates a target of the first `len` bytes of a file.
    fn with_usable(inner: Inner, len: u64) -> Self {
        Self { inner: Arc::new(inner), start: 0, len }
    }

    /// Returns a view of `len` bytes from `start`, through which nothing outside is read or written.
    ///
    /// # Errors
    /// [`TargetError::BadView`]: the range is empty, lies outside, or is not whole blocks.
    pub fn view(&self, start: u64, len: u64) -> Result<Self, TargetError> {
        let block = u64::from(self.unit());
        let aligned = start.is_multiple_of(block) && len.is_multiple_of(block) && len > 0;
        let inside = start.checked_add(len).is_some_and(|end| end <= self.len);
        if !aligned || !inside {
            let (path, capacity) = (self.inner.path.clone(), self.len);
            return Err(TargetError::BadView { path, start, len, capacity, block });
        }
        Ok(Self { inner: Arc::clone(&self.inner), start: self.start + start, len })
    }

    /// Returns its path.
    pub fn path(&self) -> &Path {
        &self.inner.path
    }

    /// Returns the number of usable bytes.
    pub fn capacity(&self) -> u64 {
        self.len
    }

    /// Returns the length of the file or device in bytes, including the mark of a file.
    pub(crate) fn length(&self) -> u64 {
        self.inner.length
    }

    /// Returns the offset of the first usable byte in the file.
    pub(crate) fn start(&self) -> u64 {
        self.start
    }

    /// Returns the alignment of offsets in bytes, as the target reports it, or else 4096.
    pub fn block(&self) -> u32 {
        self.inner.alignment.offset
    }

    /// Whether requests pass a loop device, which drops their I/O priority on the way to the disk.
    pub fn is_loop_device(&self) -> bool {
        let number = rustix::fs::fstat(self.file()).map(|stat| stat.st_rdev);
        number.is_ok_and(|number| rustix::fs::major(number) == loops::MAJOR)
    }

    /// Returns the type of its file system, as `mount` names it.
    pub fn file_system(&self) -> &str {
        &self.inner.file_system
    }

    /// Returns the unit to which ranges are rounded so that both offset and memory are aligned, in bytes.
    pub fn unit(&self) -> u32 {
        self.inner.alignment.offset.max(self.inner.alignment.memory)
    }

    /// Removes the file of the target, unless another file is at its path by now.
    pub fn remove_file(&self) {
        if let Some(locked) = &self.inner.lock {
            create::remove(self.path(), &locked.file);
        }
    }

    pub(crate) fn file(&self) -> &Arc<File> {
        &self.inner.file
    }

    /// Opens the file once more, through the page cache.
    pub(crate) fn buffered(&self) -> io::Result<File> {
        let fd_path = format!("/proc/self/fd/{}", self.file().as_raw_fd());
        File::options().read(true).write(!self.is_only_read()).open(fd_path)
    }

    /// Returns whether it is open for reading only.
    pub fn is_only_read(&self) -> bool {
        self.inner.lock.is_none()
    }

    /// Returns the length of the file and the length that it should have, if they differ. The mark is never
    /// written over, so a file that was cut stays too short. A file that is only read may grow.
    pub(crate) fn resized(&self) -> Option<(u64, u64)> {
        // If the length cannot be read, later commands will fail.
        let now = rustix::fs::fstat(self.file()).ok()?;
        let (found, expected) = (now.st_size.cast_unsigned(), self.inner.length);
        let file = rustix::fs::FileType::from_raw_mode(now.st_mode).is_file();
        let grown = self.is_only_read() && found > expected;
        (file && found != expected && !grown).then_some((found, expected))
    }
}

/// Opens the owned file at `path`, or creates it.
fn open_file(
    direct: &Direct,
    path: &Path,
    create: Option<u64>,
    user: User,
    progress: create::Progress<'_>,
) -> Result<Opened, TargetError> {
    match (std::fs::metadata(path), create) {
        (Ok(meta), _) => open_existing(path, &meta, create, user, direct),
        (Err(error), _) if error.kind() != io::ErrorKind::NotFound => {
            Err(TargetError::system(path, "look at it", error))
        }
        _ if std::fs::symlink_metadata(path).is_ok() => {
            Err(TargetError::DanglingLink { path: path.to_owned() })
        }
        (Err(_), Some(usable)) => create::create(path, usable, user.holds(), direct, progress),
        (Err(_), None) => Err(TargetError::Missing { path: path.to_owned() }),
    }
}

/// Opens the existing file at `path`, if it is ours.
fn open_existing(
    path: &Path,
    meta: &Metadata,
    create: Option<u64>,
    user: User,
    direct: &Direct,
) -> Result<Opened, TargetError> {
    // Before opening, because opening a device or a pipe can have side effects.
    check_kind(path, meta.file_type())?;
    file_systems::check_not_the_kernels(path, path)?;
    let nonblock = OFlags::NONBLOCK.bits().cast_signed();
    let plain = File::options().read(true).custom_flags(nonblock).open(path);
    let plain = plain.map_err(|error| TargetError::system(path, "open it", error))?;
    let (usable, _) = check_mark(path, &plain, create, user)?;
    let opened = open_direct(path, &plain, usable, direct)?;
    // It may have been changed before it was locked.
    let (_, holds) = check_mark(path, &plain, create, user)?;
    if !usable.is_multiple_of(u64::from(opened.alignment.offset)) {
        let grain = u64::from(opened.alignment.offset);
        return Err(TargetError::BadSize { path: path.to_owned(), size: usable, grain });
    }
    direct.probe(path, &opened.direct.file, opened.alignment)?;
    if holds != user.holds() {
        // Before the first byte is written, so that the mark is true however the process ends.
        let fd_path = PathBuf::from(format!("/proc/self/fd/{}", plain.as_raw_fd()));
        let marked = File::options().write(true).open(fd_path);
        marked
            .and_then(|file| mark::write(&file, usable, user.holds()))
            .and_then(|()| give_up_record(&record_beside(path)))
            .map_err(|error| TargetError::system(path, "change its mark", error))?;
    }
    Ok(opened)
}

/// Returns the usable bytes of `file` and their kind, after checking that the file is ours, that `user` may
/// write over it, and that it has the size to create.
fn check_mark(
    path: &Path,
    file: &File,
    create: Option<u64>,
    user: User,
) -> Result<(u64, Holds), TargetError> {
    let read = |error| TargetError::system(path, "read its mark", error);
    let meta = file.metadata().map_err(read)?;
    check_kind(path, meta.file_type())?;
    let len = meta.len();
    match mark::read(file, len).map_err(read)? {
        Found::Ours { holds: Holds::Data, .. } if matches!(user, User::Run | User::Server) => {
            Err(TargetError::HoldsData { path: path.to_owned() })
        }
        Found::Ours { usable, holds } => match create {
            Some(size) if size != usable => {
                let path = path.to_owned();
                Err(TargetError::SizeDiffers { path, found: usable, asked: size })
            }
            _ => Ok((usable, holds)),
        },
        Found::Nothing if create.is_none() && is_nothing(file, len).map_err(read)? => {
            Err(TargetError::TooSmall { path: path.to_owned(), len })
        }
        Found::Nothing => Err(not_ours(path, len, "without Penstock's mark")),
        Found::Broken => Err(not_ours(path, len, "whose mark does not fit its length")),
        Found::Version(version) => {
            Err(not_ours(path, len, &format!("with a mark of unknown version {version}")))
        }
    }
}

/// Returns whether `file` is an owned file.
pub(crate) fn is_ours(file: &File) -> bool {
    let len = file.metadata().map(|meta| meta.len());
    len.and_then(|len| mark::read(file, len)).is_ok_and(|mark| matches!(mark, Found::Ours { .. }))
}

/// Returns whether a file is too small for an owned file and holds only zeros. A small file with data belongs
/// to somebody, and is refused as such.
fn is_nothing(file: &File, len: u64) -> io::Result<bool> {
    if len >= GRAIN + MARK {
        return Ok(false);
    }
    let mut bytes = vec![0; len as usize];
    file.read_exact_at(&mut bytes, 0)?;
    Ok(bytes.iter().all(|&byte| byte == 0))
}

#[cfg(test)]
mod tests;
