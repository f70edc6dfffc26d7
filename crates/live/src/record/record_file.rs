//! The record file of a target: a mapped file with a record for each block.
//!
//! Its pages are in the page cache, so stores survive a kill of the process without a system call for each write.
//! They do not survive a crash of the machine: nothing is made durable during a run.
//!
//! The file is sparse: a record takes space when its block is written. The first page has the target and the seed.
//! Records of an earlier session count until the target is written without them.
//!
//! Invariants: a file that is no record is never changed; space for all records that a run may write is reserved
//! before it begins, so that stores do not fail.

use std::fs::{File, OpenOptions};
use std::io;
use std::ops::Range;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::ptr::NonNull;

use rustix::mm::{MapFlags, ProtFlags, mmap};
use rustix::param::page_size;

use crate::engine::faults::{self, Watched};
use crate::record::block_record::{Epochs, WORDS, Words};
use crate::record::record_error::{MAP, RecordError};
use crate::record::stamp::{BLOCK, Stamp, file_number};

/// The size of the first page in bytes.
const HEADER: usize = 4096;
/// The size of a block's record in bytes.
const RECORD: u64 = (WORDS * 8) as u64;

const MAGIC: u64 = u64::from_le_bytes(*b"pstverif");
const FORMAT: u64 = 1;
/// The greatest number of a session.
const LAST_EPOCH: u64 = (1 << 28) - 2;
/// The longest name that is stored, in bytes.
const NAME_MOST: usize = 1024;

/// The words of the first page, in their order.
#[derive(Clone, Copy)]
enum Word {
    Magic,
    Format,
    /// Bytes of the target.
    Length,
    Seed,
    /// The number of its name.
    File,
    /// The number of the latest session.
    Epoch,
    /// The first session whose writes count.
    ValidFrom,
    /// 1 if the target was written without the record since then.
    IsStale,
    NameLength,
}

/// The offset of the name in the first page.
const NAME: usize = 16 * 8;

/// The target of a record.
pub(crate) struct Subject<'a> {
    pub(crate) target: &'a Path,
    /// Its size in bytes.
    pub(crate) length: u64,
    /// Its name in its blocks.
    pub(crate) name: &'a str,
    /// The seed of its data.
    pub(crate) seed: u64,
    /// Ranges that may be written; if there are none, the record must exist.
    pub(crate) written: &'a [Range<u64>],
}

/// An open record.
#[derive(Debug)]
pub(crate) struct RecordFile {
    // Dropped before the pages are unmapped.
    faults: Watched,
    pages: RecordPages,
    records: usize,
    stamp: Stamp,
    name: String,
    epochs: Epochs,
}

/// The mapping.
#[derive(Debug)]
struct RecordPages {
    base: NonNull<u8>,
    len: usize,
}

// SAFETY: a mapping belongs to the process, not to a thread; its words are atomics.
unsafe impl Send for RecordPages {}
// SAFETY: as above.
unsafe impl Sync for RecordPages {}

/// The first page of a record.
struct Header([u8; HEADER]);

impl Header {
    const EMPTY: Self = Self([0; HEADER]);

    /// Creates the first page of a new record.
    fn new(subject: &Subject<'_>) -> Self {
        let mut header = Self::EMPTY;
        let name = subject.name.as_bytes();
        let kept = &name[..name.len().min(NAME_MOST)];
        header.put(Word::Magic, MAGIC);
        header.put(Word::Format, FORMAT);
        header.put(Word::Length, subject.length);
        header.put(Word::Seed, subject.seed);
        header.put(Word::File, file_number(name));
        header.put(Word::ValidFrom, 1);
        header.put(Word::NameLength, kept.len() as u64);
        header.0[NAME..NAME + kept.len()].copy_from_slice(kept);
        header
    }

    fn at(&self, word: Word) -> u64 {
        let from = word as usize * 8;
        u64::from_le_bytes(self.0[from..from + 8].try_into().expect("eight bytes"))
    }

    fn put(&mut self, word: Word, value: u64) {
        self.0[word as usize * 8..][..8].copy_from_slice(&value.to_le_bytes());
    }

    fn is_empty(&self) -> bool {
        self.0.iter().all(|&byte| byte == 0)
    }

    fn name(&self) -> String {
        let len = (self.at(Word::NameLength) as usize).min(NAME_MOST);
        String::from_utf8_lossy(&self.0[NAME..NAME + len]).into_owned()
    }
}

