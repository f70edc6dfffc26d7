//! Pages of a mapped file that cannot be had: `SIGBUS` becomes a count.
//!
//! The kernel answers an access to a mapped page that it cannot read or write with a signal, and a process
//! that does not handle it ends. Here a handler puts a page of zeros in the place of the lost one and counts
//! it, so that the copy that ran into it goes on and its command can fail by itself. Faults at other
//! addresses go to the handler of before.
//!
//! Invariants: a handler calls nothing but the kernel and touches nothing but atomics; a watched range is
//! taken off the list before it is unmapped.

use std::io;
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use crate::buffers::PAGE;
use crate::error::EngineError;

/// Mappings at once: more than runs have targets and threads.
const MOST: usize = 1024;

/// A range of addresses and the pages of it that were lost.
struct Range {
    /// 0 if it is free.
    first: AtomicUsize,
    len: AtomicUsize,
    lost: AtomicU64,
}

static RANGES: [Range; MOST] = [const {
    Range { first: AtomicUsize::new(0), len: AtomicUsize::new(0), lost: AtomicU64::new(0) }
}; MOST];

/// The handler of before.
static BEFORE: OnceLock<libc::sigaction> = OnceLock::new();

/// A watched range of addresses.
#[derive(Debug)]
pub(crate) struct Watched(usize);

/// Watches `len` bytes from the address `first` on, which are those of a mapped file.
pub(crate) fn watch(first: usize, len: usize) -> Result<Watched, EngineError> {
    handle().map_err(|source| EngineError::System { doing: "handle lost pages", source })?;
    let free = RANGES.iter().position(|range| {
        let taken = range.first.compare_exchange(0, first, Ordering::AcqRel, Ordering::Relaxed);
        taken.is_ok()
    });
    let doing = "watch more mapped files";
    let free = free
        .ok_or_else(|| EngineError::System { doing, source: io::ErrorKind::OutOfMemory.into() })?;
    RANGES[free].lost.store(0, Ordering::Relaxed);
    RANGES[free].len.store(len, Ordering::Release);
    Ok(Watched(free))
}

impl Watched {
    /// How many of its pages were lost so far.
    pub(crate) fn count(&self) -> u64 {
        RANGES[self.0].lost.load(Ordering::Acquire)
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        RANGES[self.0].len.store(0, Ordering::Release);
        RANGES[self.0].first.store(0, Ordering::Release);
    }
}

/// Puts our handler in its place, once; others that ask meanwhile wait for it.
fn handle() -> io::Result<()> {
    static INSTALLED: OnceLock<Result<(), i32>> = OnceLock::new();
    let code = |error: io::Error| error.raw_os_error().unwrap_or(libc::EINVAL);
    INSTALLED.get_or_init(|| install().map_err(code)).map_err(io::Error::from_raw_os_error)
}

fn install() -> io::Result<()> {
    let mut before = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: reads the present handler into a structure of its kind.
    if unsafe { libc::sigaction(libc::SIGBUS, ptr::null(), before.as_mut_ptr()) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the call has filled it. Known before ours is in place, which may need it at once.
    BEFORE.get_or_init(|| unsafe { before.assume_init() });
    // SAFETY: zeros are a valid value of the structure.
    let mut ours: libc::sigaction = unsafe { std::mem::zeroed() };
    ours.sa_sigaction = lost as *const () as usize;
    ours.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
    // SAFETY: the handler has the signature that the flag asks for, and calls only what it may.
    match unsafe { libc::sigaction(libc::SIGBUS, &raw const ours, ptr::null_mut()) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// The handler.
extern "C" fn lost(signal: i32, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: the kernel passes the information of this signal, which has an address.
    let address = unsafe { (*info).si_addr() }.addr();
    let watched = RANGES.iter().find(|range| {
        let first = range.first.load(Ordering::Acquire);
        first != 0 && (first..first + range.len.load(Ordering::Acquire)).contains(&address)
    });
    let Some(range) = watched else { return pass_on(signal, info, context) };
    let page = PAGE as usize;
    let (at, flags) = (
        ptr::without_provenance_mut(address / page * page),
        libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED,
    );
    // SAFETY: it replaces a page of a watched mapping, which commands reach through addresses alone.
    let got = unsafe { libc::mmap(at, page, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0) };
    if got == libc::MAP_FAILED {
        return pass_on(signal, info, context);
    }
    range.lost.fetch_add(1, Ordering::AcqRel);
}

/// Does what would have been done without our handler.
fn pass_on(signal: i32, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    let before = BEFORE.get().expect("known before the handler is in place");
    match before.sa_sigaction {
        libc::SIG_DFL | libc::SIG_IGN => {
            // SAFETY: the system's own action; the access that is repeated ends the process.
            unsafe { libc::signal(signal, libc::SIG_DFL) };
        }
        handler if before.sa_flags & libc::SA_SIGINFO != 0 => {
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
