//! Lack of memory: the process prints an error and exits with code 1 instead of aborting.
//!
//! A caller of `try_reserve` gets an error and goes on, so the allocator cannot end the process: it only
//! notes the size that it could not allocate. Every other failed allocation ends in `abort`, which raises
//! SIGABRT on the same thread, and the handler reads the note. The standard library may allocate on its way
//! there, so the note is kept for a few more allocations. After those, the thread has gone on, and an abort
//! has another reason.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::mem::zeroed;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicU32, Ordering};

thread_local! {
    /// The largest recent allocation of the thread that failed, in bytes; 0 if there is none.
    static LACKS: Cell<usize> = const { Cell::new(0) };
    /// The number of allocations of the thread since then.
    static SINCE: Cell<u32> = const { Cell::new(0) };
}

/// The number of allocations for which the note is kept. The standard library makes one on its way to `abort` (Rust
/// 1.95), and a program that goes on soon makes more.
static NOTED_FOR: AtomicU32 = AtomicU32::new(16);

/// The number of allocations if the standard library prints a backtrace on its way to `abort`, which takes about 100,000.
const NOTED_FOR_WITH_BACKTRACE: u32 = 10_000_000;

/// The exit code of a failed run.
const RUN_FAILED: libc::c_int = 1;

/// The system's allocator; it notes failed allocations.
#[derive(Debug)]
pub struct Noting;

/// Returns `allocation`, of `bytes` bytes, and notes it if it failed.
fn noted(allocation: *mut u8, bytes: usize) -> *mut u8 {
    if allocation.is_null() {
        LACKS.set(LACKS.get().max(bytes));
        SINCE.set(0);
    } else if LACKS.get() != 0 {
        SINCE.set(SINCE.get() + 1);
        if SINCE.get() > NOTED_FOR.load(Ordering::Relaxed) {
            LACKS.set(0);
        }
    }
    allocation
}

// SAFETY: every call goes to the system's allocator unchanged.
unsafe impl GlobalAlloc for Noting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise is passed on.
        noted(unsafe { System.alloc(layout) }, layout.size())
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise is passed on.
        noted(unsafe { System.alloc_zeroed(layout) }, layout.size())
    }

    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise is passed on.
        unsafe { System.dealloc(ptr, layout) }
    }

    unsafe fn realloc(&self, ptr: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller's promise is passed on.
        noted(unsafe { System.realloc(ptr, layout, size) }, size)
    }
}

/// Installs a handler of SIGABRT: from then on a process with the allocator [`Noting`] that runs out of
/// memory prints an error on stderr and exits with code 1. For commands; a library must not install
/// handlers of signals. Returns the hint of that error, for callers with an allocator of their own.
pub fn exit_without_memory() -> &'static str {
    if std::env::var_os("RUST_BACKTRACE").is_some_and(|value| value != "0") {
        NOTED_FOR.store(NOTED_FOR_WITH_BACKTRACE, Ordering::Relaxed);
    }
    // SAFETY: the handler calls what a handler may call, and the action is whole.
    unsafe {
        let mut action: libc::sigaction = zeroed();
        action.sa_sigaction = aborted as *const () as usize;
        libc::sigaction(libc::SIGABRT, &raw const action, null_mut());
    }
    HINT
}

/// The handler of SIGABRT.
extern "C" fn aborted(signal: libc::c_int) {
    let bytes = LACKS.get();
    if bytes == 0 {
        // Another reason: the default action follows when this handler returns.
        // SAFETY: both may be called in a handler, and the action is whole.
        unsafe {
            let usual: libc::sigaction = zeroed();
            libc::sigaction(signal, &raw const usual, null_mut());
            libc::raise(signal);
        }
        return;
    }
    let mut digits = [0; 20];
    for part in [
        &b"error: out of memory: asked for "[..],
        decimal(bytes, &mut digits),
        REST,
        HINT.as_bytes(),
        b"\n",
    ] {
        // SAFETY: `part` has this length, and `write` may be called in a handler.
        unsafe { libc::write(libc::STDERR_FILENO, part.as_ptr().cast(), part.len()) };
    }
    // SAFETY: it may be called in a handler.
    unsafe { libc::_exit(RUN_FAILED) }
}

/// The text after the number of bytes.
const REST: &[u8] = b" bytes more than this process may have\n";

/// The hint about memory.
const HINT: &str = "hint: let the run be shorter, the rates or `max_outstanding` lower, or use a \
                    machine with more memory";

/// Writes `number` in decimal to the end of `digits`, without an allocation. Returns the digits.
fn decimal(mut number: usize, digits: &mut [u8; 20]) -> &[u8] {
    let mut first = digits.len();
    loop {
        first -= 1;
        digits[first] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            return &digits[first..];
        }
    }
}

#[cfg(test)]
mod tests {
    use std::hint::black_box;

    use super::*;

    #[test]
    fn numbers_are_written_without_an_allocation() {
        for number in [0, 7, 10, 201_326_592, usize::MAX] {
            assert_eq!(decimal(number, &mut [0; 20]), number.to_string().as_bytes());
        }
    }

    /// Deallocations change nothing, nor do a few successful allocations.
    #[test]
    fn the_largest_failed_allocation_is_noted_for_a_while() {
        let layout = Layout::array::<u8>(isize::MAX as usize - 7).unwrap();
        let small = Layout::new::<u64>();
        // An optimised build removes an unused allocation; `black_box` uses it.
        // SAFETY: the layouts have a size, and what is given is given back.
        unsafe {
            let allocation = black_box(Noting.alloc(small));
            assert_eq!(LACKS.get(), 0);
            assert!(black_box(Noting.alloc(layout)).is_null());
            let lacking = Noting.realloc(allocation, small, isize::MAX as usize - 15);
            assert!(black_box(lacking).is_null());
            Noting.dealloc(allocation, small);
            for _ in 0..NOTED_FOR.load(Ordering::Relaxed) {
                assert_eq!(LACKS.get(), isize::MAX as usize - 7);
                let allocation = black_box(Noting.alloc(small));
                Noting.dealloc(allocation, small);
            }
            assert_eq!(LACKS.get(), isize::MAX as usize - 7);
            let allocation = black_box(Noting.alloc(small));
            assert_eq!(LACKS.get(), 0);
            Noting.dealloc(allocation, small);
        }
    }
}