/// The hint where a record cannot be.
const ELSEWHERE: &str = "name another place with `live.verify_record`";

/// Returns a function from an error of the system to the error of the step `doing` on the record at `path`.
fn fails(
    path: &Path,
    doing: &'static str,
    hint: &'static str,
) -> impl FnOnce(io::Error) -> RecordError {
    move |source| RecordError::System { path: path.to_owned(), doing, source, hint }
}

impl Subject<'_> {
    /// Returns the number of the target's blocks.
    fn records(&self) -> u64 {
        self.length.div_ceil(u64::from(BLOCK))
    }

    /// Returns the size of its record file in bytes.
    fn bytes(&self) -> u64 {
        HEADER as u64 + self.records() * RECORD
    }

    fn missing(&self, path: &Path) -> RecordError {
        RecordError::Missing { target: self.target.to_owned(), path: path.to_owned() }
    }

    /// Opens the file at `path`, or creates it if something will be written.
    fn file(&self, path: &Path) -> Result<File, RecordError> {
        match options().open(path) {
            Ok(file) => Ok(file),
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(fails(path, "open", ELSEWHERE)(error))
            }
            Err(_) if self.written.is_empty() => Err(self.missing(path)),
            Err(_) => {
                let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
                let folder = folder.map_or(Ok(()), std::fs::create_dir_all);
                folder.map_err(fails(path, "make a folder for", ELSEWHERE))?;
                let made = options().create_new(true).mode(0o600).open(path);
                made.map_err(fails(path, "make", ELSEWHERE))
            }
        }
    }

    /// Returns the first page of `file`, after checking that it is the record of this target.
    fn header(&self, path: &Path, file: &File) -> Result<Header, RecordError> {
        let (target, len) = (|| self.target.to_owned(), self.bytes());
        let file_len = file.metadata().map_err(fails(path, "look at", ELSEWHERE))?.len();
        let mut header = Header::EMPTY;
        if file_len >= HEADER as u64 {
            let read = file.read_exact_at(&mut header.0, 0);
            read.map_err(fails(path, "read", ELSEWHERE))?;
        }
        // A process killed between creating the file and writing its first page left a page of zeros.
        if file_len == 0 || (file_len == len && header.is_empty()) {
            if self.written.is_empty() {
                return Err(self.missing(path));
            }
            file.set_len(len).map_err(fails(path, "make", ELSEWHERE))?;
            return Ok(Header::new(self));
        }
        let session = header.at(Word::Epoch).max(header.at(Word::ValidFrom));
        let known = (header.at(Word::Magic), header.at(Word::Format)) == (MAGIC, FORMAT);
        if !known || session >= LAST_EPOCH {
            return Err(RecordError::NotARecord { path: path.to_owned() });
        }
        let (recorded, expected) = (header.at(Word::Length), self.length);
        if recorded != expected || file_len != len {
            let path = path.to_owned();
            return Err(RecordError::OfAnother {
                target: target(),
                path,
                found: recorded,
                expected,
            });
        }
        if header.at(Word::IsStale) != 0 && self.written.is_empty() {
            return Err(RecordError::Stale { target: target(), path: path.to_owned() });
        }
        Ok(header)
    }

    /// Reserves space in `file` for all records that may be written.
    fn reserve(&self, path: &Path, file: &File) -> Result<(), RecordError> {
        let block = u64::from(BLOCK);
        for range in self.written {
            let (first, last) = (range.start / block, range.end.div_ceil(block));
            let (from, bytes) = (HEADER as u64 + first * RECORD, (last - first) * RECORD);
            // SAFETY: the call takes a descriptor and numbers only.
            let room = unsafe {
                libc::posix_fallocate(file.as_raw_fd(), from.cast_signed(), bytes.cast_signed())
            };
            if room != 0 {
                let hint = "it takes 64 bytes for each block of 4 KiB that may be written: make room, \
                            or name another place with `live.verify_record`";
                let error = io::Error::from_raw_os_error(room);
                return Err(fails(path, "make room for", hint)(error));
            }
        }
        Ok(())
    }
}

