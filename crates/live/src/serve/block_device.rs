//! The block device: the file system, its mount, and the loop device over its file.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use fuser::{BackgroundSession, Config, Session, SessionACL};
use rustix::fs::{Mode, OFlags, openat};

use super::file_system::{DISK, FileSystem, Front, LONGEST, REPORT};
use crate::exit_codes::{CANNOT, FAILED};
use crate::kernel::mounts::mount;
use crate::targets::TargetError;
use crate::targets::loops::{Control, clear, name_of};

/// Why a block device cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The machine or the user lacks something.
    #[error("cannot serve a block device: {doing}: {source}\nhint: {hint}")]
    Cannot {
        /// The step that failed.
        doing: &'static str,
        /// The system's error.
        source: io::Error,
        /// The missing right or part of the kernel.
        hint: &'static str,
    },
    /// No loop device could be made.
    #[error(transparent)]
    Loop(#[from] TargetError),
    /// The process could not do something that every process can.
    #[error("cannot serve a block device: {doing}: {source}")]
    Failed {
        /// The step that failed.
        doing: &'static str,
        /// The system's error.
        source: io::Error,
    },
}

impl ServeError {
    /// Returns the exit code of the command: 77 for what this machine or user cannot do, else 1.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Cannot { .. } => CANNOT,
            Self::Loop(error) => error.exit_code(),
            Self::Failed { .. } => FAILED,
        }
    }
}

/// Number of reads by which the way to the device is measured, and the pause before each.
const TRIPS: usize = 33;
const PAUSE: Duration = Duration::from_millis(4);

/// Memory for direct reads of any device.
#[repr(align(4096))]
struct Page([u8; PAGE_BYTES]);

const PAGE_BYTES: usize = 4096;

/// A served block device. Dropping it detaches the loop device and ends the file system: later requests fail.
pub struct Served {
    node: PathBuf,
    /// The loop device. Exclusive, so that no other run takes it for its own before it is handed out.
    device: Option<File>,
    mount: OwnedFd,
    session: Option<BackgroundSession>,
}

impl Served {
    /// The longest request in bytes: the kernel halves what is longer.
    pub const LONGEST: u32 = LONGEST;

    /// Serves `front` as a block device with blocks of `block` bytes. `shown` is the name of its file where the
    /// kernel lists it.
    ///
    /// # Errors
    /// [`ServeError`]: the kernel lacks FUSE or loop devices, or the user may not use them.
    pub fn new(front: impl Front, block: u32, shown: &str) -> Result<Self, ServeError> {
        let shown = Path::new(shown);
        let control = Control::open(shown)?;
        let len = front.bytes();
        let fuse = open_fuse()?;
        let mount = mount_served(&fuse).map_err(|errno| ServeError::Cannot {
            doing: "mount a file system of FUSE",
            source: errno.into(),
            hint: "it needs root, and a kernel of 5.2 or later",
        })?;
        let failed = |doing| move |source| ServeError::Failed { doing, source };
        let file_system = FileSystem { front };
        let session =
            Session::from_fd(file_system, fuse.into(), SessionACL::Owner, Config::default())
                .and_then(Session::spawn)
                .map_err(failed("start its file system"))?;
        let flags = OFlags::RDWR | OFlags::DIRECT | OFlags::CLOEXEC;
        let file = openat(&mount, DISK, flags, Mode::empty())
            .map_err(|errno| failed("open its file")(errno.into()))?;
        let device = control.make(shown, &File::from(file), len, block)?;
        let node = name_of(&device).map_err(failed("find its name"))?;
        Ok(Self { node, device: Some(device), mount, session: Some(session) })
    }

    /// Returns its node, as `/dev/loop3`.
    pub fn node(&self) -> &Path {
        &self.node
    }

    /// Returns where the report of the front lies, for processes of the same user.
    pub fn report(&self) -> PathBuf {
        let (process, mount) = (std::process::id(), self.mount.as_fd().as_raw_fd());
        format!("/proc/{process}/fd/{mount}/{REPORT}").into()
    }

    /// Measures how long the kernel takes with a read, there and back: the median of some, with pauses
    /// between them. The front should answer at once meanwhile.
    ///
    /// # Errors
    /// The system's error.
    #[allow(clippy::disallowed_methods)] // before the device is handed out no clock runs
    pub fn round_trip(&self) -> io::Result<Duration> {
        let direct = OFlags::DIRECT.bits().cast_signed();
        let device = File::options().read(true).custom_flags(direct).open(&self.node)?;
        let mut page = Box::new(Page([0; PAGE_BYTES]));
        let mut trips = [Duration::ZERO; TRIPS];
        for trip in &mut trips {
            // Processors fall asleep between two requests to a disk.
            std::thread::sleep(PAUSE);
            let begun = Instant::now();
            device.read_at(&mut page.0, 0)?;
            *trip = begun.elapsed();
        }
        trips.sort_unstable();
        Ok(trips[TRIPS / 2])
    }

    /// Lets others open the device exclusively: so far this process has it alone.
    ///
    /// # Errors
    /// The system's error.
    pub fn hand_out(&mut self) -> io::Result<()> {
        // Opened again before the first is closed, which would detach it. Not for writing: others may look
        // for writers before they use it.
        let shared = File::open(&self.node)?;
        self.device = Some(shared);
        Ok(())
    }

    /// Returns whether it is mounted, held by another device, or open exclusively.
    pub fn is_in_use(&self) -> bool {
        let exclusive = File::options()
            .read(true)
            .custom_flags(OFlags::EXCL.bits().cast_signed())
            .open(&self.node);
        exclusive.is_err()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        // What programs wrote through the page cache and have not flushed.
        let _ = self.device.as_ref().map(File::sync_data);
        // If it is mounted, the kernel detaches it when its last user is gone. Its requests fail from now on.
        if let Some(device) = self.device.take() {
            let _ = clear(&device);
        }
        drop(self.session.take());
    }
}

/// Checks that this machine has what a served device needs, and that the user may use it.
///
/// # Errors
/// [`ServeError`]: the kernel lacks FUSE or loop devices, or the user may not use them.
pub fn can_serve() -> Result<(), ServeError> {
    Control::open(Path::new("penstock"))?;
    open_fuse().map(drop)
}

fn open_fuse() -> Result<File, ServeError> {
    File::options().read(true).write(true).open("/dev/fuse").map_err(|source| {
        let doing = "open /dev/fuse";
        let hint = match source.kind() {
            io::ErrorKind::PermissionDenied => "it needs root",
            _ => "load the module as root (`modprobe fuse`); containers often have none",
        };
        ServeError::Cannot { doing, source, hint }
    })
}

/// Mounts a file system that the descriptor `fuse` serves.
fn mount_served(fuse: &File) -> rustix::io::Result<OwnedFd> {
    let descriptor = fuse.as_raw_fd().to_string();
    let user = rustix::process::geteuid().as_raw().to_string();
    let group = rustix::process::getegid().as_raw().to_string();
    let options = [
        ("fd", &*descriptor),
        ("rootmode", "40000"),
        ("user_id", &*user),
        ("group_id", &*group),
        ("source", "penstock"),
        ("subtype", "penstock"),
    ];
    mount("fuse", &options)
}
