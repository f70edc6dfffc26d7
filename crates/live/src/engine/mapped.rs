//! The engine over mapped files: commands copy from and to their pages.
//!
//! Use it to measure programs that map their files, as many key-value stores do. A read copies from the
//! page cache, a write into it; the loop waits while the kernel reads a page, one command at a time. All
//! commands go through the page cache.
//!
//! A page that the kernel cannot provide (the file was cut, the disk answers with an error, no space is
//! left) ends the command with `EIO`, not the process: [`faults`](crate::engine::faults) puts a page of
//! zeros in its place, and the file's own pages are mapped again before the next command. If that fails, all further commands on the
//! file end with `EIO`: its mapping no longer shows the file.

use std::fs::File;
use std::path::Path;
use std::ptr::NonNull;
use std::sync::Arc;

use rustix::mm::{Advice, MapFlags, MsyncFlags, ProtFlags, madvise, mmap, msync};
use rustix::param::page_size;

use crate::engine::Engine;
use crate::engine::blocking::Call;
use crate::engine::buffers::Area;
use crate::engine::call_flags::CallFlags;
use crate::engine::driver::{Action, Command};
use crate::engine::error::EngineError;
use crate::engine::faults::{self, Watched};
use crate::engine::psync::Psync;

/// A target to be mapped: its file, from the first byte on.
pub(crate) struct ToMap<'a> {
    pub(crate) path: &'a Path,
    pub(crate) len: u64,
    pub(crate) is_only_read: bool,
}

/// Mapped targets.
pub(crate) struct Mapped {
    files: Vec<MappedFile>,
    area: Arc<Area>,
    /// Makes the calls for flushes and discards.
    calls: Psync,
}

/// A mapped file, from its first byte on.
pub(crate) struct MappedFile {
    // Dropped before the pages are unmapped.
    faults: Watched,
    pages: Pages,
    file: Arc<File>,
    protection: ProtFlags,
    /// Bytes of a page.
    page: usize,
    /// Whether lost pages could not be mapped again.
    is_dead: bool,
}

/// Mapped pages, unmapped when they are dropped.
struct Pages {
    base: NonNull<u8>,
    len: usize,
}

// SAFETY: a mapping belongs to the process, not to a thread.
unsafe impl Send for Pages {}

impl Mapped {
    /// Maps `targets`. `files` has their own files, followed by those that are open through the page cache.
    pub(crate) fn new(
        targets: &[ToMap<'_>],
        files: &[Arc<File>],
        area: &Arc<Area>,
        advice: Advice,
    ) -> Result<Self, EngineError> {
        let buffered = &files[targets.len()..];
        let mapped = targets.iter().zip(buffered);
        let mapped =
            mapped.map(|(target, file)| MappedFile::new(target, file, advice, page_size()));
        let mapped = mapped.collect::<Result<_, _>>()?;
        Ok(Self { files: mapped, area: Arc::clone(area), calls: Psync::new(files, area) })
    }

    /// Sets the flags of its calls.
    pub(crate) fn with(self, flags: CallFlags) -> Self {
        Self { calls: self.calls.with(flags), ..self }
    }
}

impl MappedFile {
    /// Maps `target`, which is open as `file`. A page has `page` bytes.
    pub(crate) fn new(
        target: &ToMap<'_>,
        file: &Arc<File>,
        advice: Advice,
        page: usize,
    ) -> Result<Self, EngineError> {
        let len = target.len as usize;
        let write = if target.is_only_read { ProtFlags::empty() } else { ProtFlags::WRITE };
        let protection = ProtFlags::READ | write;
        let flags = MapFlags::SHARED;
        // SAFETY: a fresh mapping at an address of the kernel's choice aliases nothing.
        let base = unsafe { mmap(std::ptr::null_mut(), len, protection, flags, file, 0) };
        let base = base.map_err(|errno| EngineError::Missing {
            engine: Engine::Mmap,
            reason: format!("{} cannot be mapped (mmap: {errno})", target.path.display()),
            hint: "use the engine `psync`, which makes a call for each request".into(),
        })?;
        let base =
            NonNull::new(base.cast::<u8>()).expect("the kernel maps nothing at address zero");
        let pages = Pages { base, len };
        // SAFETY: advice on a fresh mapping changes none of its bytes. A kernel may ignore it.
        let _ = unsafe { madvise(base.as_ptr().cast(), len, advice) };
        let faults = faults::watch(base.as_ptr().addr(), len, page)?;
        Ok(Self { faults, pages, file: Arc::clone(file), protection, page, is_dead: false })
    }

