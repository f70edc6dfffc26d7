//! The pages of a target in the page cache of the machine: they are dropped before a buffered run, and counted.

use std::fs::File;
use std::io;
use std::num::NonZeroU64;
use std::os::fd::AsRawFd;

use rustix::fs::{Access, Advice};
use rustix::mm::{MapFlags, ProtFlags};
use rustix::param::page_size;

use crate::targets::Target;

/// Bytes that are inspected by one call.
const WINDOW: u64 = 1 << 30;

impl Target {
    /// Writes its dirty pages to the device and drops all of its pages from the page cache. Returns a remark for
    /// the user on pages that could not be dropped.
    ///
    /// # Errors
    /// Its pages cannot be written or inspected.
    pub fn drop_cached(&self) -> io::Result<Option<String>> {
        let file = self.buffered()?;
        let path = self.path().display();
        if !self.is_only_read() {
            rustix::fs::fdatasync(&file)?;
        }
        let len = NonZeroU64::new(self.capacity());
        rustix::fs::fadvise(&file, self.start(), len, Advice::DontNeed)?;
        // The kernel shows the cached pages of a file only to users who may write it.
        let fd_path = format!("/proc/self/fd/{}", file.as_raw_fd());
        if rustix::fs::access(fd_path, Access::WRITE_OK).is_err() {
            return Ok(Some(format!(
                "whether pages of {path} were in the page cache at the beginning is not known: the \
                 kernel says so only to a user who may write it"
            )));
        }
        let bytes = resident(&file, self.start(), self.capacity())?;
        let remark = || {
            format!(
                "{} MiB of {path} stayed in the page cache at the beginning",
                bytes.div_ceil(1 << 20)
            )
        };
        Ok((bytes > 0).then(remark))
    }
}

/// Writes dirty pages of the whole machine to its disks, and drops its page cache, dentries and inodes.
///
/// # Errors
/// The system's error: only root may.
pub fn drop_all_cached() -> io::Result<()> {
    rustix::fs::sync();
    std::fs::write("/proc/sys/vm/drop_caches", "3")
}

/// Returns how many of `len` bytes of `file` from `start` on are in the page cache.
pub(crate) fn resident(file: &File, start: u64, len: u64) -> io::Result<u64> {
    let page = page_size() as u64;
    let (mut at, end) = (start / page * page, start + len);
    let mut pages = Vec::new();
    let mut bytes = 0;
    while at < end {
        let window = (end - at).min(WINDOW) as usize;
        pages.resize(window.div_ceil(page as usize), 0_u8);
        // SAFETY: a fresh mapping at an address of the kernel's choice, of which no page is touched.
        let base = unsafe {
            rustix::mm::mmap(
                std::ptr::null_mut(),
                window,
                ProtFlags::READ,
                MapFlags::SHARED,
                file,
                at,
            )?
        };
        // SAFETY: the mapping from above, and a byte for each of its pages.
        let inspected = unsafe { libc::mincore(base, window, pages.as_mut_ptr()) };
        let error = io::Error::last_os_error();
        // SAFETY: the mapping from above; nothing uses it.
        unsafe { rustix::mm::munmap(base, window)? };
        if inspected != 0 {
            return Err(error);
        }
        bytes += pages.iter().filter(|page| **page & 1 != 0).count() as u64 * page;
        at += window as u64;
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;

    use super::*;

    #[test]
    fn a_file_that_is_laid_out_anew_is_as_it_was_created() {
        let path = std::env::temp_dir().join(format!("penstock-laid-{}", std::process::id()));
        let target = Target::open(&path, Some(3 << 20)).unwrap();
        assert!(target.is_owned_file());
        let made = std::fs::read(&path).unwrap();
        let file = target.buffered().unwrap();
        let spoil = |at: u64| rustix::io::pwrite(&file, &[0xa5; 4096], at).unwrap();
        spoil(0);
        spoil(2 << 20);
        let goes_on = &mut |_, _| ControlFlow::Continue(());
        assert!(target.lay_out(goes_on).unwrap());
        target.drop_cached().unwrap();
        assert!(std::fs::read(&path).unwrap() == made, "with its mark");
        spoil(0);
        spoil(2 << 20);
        let stop = &mut |written, _| match written {
            0 => ControlFlow::Continue(()),
            _ => ControlFlow::Break(()),
        };
        assert!(!target.lay_out(stop).unwrap());
        let view = target.view(2 << 20, 4096).unwrap();
        assert!(view.lay_out(goes_on).unwrap());
        target.drop_cached().unwrap();
        let now = std::fs::read(&path).unwrap();
        assert!(now[..2 << 20] == made[..2 << 20], "what was written before it was stopped");
        assert!(now[2 << 20..][..4096] == made[..4096], "and the view, which begins anew");
        assert!(now[(2 << 20) + 4096..] == made[(2 << 20) + 4096..], "nothing outside of it");
        std::fs::remove_file(&path).unwrap();
    }

    #[test]
    fn what_was_read_is_cached_until_it_is_dropped() {
        let path = std::env::temp_dir().join(format!("penstock-cached-{}", std::process::id()));
        let target = Target::open(&path, Some(1 << 20)).unwrap();
        let file = target.buffered().unwrap();
        let cached = || resident(&file, 0, 1 << 20).unwrap();
        assert_eq!(std::fs::read(&path).unwrap().len(), (1 << 20) + 4096);
        assert_eq!(cached(), 1 << 20);
        assert_eq!(target.drop_cached().unwrap(), None);
        assert_eq!(cached(), 0);
        let part = target.view(8192, 4096).unwrap();
        rustix::io::pread(&file, &mut [0_u8; 1], 0).unwrap();
        assert!(cached() > 0);
        part.drop_cached().unwrap();
        assert!(cached() > 0, "only what is viewed is dropped");
        std::fs::remove_file(&path).unwrap();
    }
}
