//! The file system of a served device: a folder with the device's file and a report.

use std::ffi::OsStr;
use std::io;
use std::time::{Duration, UNIX_EPOCH};

use fuser::{
    Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation, INodeNo, InitFlags,
    KernelConfig, LockOwner, OpenFlags, ReplyAttr, ReplyData, ReplyEmpty, ReplyEntry, ReplyOpen,
    ReplyWrite, Request, WriteFlags,
};
use penstock_core::Op;

/// Names of the files.
pub(super) const DISK: &str = "disk";
pub(super) const REPORT: &str = "report";

const FOLDER: INodeNo = INodeNo(1);
const DISK_FILE: INodeNo = INodeNo(2);
const REPORT_FILE: INodeNo = INodeNo(3);

/// How long the kernel may keep names and attributes: they do not change.
const DAY: Duration = Duration::from_hours(24);

/// Length in bytes that the report has for those that ask before they read it.
const REPORT_LEN: u64 = 4096;

/// The longest request in bytes that the kernel has for a file system like this.
pub(super) const LONGEST: u32 = 1 << 20;

/// Requests that the kernel may have here at once: more than any queue of a loop device.
const MOST: u16 = 1024;

/// Takes the requests to a served device, on the thread of the file system, and has its bytes.
pub trait Front: Send + Sync + 'static {
    /// Returns the device's length in bytes.
    fn bytes(&self) -> u64;

    /// Takes a request within the device, which has to be answered, by any thread; `data` are the bytes of a
    /// write.
    fn take(&self, request: BlockRequest, data: &[u8]);

    /// Returns a report for those that ask for one, less than 4096 bytes of text.
    fn report(&self) -> String;

    /// Begins the report anew.
    fn reset(&self);
}

/// A request to a served device. One that is dropped unanswered gets an input/output error.
#[derive(Debug)]
pub struct BlockRequest {
    /// The operation.
    pub op: Op,
    /// First byte.
    pub start: u64,
    /// Bytes; 0 for a flush.
    pub len: u32,
    reply: Reply,
}

#[derive(Debug)]
enum Reply {
    Read(ReplyData),
    Write(ReplyWrite),
    Other(ReplyEmpty),
}

/// The answer to a request: the bytes of a read, or nothing.
pub type Answered<'a> = Result<&'a [u8], penstock_core::Errno>;

impl BlockRequest {
    /// Answers it.
    pub fn answer(self, answered: Answered<'_>) {
        match (self.reply, answered.map_err(|errno| Errno::from_i32(errno.code()))) {
            (Reply::Read(reply), Ok(bytes)) => reply.data(bytes),
            (Reply::Read(reply), Err(error)) => reply.error(error),
            (Reply::Write(reply), Ok(_)) => reply.written(self.len),
            (Reply::Write(reply), Err(error)) => reply.error(error),
            (Reply::Other(reply), Ok(_)) => reply.ok(),
            (Reply::Other(reply), Err(error)) => reply.error(error),
        }
    }
}

/// The file system over the bytes of its front.
pub(super) struct FileSystem<F> {
    pub(super) front: F,
}

impl<F: Front> FileSystem<F> {
    fn attributes(&self, file: INodeNo) -> Option<FileAttr> {
        let (kind, perm, size) = match file {
            FOLDER => (FileType::Directory, 0o700, 0),
            DISK_FILE => (FileType::RegularFile, 0o600, self.front.bytes()),
            REPORT_FILE => (FileType::RegularFile, 0o600, REPORT_LEN),
            _ => return None,
        };
        Some(FileAttr {
            ino: file,
            size,
            blocks: size / 512,
            atime: UNIX_EPOCH,
            mtime: UNIX_EPOCH,
            ctime: UNIX_EPOCH,
            crtime: UNIX_EPOCH,
            kind,
            perm,
            nlink: 1,
            uid: rustix::process::geteuid().as_raw(),
            gid: rustix::process::getegid().as_raw(),
            rdev: 0,
            blksize: 4096,
            flags: 0,
        })
    }

    fn take(&self, op: Op, start: u64, len: u32, reply: Reply, data: &[u8]) {
        self.front.take(BlockRequest { op, start, len, reply }, data);
    }

    /// Whether `len` bytes from byte `start` on lie within the device.
    fn holds(&self, start: u64, len: u64) -> bool {
        start.checked_add(len).is_some_and(|end| end <= self.front.bytes())
    }
}

