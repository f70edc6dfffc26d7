//! The memory of a process that serves a device: it must not wait for that device.
//!
//! The kernel frees memory by writing it to disks. A server that waits for memory which lies on its own device
//! would wait for itself. Source: mlockall(2) and `PR_SET_IO_FLUSHER` of prctl(2), which iSCSI and FUSE daemons
//! use for this.

use std::ffi::{c_int, c_ulong};
use std::io;

/// The kernel's number of the call, which libc lacks.
const PR_SET_IO_FLUSHER: c_int = 57;

/// Keeps the memory of this process from being paged out, and its requests for more from waiting for disks.
/// Threads that are started later have it from the calling one. Returns a remark for each right that is missing.
pub fn hold_memory() -> Vec<String> {
    let (on, none): (c_ulong, c_ulong) = (1, 0);
    // SAFETY: the call only sets a flag of the thread.
    let flushes = unsafe { libc::prctl(PR_SET_IO_FLUSHER, on, none, none, none) };
    let flushes = remark(flushes, "has to wait for disks when memory is short", "CAP_SYS_RESOURCE");
    // Pages that nothing has touched yet take no memory.
    let flags = libc::MCL_CURRENT | libc::MCL_FUTURE | libc::MCL_ONFAULT;
    // SAFETY: locking changes no memory.
    let locked = unsafe { libc::mlockall(flags) };
    let locked = remark(locked, "may be paged out", "CAP_IPC_LOCK");
    flushes.into_iter().chain(locked).collect()
}

fn remark(answer: c_int, what: &str, right: &str) -> Option<String> {
    let error = io::Error::last_os_error();
    (answer != 0).then(|| {
        format!(
            "the server's memory {what} ({error}; it takes {right}): leave some memory free, or what \
             it serves may stand still"
        )
    })
}
