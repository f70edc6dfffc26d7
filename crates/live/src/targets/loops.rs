//! Loop devices: they put a file behind a queue of the kernel, and so behind its schedulers.
//!
//! The kernel detaches a device made here when its last user closes it, for whatever reason.
//! Source: loop(4).
//!
//! Invariants: a device is made of an open file, never of a path that may change; it is opened
//! exclusively before it is configured, so no other process has it.

use std::ffi::{c_int, c_ulong};
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::io::Errno;

use crate::kernel::sysfs::{set_depth, text};
use crate::targets::device::alone;
use crate::targets::error::TargetError;

/// Major number of loop devices.
pub(crate) const MAJOR: u32 = 7;

const CONTROL: &str = "/dev/loop-control";

/// Most requests that the driver gives a loop device at once.
const DRIVER_DEPTH: &str = "/sys/module/loop/parameters/hw_queue_depth";

const LOOP_CTL_GET_FREE: c_ulong = 0x4c82;
const LOOP_CONFIGURE: c_ulong = 0x4c0a;
const LOOP_CLR_FD: c_ulong = 0x4c01;
const LO_FLAGS_AUTOCLEAR: u32 = 4;
const LO_FLAGS_DIRECT_IO: u32 = 16;

/// The number of tries: other processes may take the free devices before us.
const TRIES: u32 = 16;

/// The configuration of a device, as the kernel reads it.
#[repr(C)]
#[derive(Clone, Copy)]
struct Config {
    fd: u32,
    block_size: u32,
    info: Info,
    reserved: [u64; 8],
}

/// The kernel's `loop_info64`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Info {
    device: u64,
    inode: u64,
    rdevice: u64,
    offset: u64,
    size_limit: u64,
    number: u32,
    encrypt_type: u32,
    encrypt_key_size: u32,
    flags: u32,
    file_name: [u8; 64],
    crypt_name: [u8; 64],
    encrypt_key: [u8; 32],
    init: [u64; 2],
}

const _: () = assert!(size_of::<Info>() == 232 && size_of::<Config>() == 304);

/// The control device that makes loop devices.
pub(crate) struct Control(File);

impl Control {
    /// Opens the machine's control device, for a loop device over the file at `path`.
    pub(crate) fn open(path: &Path) -> Result<Self, TargetError> {
        let opened = File::options().read(true).write(true).open(CONTROL);
        let hint = |error: &io::Error| match error.kind() {
            io::ErrorKind::PermissionDenied => "loop devices need root",
            _ => "load the module as root (`modprobe loop`); containers often have none",
        };
        opened
            .map(Self)
            .map_err(|error| cannot(path, "open /dev/loop-control", &error, hint(&error)))
    }

    /// Makes a device of the first `size` bytes of `file`, in blocks of `block` bytes, with direct I/O. It is
    /// detached when the returned file is dropped. Errors name `path`, the path of the file.
    pub(crate) fn make(
        &self,
        path: &Path,
        file: &File,
        size: u64,
        block: u32,
    ) -> Result<File, TargetError> {
        for _ in 0..TRIES {
            let number = call(&self.0, LOOP_CTL_GET_FREE, 0)
                .map_err(|error| cannot(path, "get a free loop device", &error, "it needs root"))?;
            let node = PathBuf::from(format!("/dev/loop{number}"));
            let device = match alone(&node) {
                Ok(device) => device,
                Err(TargetError::InUse { .. }) => continue,
                Err(error) => {
                    let error = io::Error::other(error);
                    return Err(cannot(path, "open a loop device", &error, "it needs root"));
                }
            };
            match configure(&device, &config(path, file.as_raw_fd(), size, block)) {
                Ok(()) => {
                    check_direct(path, number)?;
                    reset_depth(number);
                    return Ok(device);
                }
                Err(error) if error.raw_os_error() == Some(libc::EBUSY) => {}
                Err(error) => {
                    let hint = "it needs root, and a kernel of 5.8 or later";
                    return Err(cannot(path, "make a loop device", &error, hint));
                }
            }
        }
        let error = Errno::BUSY.into();
        Err(cannot(path, "get a free loop device", &error, "others take them all: try again"))
    }
}

/// Returns the node of the loop device `device`.
pub(crate) fn name_of(device: &File) -> io::Result<PathBuf> {
    std::fs::read_link(format!("/proc/self/fd/{}", device.as_raw_fd()))
}

/// Detaches the file from the loop device `device`.
pub(crate) fn clear(device: &File) -> io::Result<()> {
    call(device, LOOP_CLR_FD, 0).map(drop)
}

fn config(path: &Path, file: RawFd, size: u64, block: u32) -> Config {
    let mut file_name = [0; 64];
    // Truncated to fit with a zero: it is only displayed.
    let shown = path.as_os_str().as_bytes();
    let len = shown.len().min(63);
    file_name[..len].copy_from_slice(&shown[..len]);
    let info = Info {
        device: 0,
        inode: 0,
        rdevice: 0,
        offset: 0,
        size_limit: size,
        number: 0,
        encrypt_type: 0,
        encrypt_key_size: 0,
        flags: LO_FLAGS_AUTOCLEAR | LO_FLAGS_DIRECT_IO,
        file_name,
        crypt_name: [0; 64],
        encrypt_key: [0; 32],
        init: [0; 2],
    };
    Config { fd: file.cast_unsigned(), block_size: block, info, reserved: [0; 8] }
}

/// Checks that a device does not go through the page cache.
fn check_direct(path: &Path, number: c_int) -> Result<(), TargetError> {
    let dio = std::fs::read_to_string(format!("/sys/block/loop{number}/loop/dio"));
    match dio.as_deref().map(str::trim) {
        Ok("0") => {
            let error = io::Error::other("the kernel reads and writes it through the page cache");
            Err(cannot(
                path,
                "have a loop device past the page cache",
                &error,
                "use the file itself",
            ))
        }
        _ => Ok(()),
    }
}

/// Gives a device under `none` as many requests at once as its driver has for it.
///
/// A loop device keeps the depth that an earlier user has set. After a switch of the scheduler and back, the
/// kernel shows the driver's number again but still has no more requests at once.
fn reset_depth(number: c_int) {
    let queue = PathBuf::from(format!("/sys/block/loop{number}/queue"));
    let is_none = text(&queue.join("scheduler")).is_some_and(|text| text.contains("[none]"));
    if let Some(usual) = text(Path::new(DRIVER_DEPTH)).filter(|_| is_none) {
        // Refused, it has its old depth, with which it works too.
        let _ = set_depth(&queue, &usual);
    }
}

fn configure(device: &File, config: &Config) -> io::Result<()> {
    call(device, LOOP_CONFIGURE, std::ptr::from_ref(config).expose_provenance()).map(drop)
}

/// Makes one of the calls above. `argument` is a number or the address of a [`Config`].
fn call(file: &File, request: c_ulong, argument: usize) -> io::Result<c_int> {
    // SAFETY: only LOOP_CONFIGURE takes a pointer, to a Config that outlives the call and is only read.
    let answer = unsafe { libc::ioctl(file.as_raw_fd(), request, argument) };
    if answer < 0 { Err(io::Error::last_os_error()) } else { Ok(answer) }
}

fn cannot(path: &Path, doing: &'static str, error: &io::Error, hint: &str) -> TargetError {
    let (path, why, hint) = (path.to_owned(), error.to_string(), hint.to_owned());
    TargetError::NoLoopDevice { path, doing, why, hint }
}
