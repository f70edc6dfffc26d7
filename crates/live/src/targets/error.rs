//! Errors of targets: what was found, where, what was expected, and a hint.

use std::io;
use std::path::{Path, PathBuf};

use super::mark::{GRAIN, MARK};
use crate::exit_codes::{CANNOT, FAILED, UNSAFE_TARGET, WRONG_INPUT};

/// Why a target is refused. Nothing was written to it, and a creation that failed left nothing.
#[derive(Debug, thiserror::Error)]
pub enum TargetError {
    /// The file does not exist, and no size was given to create it.
    #[error("{}: found no file; expected {}", path.display(), expected_at(path))]
    Missing {
        /// The path.
        path: PathBuf,
    },
    /// A file that is to be read does not exist.
    #[error("{}: found no file; expected one to read\nhint: check the path", path.display())]
    NoInput {
        /// The path.
        path: PathBuf,
    },
    /// Something exists where a new file is to be created.
    #[error(
        "{}: found something there; expected no file\n\
         hint: nothing is overwritten: name a new file, or move this one away", path.display()
    )]
    Exists {
        /// The path.
        path: PathBuf,
    },
    /// A symbolic link to nothing: creation does not follow links.
    #[error(
        "{}: found a symbolic link to nothing; expected an owned file, or no file to create one\n\
         hint: name the place itself", path.display()
    )]
    DanglingLink {
        /// The path.
        path: PathBuf,
    },
    /// A directory.
    #[error(
        "{}: found a directory; expected a file\nhint: name a file in it", path.display()
    )]
    Directory {
        /// The path.
        path: PathBuf,
    },
    /// An input that is neither a file nor a directory.
    #[error(
        "{}: found a {kind}; expected a regular file, as an input is read from its end too\n\
         hint: write what comes from it to a file, and name that", path.display()
    )]
    NoRun {
        /// The path.
        path: PathBuf,
        /// The kind of file.
        kind: &'static str,
    },
    /// Neither a file nor a directory.
    #[error(
        "{}: found a {kind}; expected a regular file that Penstock made\n\
         hint: only owned files and free block devices are used, so that nothing of yours is \
         written over",
        path.display()
    )]
    NotAFile {
        /// The path.
        path: PathBuf,
        /// The kind of file.
        kind: &'static str,
    },
    /// Symbolic links in a circle.
    #[error(
        "{}: found symbolic links that lead in a circle; expected a file or a device\n\
         hint: name the place itself", path.display()
    )]
    LinkLoop {
        /// The path.
        path: PathBuf,
    },
    /// A file of the kernel's own, or a place for such files: reading one calls the kernel.
    #[error(
        "{}: found a file of the kernel's own ({file_system}); expected a file on a disk\n\
         hint: to write there would change the machine: name a file elsewhere, as ./data.img",
        path.display()
    )]
    Kernels {
        /// The path.
        path: PathBuf,
        /// The type of the file system.
        file_system: &'static str,
    },
    /// A file is to be created among the nodes of devices.
    #[error(
        "{}: found no such device, and no place for files; expected a device that is there, or a \
         file elsewhere\nhint: look for its name with `lsblk`, or name a file on a disk, as \
         ./data.img", path.display()
    )]
    AmongDevices {
        /// The path of the new file.
        path: PathBuf,
    },
    /// A regular file that is not ours.
    #[error(
        "{}: found a file of {len} bytes {why}; expected one that Penstock made\n\
         hint: it is left as it is; name a file that does not exist, with a size to create it \
         (`--create 256MiB`). If an earlier creation was killed, remove what it left",
        path.display()
    )]
    NotOurs {
        /// The path.
        path: PathBuf,
        /// Its length in bytes.
        len: u64,
        /// Why it is not ours.
        why: String,
    },
    /// A file that passes are to write, and that was not kept by an earlier run.
    #[error(
        "{}: found a file of {len} bytes {why}; expected none, or one that an earlier run kept\n\
         hint: it is left as it is; name another file, or remove this one", path.display()
    )]
    InTheWay {
        /// The path.
        path: PathBuf,
        /// Its length in bytes.
        len: u64,
        /// A property of the file.
        why: &'static str,
    },
    /// A file that passes are to read does not exist.
    #[error(
        "{}: found no file; expected one that is written already\n\
         hint: write it first: -i 0 -w", path.display()
    )]
    Unwritten {
        /// The path.
        path: PathBuf,
    },
    /// A file that passes are to read or to write over is too short.
    #[error(
        "{}: found {len} bytes; expected at least {needed}\n\
         hint: write it first: -i 0 -w; or ask for less with -s", path.display()
    )]
    TooShort {
        /// The path.
        path: PathBuf,
        /// Its length in bytes.
        len: u64,
        /// The bytes that are needed.
        needed: u64,
    },
    /// A record that direct I/O cannot read or write.
    #[error(
        "{}: found records of {record} bytes with direct I/O; expected a multiple of {block} bytes, \
         the block of {file_system}: every call would fail with EINVAL\n\
         hint: take {nearest}, or leave direct I/O out", path.display()
    )]
    RecordUnaligned {
        /// The path.
        path: PathBuf,
        /// The type of the file system, or the device.
        file_system: String,
        /// Bytes of a record.
        record: u64,
        /// The unit of direct I/O in bytes.
        block: u64,
        /// The nearest lengths that are possible, as options.
        nearest: String,
    },
    /// An owned file that holds an application's data, for a run or a new served device.
    #[error(
        "{}: found a file with an application's data, which went through a gate or a served device; \
         expected one that may be written over\nhint: name another file; if its data may be lost, \
         add `--i-will-lose-data {}`; to serve it with its data, `--keep-data`",
        path.display(), path.display()
    )]
    HoldsData {
        /// The path.
        path: PathBuf,
    },
    /// A file without data and without space for a block and a mark.
    #[error(
        "{}: found a file of {len} bytes with nothing in it; expected at least {} bytes, a block \
         and Penstock's mark\nhint: remove it, and give a size to create it (`--create 256MiB`)",
        path.display(), GRAIN + MARK
    )]
    TooSmall {
        /// The path.
        path: PathBuf,
        /// Its length in bytes.
        len: u64,
    },
    /// An invalid size for an owned file.
    #[error(
        "{}: found a size of {size} bytes; expected a positive multiple of {grain}\n\
         hint: 256MiB is enough to try", path.display()
    )]
    BadSize {
        /// The path of the new file.
        path: PathBuf,
        /// The size asked for, in bytes.
        size: u64,
        /// Sizes must be a multiple of this many bytes there.
        grain: u64,
    },
    /// An owned file of another size than the one to create.
    #[error(
        "{}: found an owned file of {found} usable bytes; expected {asked}, the size to create\n\
         hint: a file is never grown or cut; remove it, or leave the size out to use it as it is",
        path.display()
    )]
    SizeDiffers {
        /// The path.
        path: PathBuf,
        /// Its usable bytes.
        found: u64,
        /// The size asked for, in bytes.
        asked: u64,
    },
    /// The user lacks the permission.
    #[error(
        "{}: found no permission to {doing} ({source}); expected a file to read and write\n\
         hint: change its permissions, or name a place of your own", path.display()
    )]
    NoPermission {
        /// The path.
        path: PathBuf,
        /// The step that failed.
        doing: &'static str,
        /// The system's error.
        source: io::Error,
    },
    /// Another run uses it, or the kernel does.
    #[error(
        "{}: found it in use by another run; expected it free\n\
         hint: wait for that run, or name another target", path.display()
    )]
    InUse {
        /// The path.
        path: PathBuf,
    },
    /// There is not enough space to create it.
    #[error(
        "{}: found {available} bytes free on {file_system}; expected {needed} for the file\n\
         hint: free some, ask for less, or take another file system", path.display()
    )]
    NoSpace {
        /// The path of the new file.
        path: PathBuf,
        /// The type of the file system.
        file_system: String,
        /// Bytes needed, including the mark.
        needed: u64,
        /// Bytes available.
        available: u64,
    },
    /// The file system does not support direct I/O.
    #[error(
        "{}: found that {file_system} refuses O_DIRECT ({why}); expected a file system with direct \
         I/O\nhint: with the page cache between, memory would be measured; try a file on ext4, xfs \
         or btrfs", path.display()
    )]
    DirectRefused {
        /// The path.
        path: PathBuf,
        /// The type of the file system.
        file_system: String,
        /// How it refused.
        why: String,
    },
    /// Direct I/O there needs an alignment that is not supported.
    #[error(
        "{}: found that {file_system} aligns direct I/O to {offset} bytes in the file and {memory} \
         in memory; expected powers of two, {max_memory} at most in memory\n\
         hint: try another file system", path.display()
    )]
    Alignment {
        /// The path.
        path: PathBuf,
        /// The type of the file system.
        file_system: String,
        /// Alignment of offsets, in bytes.
        offset: u32,
        /// Alignment of memory, in bytes.
        memory: u32,
        /// The largest alignment of memory that buffers have, in bytes.
        max_memory: u32,
    },
    /// A block device that the user did not name twice.
    #[error(
        "{}: found a block device ({about}), named {second}; expected it to be named twice\n\
         hint: a run writes over everything on it; if that is meant, add \
         `--i-will-lose-data {name}`", path.display()
    )]
    NotNamedTwice {
        /// The path.
        path: PathBuf,
        /// Its size, model and serial number.
        about: String,
        /// How it was named the second time, if at all.
        second: String,
        /// A name for it that would be accepted as the second one.
        name: String,
    },
    /// A block device that is in use or carries a known format.
    #[error(
        "{}: found {found}; expected a block device that is free, with nothing on it\nhint: {hint}",
        path.display()
    )]
    NotFree {
        /// The path.
        path: PathBuf,
        /// The obstacle.
        found: String,
        /// A hint for the user.
        hint: String,
    },
    /// A block device that holds data without a known format.
    #[error(
        "{}: found data at byte {at}; expected a block device that holds zeros, or what runs of \
         Penstock wrote\nhint: if no data on it are needed, add `--even-if-not-empty`; what went \
         through a gate, and what earlier versions wrote, counts as data", path.display()
    )]
    NotEmpty {
        /// The path.
        path: PathBuf,
        /// The first byte with data that was found.
        at: u64,
    },
    /// No loop device can be made.
    #[error("{}: cannot {doing}: {why}\nhint: {hint}", path.display())]
    NoLoopDevice {
        /// The file that it was to be made of.
        path: PathBuf,
        /// The step that failed.
        doing: &'static str,
        /// The system's error.
        why: String,
        /// A hint for the user.
        hint: String,
    },
    /// A view that lies outside its target, or is not whole blocks.
    #[error(
        "{}: found a view of {len} bytes from byte {start}; expected whole blocks of {block} bytes \
         within {capacity} bytes\nhint: change `live.view`", path.display()
    )]
    BadView {
        /// The path of the target.
        path: PathBuf,
        /// First byte of the view.
        start: u64,
        /// Its length in bytes.
        len: u64,
        /// The size of the target in bytes.
        capacity: u64,
        /// The size of a block in bytes.
        block: u64,
    },
    /// The creation was stopped, as by Ctrl-C.
    #[error("{}: its creation was interrupted; what there was of it is removed", path.display())]
    Interrupted {
        /// The path.
        path: PathBuf,
    },
    /// The system failed.
    #[error("{}: cannot {doing}: {source}", path.display())]
    Io {
        /// The path.
        path: PathBuf,
        /// The step that failed.
        doing: &'static str,
        /// The system's error.
        source: io::Error,
    },
}