    /// Copies the bytes from `start` on to `bytes`. Returns their number, or a negated error number.
    #[inline]
    pub(crate) fn read(&mut self, start: u64, bytes: &mut [u8]) -> i32 {
        let len = bytes.len();
        self.copied(start, len as u32, |at| {
            // SAFETY: as many bytes of the mapping, which the borrowed bytes do not overlap.
            unsafe { bytes.as_mut_ptr().copy_from_nonoverlapping(at, len) };
        })
    }

    /// Copies `bytes` to the bytes from `start` on. Returns their number, or a negated error number.
    #[inline]
    pub(crate) fn write(&mut self, start: u64, bytes: &[u8]) -> i32 {
        let len = bytes.len();
        self.copied(start, len as u32, |at| {
            // SAFETY: as above.
            unsafe { at.copy_from_nonoverlapping(bytes.as_ptr(), len) };
        })
    }

    /// Calls `copy` with the address of `len` bytes at `start`. Returns `len`, or a negated error number.
    fn copied(&mut self, start: u64, len: u32, copy: impl FnOnce(*mut u8)) -> i32 {
        let before = self.faults.count();
        copy(self.pages.address(start, len as usize));
        if self.faults.count() == before {
            return len.cast_signed();
        }
        let (from, pages) = pages_around(start, len, self.page);
        let (at, flags) = (self.pages.address(from, 0).cast(), MapFlags::SHARED | MapFlags::FIXED);
        // SAFETY: pages of this mapping are replaced by the same pages of its file; no reference to them
        // exists, since commands copy through addresses.
        let again = unsafe { mmap(at, pages, self.protection, flags, &self.file, from) };
        // The next command on these pages would read zeros and be taken for one that worked.
        self.is_dead = again.is_err();
        -libc::EIO
    }

    /// Writes `len` bytes at `start` to the device. Returns `len`, or a negated error number.
    pub(crate) fn synced(&self, start: u64, len: u32) -> i32 {
        let (from, pages) = pages_around(start, len, self.page);
        // SAFETY: pages of this mapping, which lives as long as `self`.
        let synced = unsafe { msync(self.pages.address(from, 0).cast(), pages, MsyncFlags::SYNC) };
        synced.map_or_else(|errno| -errno.raw_os_error(), |()| len.cast_signed())
    }
}

impl Pages {
    /// Returns the address of byte `start`, which has at least `len` bytes of the mapping behind it.
    fn address(&self, start: u64, len: usize) -> *mut u8 {
        let start = start as usize;
        assert!(start <= self.len && len <= self.len - start, "{len} bytes at {start}");
        // SAFETY: inside the mapping, as was just checked.
        unsafe { self.base.as_ptr().add(start) }
    }
}

/// Returns the first byte and the length of the whole pages, of `page` bytes, that `len` bytes at `start` touch.
fn pages_around(start: u64, len: u32, page: usize) -> (u64, usize) {
    let page = page as u64;
    let (from, to) = (start / page * page, (start + u64::from(len)).next_multiple_of(page));
    (from, (to - from) as usize)
}

impl Call for Mapped {
    fn serve(&mut self, command: &Command) -> i32 {
        let Command { action, file, start, len, buffer } = *command;
        // Transfers have the numbers of the files behind the targets' own, discards those of these.
        let count = self.files.len();
        let mapped = &mut self.files[file as usize % count];
        if mapped.is_dead {
            return -libc::EIO;
        }
        if matches!(action, Action::Flush | Action::Discard) {
            return self.calls.serve(command);
        }
        let bytes = self.area.address(buffer, len as usize);
        if action == Action::Read {
            return mapped.copied(start, len, |at| {
                // SAFETY: the slot's own buffer, and as many bytes of the mapping; they do not overlap.
                unsafe { bytes.copy_from_nonoverlapping(at, len as usize) };
            });
        }
        let written = mapped.copied(start, len, |at| {
            // SAFETY: as above, from the source of writes or the slot's own buffer.
            unsafe { at.copy_from_nonoverlapping(bytes, len as usize) };
        });
        if action == Action::WriteThrough && written >= 0 {
            return mapped.synced(start, len);
        }
        written
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: our own mapping; no command is in flight, so nothing uses it.
        let unmapped = unsafe { rustix::mm::munmap(self.base.as_ptr().cast(), self.len) };
        debug_assert!(unmapped.is_ok(), "a mapping of ours is unmapped once");
    }
}

#[cfg(test)]
mod tests {
    use penstock_core::Seed;

