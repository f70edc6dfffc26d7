//! Lost pages of mapped files, which the kernel cannot provide: `SIGBUS` becomes a count.
//!
//! The kernel answers an access to a mapped page that it cannot read or write with a signal, which ends the
//! process by default. While a range is watched, a handler replaces a lost page by a page of zeros and counts it,
//! so that the copy that met it goes on and its command can fail by itself. All other signals are handled as they
//! would be without the handler, which is removed with the last range.
//!
//! Invariants: a handler calls nothing but the kernel and touches nothing but atomics; a watched range is
//! removed from the list before it is unmapped.

use std::io;
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::atomic::{AtomicI32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::engine::error::EngineError;

/// The most mappings at once: more than runs have targets and threads.
const MOST: usize = 1024;

/// A range of addresses and the pages of it that were lost.
struct Range {
    /// 0 if it is free.
    first: AtomicUsize,
    len: AtomicUsize,
    /// Bytes of a page.
    page: AtomicUsize,
    lost: AtomicU64,
}

static RANGES: [Range; MOST] = [const {
    Range {
        first: AtomicUsize::new(0),
        len: AtomicUsize::new(0),
        page: AtomicUsize::new(0),
        lost: AtomicU64::new(0),
    }
}; MOST];

/// The action for `SIGBUS` before our handler: a function, or one of the kernel's constants.
static PREVIOUS: AtomicUsize = AtomicUsize::new(libc::SIG_DFL);
static PREVIOUS_FLAGS: AtomicI32 = AtomicI32::new(0);

/// The state of our handler in the process.
struct Installation {
    /// Watched ranges.
    ranges: usize,
    /// The action that it replaced; `None` while it is not in place.
    replaced: Option<libc::sigaction>,
}

static INSTALLATION: Mutex<Installation> = Mutex::new(Installation { ranges: 0, replaced: None });

/// A watched range of addresses.
#[derive(Debug)]
pub(crate) struct Watched(usize);

/// Watches the `len` bytes of a mapped file from the address `first` on. A page has `page` bytes.
pub(crate) fn watch(first: usize, len: usize, page: usize) -> Result<Watched, EngineError> {
    let mut installation = installation();
    let free = RANGES.iter().position(|range| range.first.load(Ordering::Relaxed) == 0);
    let doing = "watch more mapped files";
    let free = free
        .ok_or_else(|| EngineError::System { doing, source: io::ErrorKind::OutOfMemory.into() })?;
    installation
        .enter()
        .map_err(|source| EngineError::System { doing: "handle lost pages", source })?;
    let range = &RANGES[free];
    range.lost.store(0, Ordering::Relaxed);
    range.page.store(page, Ordering::Relaxed);
    range.len.store(len, Ordering::Relaxed);
    range.first.store(first, Ordering::Release);
    Ok(Watched(free))
}

impl Watched {
    /// Returns how many of its pages were lost so far.
    pub(crate) fn count(&self) -> u64 {
        RANGES[self.0].lost.load(Ordering::Acquire)
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        let mut installation = installation();
        RANGES[self.0].first.store(0, Ordering::Release);
        installation.leave();
    }
}

fn installation() -> MutexGuard<'static, Installation> {
    INSTALLATION.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Installation {
    /// Counts a new range; the first installs our handler.
    fn enter(&mut self) -> io::Result<()> {
        if self.replaced.is_none() {
            let replaced = action()?;
            // The handler may need the previous action at once.
            PREVIOUS.store(replaced.sa_sigaction, Ordering::Relaxed);
            PREVIOUS_FLAGS.store(replaced.sa_flags, Ordering::Release);
            // SAFETY: zeros are a valid value of the structure.
            let mut ours: libc::sigaction = unsafe { std::mem::zeroed() };
            ours.sa_sigaction = our_handler();
            ours.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
            set_action(&ours)?;
            self.replaced = Some(replaced);
        }
        self.ranges += 1;
        Ok(())
    }

    /// Counts a removed range; the last removes our handler. Our handler stays if another was installed on top of it,
    /// which may call it.
    fn leave(&mut self) {
        self.ranges -= 1;
        let is_ours = || action().is_ok_and(|action| action.sa_sigaction == our_handler());
        if self.ranges == 0
            && is_ours()
            && let Some(replaced) = self.replaced.take()
        {
            let restored = set_action(&replaced);
            debug_assert!(restored.is_ok(), "an action that was in place can be there again");
        }
    }
}

fn our_handler() -> usize {
    lost as *const () as usize
}

/// Returns the present action for `SIGBUS`.
fn action() -> io::Result<libc::sigaction> {
    let mut action = MaybeUninit::zeroed();
    // SAFETY: it writes the present action into a structure of its kind.
    match unsafe { libc::sigaction(libc::SIGBUS, ptr::null(), action.as_mut_ptr()) } {
        // SAFETY: the call has filled it.
        0 => Ok(unsafe { action.assume_init() }),
        _ => Err(io::Error::last_os_error()),
    }
}

fn set_action(action: &libc::sigaction) -> io::Result<()> {
    // SAFETY: the action is whole: ours, whose handler has the signature that its flag asks for and calls only what it
    // may, or one that was in place before.
    match unsafe { libc::sigaction(libc::SIGBUS, action, ptr::null_mut()) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// The handler.
extern "C" fn lost(signal: i32, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: the kernel passes the information of this signal.
    let is_fault = unsafe { (*info).si_code } > 0;
    // SAFETY: as above; that of a fault has an address.
    let address = if is_fault { unsafe { (*info).si_addr() }.addr() } else { 0 };
    let watched = RANGES.iter().find(|range| {
        let first = range.first.load(Ordering::Acquire);
        first != 0 && (first..first + range.len.load(Ordering::Relaxed)).contains(&address)
    });
    let Some(range) = watched else { return pass_on(is_fault, signal, info, context) };
    let page = range.page.load(Ordering::Relaxed);
    let (at, flags) = (
        ptr::without_provenance_mut(address / page * page),
        libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED,
    );
    // SAFETY: it replaces a page of a watched mapping, which commands reach through addresses alone.
    let got = unsafe { libc::mmap(at, page, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0) };
    if got == libc::MAP_FAILED {
        return pass_on(is_fault, signal, info, context);
    }
    range.lost.fetch_add(1, Ordering::AcqRel);
}

/// Handles the signal as the previous action does.
fn pass_on(is_fault: bool, signal: i32, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    let flags = PREVIOUS_FLAGS.load(Ordering::Acquire);
    match PREVIOUS.load(Ordering::Relaxed) {
        // A fault cannot be ignored.
        libc::SIG_IGN if !is_fault => {}
        libc::SIG_DFL | libc::SIG_IGN => {
            // SAFETY: both may be called in a handler. The signal ends the process when this handler returns.
            unsafe {
                libc::signal(signal, libc::SIG_DFL);
                libc::raise(signal);
            }
        }
        handler if flags & libc::SA_SIGINFO != 0 => {
            // SAFETY: the flag says that the handler has this signature.
            let handler: extern "C" fn(i32, *mut libc::siginfo_t, *mut libc::c_void) =
                unsafe { std::mem::transmute(handler) };
            handler(signal, info, context);
        }
        handler => {
            // SAFETY: without the flag a handler has this signature.
            let handler: extern "C" fn(i32) = unsafe { std::mem::transmute(handler) };
            handler(signal);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use rustix::mm::{MapFlags, ProtFlags, mmap, mmap_anonymous, munmap};

    use super::*;

    #[test]
    fn a_lost_page_is_replaced_whole_however_large_it_is() {
        const PAGE: usize = 64 << 10;
        let path = std::env::temp_dir().join(format!("penstock-large-page-{}", std::process::id()));
        let file = File::options().read(true).write(true).create_new(true).open(&path).unwrap();
        file.set_len(2 * PAGE as u64).unwrap();
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: fresh mappings, the second in the room that the first makes; nothing refers to them after the last
        // call.
        unsafe {
            let (null, private) = (ptr::null_mut(), MapFlags::PRIVATE);
            let room = mmap_anonymous(null, 3 * PAGE, protection, private).unwrap();
            let at = room.byte_add(room.addr().next_multiple_of(PAGE) - room.addr());
            let flags = MapFlags::SHARED | MapFlags::FIXED;
            mmap(at, 2 * PAGE, protection, flags, &file, 0).unwrap();
            let watched = watch(at.addr(), 2 * PAGE, PAGE).unwrap();
            file.set_len(0).unwrap();
            let byte = |offset: usize| at.cast::<u8>().add(offset).read_volatile();
            assert_eq!(byte(PAGE + 20_000), 0);
            assert_eq!(watched.count(), 1);
            (PAGE..2 * PAGE).step_by(1024).for_each(|offset| assert_eq!(byte(offset), 0));
            assert_eq!(watched.count(), 1, "the page is there from its first byte to its last");
            assert_eq!((byte(0), watched.count()), (0, 2));
            drop(watched);
            munmap(room, 3 * PAGE).unwrap();
        }
        std::fs::remove_file(path).unwrap();
    }
}