impl<F: Front> Filesystem for FileSystem<F> {
    fn init(&mut self, _: &Request, config: &mut KernelConfig) -> io::Result<()> {
        // Without these direct reads and writes are done one at a time.
        let wanted = InitFlags::FUSE_ASYNC_READ | InitFlags::FUSE_ASYNC_DIO;
        let with = |flags: InitFlags| io::Error::other(format!("the kernel lacks {flags:?}"));
        config.add_capabilities(wanted).map_err(with)?;
        let _ = config.set_max_write(LONGEST);
        let _ = config.set_max_background(MOST);
        let _ = config.set_congestion_threshold(MOST);
        Ok(())
    }

    fn lookup(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let file = match name.to_str() {
            Some(DISK) if parent == FOLDER => DISK_FILE,
            Some(REPORT) if parent == FOLDER => REPORT_FILE,
            _ => return reply.error(Errno::ENOENT),
        };
        let attributes = self.attributes(file).expect("it is a file");
        reply.entry(&DAY, &attributes, Generation(0));
    }

    fn getattr(&self, _: &Request, file: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        match self.attributes(file) {
            Some(attributes) => reply.attr(&DAY, &attributes),
            None => reply.error(Errno::ENOENT),
        }
    }

    /// Begins the report anew when it is truncated, and leaves all else as it is.
    fn setattr(
        &self,
        _: &Request,
        file: INodeNo,
        _: Option<u32>,
        _: Option<u32>,
        _: Option<u32>,
        size: Option<u64>,
        _: Option<fuser::TimeOrNow>,
        _: Option<fuser::TimeOrNow>,
        _: Option<std::time::SystemTime>,
        _: Option<FileHandle>,
        _: Option<std::time::SystemTime>,
        _: Option<std::time::SystemTime>,
        _: Option<std::time::SystemTime>,
        _: Option<fuser::BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        if (file, size) == (REPORT_FILE, Some(0)) {
            self.front.reset();
        }
        match self.attributes(file) {
            Some(attributes) => reply.attr(&DAY, &attributes),
            None => reply.error(Errno::ENOENT),
        }
    }

    fn open(&self, _: &Request, _: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        let flags = FopenFlags::FOPEN_DIRECT_IO | FopenFlags::FOPEN_PARALLEL_DIRECT_WRITES;
        reply.opened(FileHandle(0), flags);
    }

    fn read(
        &self,
        _: &Request,
        file: INodeNo,
        _: FileHandle,
        start: u64,
        len: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        match file {
            DISK_FILE => {
                let left = self.front.bytes().saturating_sub(start);
                let len = len.min(u32::try_from(left).unwrap_or(u32::MAX));
                if len == 0 {
                    return reply.data(&[]);
                }
                self.take(Op::Read, start, len, Reply::Read(reply), &[]);
            }
            REPORT_FILE if start == 0 => reply.data(self.front.report().as_bytes()),
            _ => reply.data(&[]),
        }
    }

    fn write(
        &self,
        _: &Request,
        file: INodeNo,
        _: FileHandle,
        start: u64,
        bytes: &[u8],
        _: WriteFlags,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        if file != DISK_FILE {
            return reply.error(Errno::EPERM);
        }
        if !self.holds(start, bytes.len() as u64) {
            return reply.error(Errno::EINVAL);
        }
        self.take(Op::Write, start, bytes.len() as u32, Reply::Write(reply), bytes);
    }

    fn flush(&self, _: &Request, _: INodeNo, _: FileHandle, _: LockOwner, reply: ReplyEmpty) {
        // Closing makes nothing durable.
        reply.ok();
    }

    fn fsync(&self, _: &Request, file: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        match file {
            DISK_FILE => self.take(Op::Flush, 0, 0, Reply::Other(reply), &[]),
            _ => reply.ok(),
        }
    }

    /// Discards a range, or writes zeros there: both leave zeros.
    fn fallocate(
        &self,
        _: &Request,
        file: INodeNo,
        _: FileHandle,
        start: u64,
        len: u64,
        mode: i32,
        reply: ReplyEmpty,
    ) {
        const CLEARS: i32 = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_ZERO_RANGE;
        if file != DISK_FILE || mode & CLEARS == 0 {
            return reply.error(Errno::EOPNOTSUPP);
        }
        let left = self.front.bytes().saturating_sub(start);
        match u32::try_from(len.min(left)) {
            Ok(0) => reply.ok(),
            Ok(len) => self.take(Op::Discard, start, len, Reply::Other(reply), &[]),
            Err(_) => reply.error(Errno::EINVAL),
        }
    }
}
