//! Direct I/O: opening files for it, its alignment, and whether it works.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use penstock_core::Seed;
use rustix::fs::{AtFlags, Mode, OFlags, StatxFlags};
use rustix::io::Errno;

use super::error::TargetError;
use super::file_systems::{self, unknown};
use crate::engine::buffers::{Area, BUFFER_ALIGNMENT, Layout};

/// The assumed alignment where the kernel reports none: it satisfies every disk.
const ASSUMED: u32 = BUFFER_ALIGNMENT;

/// The alignment that direct I/O to a file needs, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Alignment {
    pub(super) offset: u32,
    pub(super) memory: u32,
}

/// The calls that a file system may refuse. Tests replace them by stand-ins that refuse.
#[derive(Clone, Copy)]
pub(super) struct Direct {
    /// Creates an unnamed file in a folder, which is gone with its last user; `None` where the file system
    /// cannot do that.
    pub(super) nameless: fn(&Path) -> io::Result<Option<File>>,
    /// Opens a file for direct reading and writing.
    pub(super) open: fn(&Path) -> io::Result<File>,
    /// Returns the alignment; `None` where the kernel reports none.
    pub(super) alignment: fn(&File) -> Option<Alignment>,
    /// Reads the beginning of a file.
    pub(super) read: fn(&File, &mut [u8]) -> io::Result<usize>,
}

impl Direct {
    /// The real calls.
    pub(super) const REAL: Self = Self {
        nameless,
        open: |path| {
            let flags = OFlags::DIRECT.bits().cast_signed();
            OpenOptions::new().read(true).write(true).custom_flags(flags).open(path)
        },
        alignment,
        read: |file, buffer| Ok(rustix::io::pread(file, buffer, 0)?),
    };

    /// Opens `path` for direct reading only.
    pub(super) fn open_reading(path: &Path) -> Result<File, TargetError> {
        let open = |path: &Path| {
            let flags = (OFlags::DIRECT | OFlags::NONBLOCK).bits().cast_signed();
            OpenOptions::new().read(true).custom_flags(flags).open(path)
        };
        Self { open, ..Self::REAL }.open(path)
    }

    /// Opens `path` for direct I/O.
    pub(super) fn open(&self, path: &Path) -> Result<File, TargetError> {
        self.open_as(path, path)
    }

    /// Opens `path` for direct I/O. Errors name the file `shown`.
    pub(super) fn open_as(&self, path: &Path, shown: &Path) -> Result<File, TargetError> {
        (self.open)(path).map_err(|error| match error.raw_os_error() {
            Some(libc::EINVAL) => {
                let file_system =
                    File::open(path).map_or_else(|_| unknown(), |f| file_systems::name(&f));
                refused(shown, file_system, "opening it said EINVAL")
            }
            _ => TargetError::system(shown, "open it for direct reading and writing", error),
        })
    }

    /// Returns the alignment that `file` needs, after checking that it is supported.
    pub(super) fn alignment(&self, path: &Path, file: &File) -> Result<Alignment, TargetError> {
        let assumed = Alignment { offset: ASSUMED, memory: ASSUMED };
        let alignment = (self.alignment)(file).unwrap_or(assumed);
        let Alignment { offset, memory } = alignment;
        if offset == 0 || memory == 0 {
            return Err(refused(path, file_systems::name(file), "its alignment is given as 0"));
        }
        if !offset.is_power_of_two() || !memory.is_power_of_two() || memory > BUFFER_ALIGNMENT {
            let (path, file_system) = (path.to_owned(), file_systems::name(file));
            let max_memory = BUFFER_ALIGNMENT;
            return Err(TargetError::Alignment { path, file_system, offset, memory, max_memory });
        }
        Ok(alignment)
    }

    /// Reads a block of `file`: some file systems refuse direct I/O only then.
    pub(super) fn probe(
        &self,
        path: &Path,
        file: &File,
        alignment: Alignment,
    ) -> Result<(), TargetError> {
        let mut area = buffer(path, alignment.offset)?;
        let bytes = area.own(0, alignment.offset as usize);
        match (self.read)(file, bytes) {
            Ok(_) => Ok(()),
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) => {
                Err(refused(path, file_systems::name(file), "the first read said EINVAL"))
            }
            Err(error) => Err(TargetError::system(path, "read its first block", error)),
        }
    }

    /// Writes a block of `file`, which holds no data.
    pub(super) fn probe_writing(
        path: &Path,
        file: &File,
        alignment: Alignment,
    ) -> Result<(), TargetError> {
        let mut area = buffer(path, alignment.offset)?;
        let bytes = area.own(0, alignment.offset as usize);
        match rustix::io::pwrite(file, bytes, 0) {
            Ok(_) => Ok(()),
            Err(Errno::INVAL) => {
                Err(refused(path, file_systems::name(file), "the first write said EINVAL"))
            }
            Err(errno) => Err(TargetError::system(path, "write its first block", errno.into())),
        }
    }
}

/// Returns an aligned buffer of at least `len` bytes.
pub(super) fn buffer(path: &Path, len: u32) -> Result<Area, TargetError> {
    let area = Layout::new(1, len, BUFFER_ALIGNMENT).and_then(|layout| Area::new(layout, Seed(0)));
    area.map_err(|error| {
        TargetError::system(path, "get memory for a buffer", io::Error::other(error))
    })
}

/// Creates an unnamed file in `folder`; `None` where the file system cannot do that.
fn nameless(folder: &Path) -> io::Result<Option<File>> {
    let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
    // The umask decides its permissions, as for any new file.
    match rustix::fs::open(folder, flags, Mode::from_raw_mode(0o666)) {
        Ok(file) => Ok(Some(file.into())),
        Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::INVAL) => Ok(None),
        Err(errno) => Err(errno.into()),
    }
}

/// Returns the alignment of `file` as the kernel reports it; for a block device, at least its logical block.
fn alignment(file: &File) -> Option<Alignment> {
    reported(file).or_else(|| {
        let block = rustix::fs::ioctl_blksszget(file).ok()?;
        Some(Alignment { offset: block, memory: block })
    })
}

fn reported(file: &File) -> Option<Alignment> {
    let answer = rustix::fs::statx(file, "", AtFlags::EMPTY_PATH, StatxFlags::DIOALIGN).ok()?;
    let known = StatxFlags::from_bits_retain(answer.stx_mask).contains(StatxFlags::DIOALIGN);
    known.then_some(Alignment {
        offset: answer.stx_dio_offset_align,
        memory: answer.stx_dio_mem_align,
    })
}

fn refused(path: &Path, file_system: String, why: &str) -> TargetError {
    TargetError::DirectRefused { path: path.to_owned(), file_system, why: why.to_owned() }
}