    use super::*;
    use crate::engine::buffers::Layout;
    use crate::targets::Target;

    #[test]
    fn what_cannot_be_mapped_is_named_with_the_reason() {
        let path = std::env::temp_dir().join(format!("penstock-mapped-{}", std::process::id()));
        let target = Target::open(&path, Some(1 << 20)).unwrap();
        // A file whose driver has no pages to map.
        let other = Arc::new(File::open("/proc/self/status").unwrap());
        let to_map = ToMap { path: &path, len: 1 << 20, is_only_read: false };
        let error = MappedFile::new(&to_map, &other, Advice::Normal, page_size()).err().unwrap();
        assert_eq!(error.exit_code(), 77);
        let message = error.to_string();
        assert!(message.contains(&format!("{} cannot be mapped (mmap: ", path.display())));
        assert!(message.contains("use the engine `psync`"), "{message}");
        drop(target);
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    fn calls_on_a_mapping_get_whole_pages_however_large_they_are() {
        assert_eq!(pages_around(70_000, 10, 4096), (69_632, 4096));
        assert_eq!(pages_around(70_000, 10, 64 << 10), (65_536, 65_536));
        assert_eq!(pages_around(65_530, 4096, 64 << 10), (0, 131_072));
    }

    #[test]
    fn a_file_whose_pages_cannot_be_mapped_again_answers_with_errors() {
        let name = format!("penstock-mapped-again-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        let target = Target::open(&path, Some(1 << 20)).unwrap();
        let layout = Layout::new(1, 4096, 4096).unwrap();
        let area = Arc::new(Area::new(layout, Seed(0)).unwrap());
        let files = [Arc::clone(target.file()), Arc::new(target.buffered().unwrap())];
        let to_map = [ToMap { path: &path, len: 1 << 20, is_only_read: false }];
        let mut engine = Mapped::new(&to_map, &files, &area, Advice::Normal).unwrap();
        let read = Command { action: Action::Read, file: 1, start: 0, len: 4096, buffer: 0 };
        let far = Command { start: 1 << 19, ..read };
        assert_eq!((engine.serve(&read), engine.serve(&far)), (4096, 4096));
        target.file().set_len(4096).unwrap();
        assert_eq!((engine.serve(&far), engine.serve(&read)), (-libc::EIO, 4096));
        // A file whose driver has no pages to map.
        engine.files[0].file = Arc::new(File::open("/proc/self/status").unwrap());
        assert_eq!((engine.serve(&far), engine.serve(&read)), (-libc::EIO, -libc::EIO));
        let flush = Command { action: Action::Flush, len: 0, ..read };
        assert_eq!(engine.serve(&flush), -libc::EIO, "it may lack what was written");
        drop((engine, target));
        std::fs::remove_file(path).unwrap();
    }
}