impl TargetError {
    /// Returns the exit code of the command: 2 for wrong input, 5 for an unsafe target, 77 for what this machine
    /// cannot do, 1 otherwise.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Missing { .. }
            | Self::NoInput { .. }
            | Self::Unwritten { .. }
            | Self::TooShort { .. }
            | Self::RecordUnaligned { .. }
            | Self::Exists { .. }
            | Self::DanglingLink { .. }
            | Self::LinkLoop { .. }
            | Self::AmongDevices { .. }
            | Self::Directory { .. }
            | Self::NoRun { .. }
            | Self::TooSmall { .. }
            | Self::BadSize { .. }
            | Self::SizeDiffers { .. }
            | Self::NoPermission { .. }
            | Self::BadView { .. } => WRONG_INPUT,
            Self::NotAFile { .. }
            | Self::Kernels { .. }
            | Self::NotOurs { .. }
            | Self::InTheWay { .. }
            | Self::HoldsData { .. }
            | Self::InUse { .. }
            | Self::NotNamedTwice { .. }
            | Self::NotFree { .. }
            | Self::NotEmpty { .. } => UNSAFE_TARGET,
            Self::DirectRefused { .. } | Self::Alignment { .. } | Self::NoLoopDevice { .. } => {
                CANNOT
            }
            Self::Io { source, .. } if is_wrong_path(source.kind()) => WRONG_INPUT,
            Self::NoSpace { .. } | Self::Interrupted { .. } | Self::Io { .. } => FAILED,
        }
    }

    /// Returns the error for a system call on `path` that failed in the step `doing`.
    pub(crate) fn system(path: &Path, doing: &'static str, source: io::Error) -> Self {
        let path = path.to_owned();
        if source.raw_os_error() == Some(libc::ELOOP) {
            return Self::LinkLoop { path };
        }
        match source.kind() {
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                Self::NoPermission { path, doing, source }
            }
            _ => Self::Io { path, doing, source },
        }
    }
}

/// Returns the description of the file that is expected at `path`, and a hint. A new file below `/dev` is
/// always a mistake, except in `/dev/shm`.
fn expected_at(path: &Path) -> &'static str {
    if path.starts_with("/dev") && !path.starts_with("/dev/shm") {
        "a block device\nhint: look for its name with `lsblk`"
    } else {
        "one that an earlier run made\nhint: give a size to create it (`--create 256MiB`)"
    }
}

/// Returns whether the path itself is wrong: its folder is missing or is no folder.
fn is_wrong_path(kind: io::ErrorKind) -> bool {
    use io::ErrorKind::{InvalidFilename, InvalidInput, NotADirectory, NotFound};
    matches!(kind, InvalidFilename | InvalidInput | NotADirectory | NotFound)
}