impl RecordFile {
    /// Opens the record at `path`, or creates it if something will be written.
    pub(crate) fn open(path: &Path, subject: &Subject<'_>) -> Result<Self, RecordError> {
        let file = subject.file(path)?;
        let mut header = subject.header(path, &file)?;
        subject.reserve(path, &file)?;
        let epoch = header.at(Word::Epoch) + 1;
        header.put(Word::Epoch, epoch);
        if !subject.written.is_empty() {
            header.put(Word::IsStale, 0);
        }
        file.write_all_at(&header.0, 0).map_err(fails(path, "write", ELSEWHERE))?;
        let pages = RecordPages::map(&file, subject.bytes() as usize);
        let pages = pages.map_err(fails(path, MAP, "look at `ulimit -v`"))?;
        let faults = faults::watch(pages.base.as_ptr().addr(), pages.len, page_size())?;
        let stamp = Stamp { file: header.at(Word::File), seed: header.at(Word::Seed) };
        let epochs = Epochs { now: epoch as u32, valid_from: header.at(Word::ValidFrom) as u32 };
        let (records, name) = (subject.records() as usize, header.name());
        Ok(Self { faults, pages, records, stamp, name, epochs })
    }

    /// Returns the stamp of the target's blocks.
    pub(crate) fn stamp(&self) -> Stamp {
        self.stamp
    }

    /// Returns the name of the target in its blocks.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn epochs(&self) -> Epochs {
        self.epochs
    }

    /// Returns whether a page of it was lost, because the file was cut or its disk failed.
    pub(crate) fn is_lost(&self) -> bool {
        self.faults.count() > 0
    }

    /// Returns the record of the block at `offset`.
    pub(crate) fn block(&self, offset: u64) -> &Words {
        let number = (offset / u64::from(BLOCK)) as usize;
        assert!(number < self.records, "block {number} of {}", self.records);
        // SAFETY: inside the mapping, which lives as long as `self`; eight words that are accessed only
        // as atomics, at a multiple of 64 bytes from the beginning of a page.
        unsafe { &*self.pages.records().add(number) }
    }
}

/// Returns the default path of the record of the target at `path`.
pub fn record_beside(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".verify");
    name.into()
}

/// Marks the record at `path`, if there is one, as out of date: its target will be written without it.
///
/// # Errors
/// An error of the system, if there is a record that cannot be marked.
pub fn give_up_record(path: &Path) -> io::Result<()> {
    let file = match options().open(path) {
        Ok(file) => file,
        // There is no record.
        Err(error)
            if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::IsADirectory) =>
        {
            return Ok(());
        }
        Err(error) => return Err(error),
    };
    let mut header = Header::EMPTY;
    match file.read_exact_at(&mut header.0, 0) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(()),
        read => read?,
    }
    if header.at(Word::Magic) != MAGIC {
        return Ok(());
    }
    let valid_from = header.at(Word::Epoch) + 1;
    file.write_all_at(&valid_from.to_le_bytes(), Word::ValidFrom as u64 * 8)?;
    file.write_all_at(&1_u64.to_le_bytes(), Word::IsStale as u64 * 8)
}

/// Returns options that open a file for reading and writing, and a pipe without waiting for its other end.
fn options() -> OpenOptions {
    let mut options = File::options();
    options.read(true).write(true).custom_flags(libc::O_NONBLOCK);
    options
}

impl RecordPages {
    /// Returns the address of the first record.
    // It is aligned: it lies a page behind the beginning of a mapping.
    #[allow(clippy::cast_ptr_alignment)]
    fn records(&self) -> *const Words {
        // SAFETY: the mapping has its first page.
        unsafe { self.base.as_ptr().add(HEADER) }.cast()
    }

    fn map(file: &File, len: usize) -> io::Result<Self> {
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a fresh mapping at an address of the kernel's choice aliases nothing.
        let base =
            unsafe { mmap(std::ptr::null_mut(), len, protection, MapFlags::SHARED, file, 0) }?;
        let base = NonNull::new(base.cast()).expect("the kernel maps nothing at address zero");
        Ok(Self { base, len })
    }
}

impl Drop for RecordPages {
    fn drop(&mut self) {
        // SAFETY: our own mapping; references into it do not outlive its holder.
        let unmapped = unsafe { rustix::mm::munmap(self.base.as_ptr().cast(), self.len) };
        debug_assert!(unmapped.is_ok(), "a mapping of ours is unmapped once");
    }
}

#[cfg(test)]
mod tests;
