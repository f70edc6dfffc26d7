//! The functions of `penstock_gate.h`, which documents them.
#![expect(unsafe_code, reason = "pointers come from the caller, and names are exported")]

use std::ffi::{CStr, c_char, c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;

use penstock_run::gate::Submission;

use super::errors::CallError;
use super::handle::Handle;
use super::memory::{Buffer, allocated, bytes, put_text, set_errno, text};

/// A completed request, as `pg_done`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct PgDone {
    pub(crate) token: u64,
    pub(crate) bytes: u64,
    pub(crate) error: c_int,
}

/// The one flag of a write.
const SYNC: c_int = 1;

const VERSION: &CStr =
    match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
        Ok(version) => version,
        Err(_) => panic!("a version has no zero byte"),
    };

/// Calls `work` with the gate. If it fails, the error is that of this thread, and `failed` is returned.
///
/// # Safety
/// `gate` is null, or was returned by `pg_open` and not closed.
unsafe fn call<T>(
    gate: *const Handle,
    failed: T,
    work: impl FnOnce(&Handle) -> Result<T, CallError>,
) -> T {
    // SAFETY: the caller promises that it points to an open gate, of which there are only shared
    // references.
    let Some(handle) = (unsafe { gate.as_ref() }) else {
        set_errno(libc::EINVAL);
        return failed;
    };
    let checked = || handle.check_process().and_then(|()| work(handle));
    let error = match catch_unwind(AssertUnwindSafe(checked)) {
        Ok(Ok(value)) => return value,
        Ok(Err(error)) => error,
        Err(_) => CallError::panicked(),
    };
    let errno = error.errno;
    handle.keep(error);
    set_errno(errno);
    failed
}

/// Returns the version of the library.
#[unsafe(no_mangle)]
pub extern "C" fn pg_version() -> *const c_char {
    VERSION.as_ptr()
}

/// Opens a gate.
///
/// # Safety
/// `options` is a text; `message` has `size` bytes, or is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pg_open(
    options: *const c_char,
    message: *mut c_char,
    size: usize,
) -> *mut Handle {
    let open = || {
        // SAFETY: the caller promises a text.
        let options = unsafe { text("options", options) }?;
        Handle::open(options.ok_or_else(|| CallError::null("options"))?)
    };
    let error = match catch_unwind(open) {
        Ok(Ok(handle)) => return Box::into_raw(Box::new(handle)),
        Ok(Err(error)) => error,
        Err(_) => CallError::panicked(),
    };
    // SAFETY: the caller promises that there are so many bytes.
    unsafe { put_text(&error.text, message, size) };
    set_errno(error.errno);
    ptr::null_mut()
}

/// Ends a gate, whose handle stays.
///
/// # Safety
/// `gate` is open.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pg_shutdown(gate: *mut Handle) -> c_int {
    let shut = |handle: &Handle| {
        handle.gate.close();
        Ok(0)
    };
    // SAFETY: the caller promises that the gate is open.
    unsafe { call(gate, -1, shut) }
}

/// Ends a gate and frees it.
///
/// # Safety
/// `gate` is null, or open and used by no other thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pg_close(gate: *mut Handle) {
    if !gate.is_null() {
        // SAFETY: it came from a box, and the caller promises that it is not used any more.
        let handle = unsafe { Box::from_raw(gate) };
        let _ = catch_unwind(AssertUnwindSafe(|| drop(handle)));
    }
}

/// Reads, and waits for the bytes.
///
/// # Safety
/// `gate` is open, `class_name` a text or null, and `buffer` has `len` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pg_read(
    gate: *mut Handle,
    class_name: *const c_char,
    file: u32,
    offset: u64,
    buffer: *mut c_void,
    len: usize,
) -> isize {
    let read = |handle: &Handle| {
        let buffer = Buffer::new(buffer, len)?;
        // SAFETY: the caller promises a text.
        let class = unsafe { text("the class", class_name) }?;
        let read = handle.gate.of_class(class).read(file, offset, len)?;
        // SAFETY: the caller promises that the buffer is there during the call.
        Ok(unsafe { buffer.fill(&read) }.cast_signed())
    };
    // SAFETY: the caller promises that the gate is open.
    unsafe { call(gate, -1, read) }
}

/// Writes, and waits until it is done.
///
/// # Safety
/// `gate` is open, `class_name` a text or null, and `data` has `len` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pg_write(
    gate: *mut Handle,
    class_name: *const c_char,
    file: u32,
    offset: u64,
    data: *const c_void,
    len: usize,
    flags: c_int,
) -> c_int {
    let write = |handle: &Handle| {
        let sync = is_sync(flags)?;
        // SAFETY: the caller promises a text, and so many bytes, during the call.
        let (class, data) = unsafe { (text("the class", class_name)?, bytes(data, len)?) };
        handle.gate.of_class(class).write(file, offset, data, sync)?;
        Ok(0)
    };
    // SAFETY: the caller promises that the gate is open.
    unsafe { call(gate, -1, write) }
}

/// Flushes, and waits until it is done.
///
/// # Safety
/// `gate` is open, and `class_name` a text or null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pg_sync(gate: *mut Handle, class_name: *const c_char, file: u32) -> c_int {
    let sync = |handle: &Handle| {
        // SAFETY: the caller promises a text.
        let class = unsafe { text("the class", class_name) }?;
        handle.gate.of_class(class).flush(file)?;
        Ok(0)
    };
    // SAFETY: the caller promises that the gate is open.
    unsafe { call(gate, -1, sync) }
}

/// Submits a read.
///
/// # Safety
/// `gate` is open, `class_name` a text or null, and `buffer` has `len` bytes until `pg_poll` has returned
/// the completion or the gate is closed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pg_submit_read(
    gate: *mut Handle,
    class_name: *const c_char,
    file: u32,
    offset: u64,
    buffer: *mut c_void,
    len: usize,
    token: u64,
) -> c_int {
    let read = |handle: &Handle| {
        let buffer = Buffer::new(buffer, len)?;
        // SAFETY: the caller promises a text.
        let class = unsafe { text("the class", class_name) }?;
        handle.submit(class, (file, offset), Submission::Read(len), Some(buffer), token)
    };
    // SAFETY: the caller promises that the gate is open.
    unsafe { call(gate, -1, read) }
}

/// Submits a write.
///
/// # Safety
/// `gate` is open, `class_name` a text or null, and `data` has `len` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pg_submit_write(
    gate: *mut Handle,
    class_name: *const c_char,
    file: u32,
    offset: u64,
    data: *const c_void,
    len: usize,
    flags: c_int,
    token: u64,
) -> c_int {
    let write = |handle: &Handle| {
        let sync = is_sync(flags)?;
        // SAFETY: the caller promises a text, and so many bytes, during the call.
        let (class, data) = unsafe { (text("the class", class_name)?, bytes(data, len)?) };
        let write = if sync { Submission::WriteSync(data) } else { Submission::Write(data) };
        handle.submit(class, (file, offset), write, None, token)
    };
    // SAFETY: the caller promises that the gate is open.
    unsafe { call(gate, -1, write) }
}

/// Submits a flush.
///
/// # Safety
/// `gate` is open, and `class_name` a text or null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pg_submit_sync(
    gate: *mut Handle,
    class_name: *const c_char,
    file: u32,
    token: u64,
) -> c_int {
    let sync = |handle: &Handle| {
        // SAFETY: the caller promises a text.
        let class = unsafe { text("the class", class_name) }?;
        handle.submit(class, (file, 0), Submission::Flush, None, token)
    };
    // SAFETY: the caller promises that the gate is open.
    unsafe { call(gate, -1, sync) }
}

/// Takes completions.
///
/// # Safety
/// `gate` is open, `done` has room for `most` of them, and the buffers of submitted reads are there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pg_poll(gate: *mut Handle, done: *mut PgDone, most: c_int) -> c_int {
    let poll = |handle: &Handle| {
        let room = usize::try_from(most).ok().filter(|_| !done.is_null());
        let room = room.ok_or_else(|| CallError::invalid("found no room for completions"))?;
        let mut count = 0;
        for completion in handle.take(room) {
            let mut taken = PgDone { token: completion.token, bytes: 0, error: 0 };
            match completion.result {
                Ok(bytes) => {
                    taken.bytes = bytes.len() as u64;
                    if let Some(buffer) = completion.buffer {
                        // SAFETY: the caller of `pg_submit_read` promises that the buffer is still there.
                        unsafe { buffer.fill(&bytes) };
                    }
                }
                Err(error) => {
                    let error = CallError::from(error);
                    (taken.bytes, taken.error) = (error.done, error.errno);
                    handle.keep(error);
                }
            }
            // SAFETY: there are at most `most` completions, for which the caller promises room.
            unsafe { done.add(count).write(taken) };
            count += 1;
        }
        Ok(c_int::try_from(count).unwrap_or(most))
    };
    // SAFETY: the caller promises that the gate is open.
    unsafe { call(gate, -1, poll) }
}

/// Returns the eventfd.
///
/// # Safety
/// `gate` is open.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pg_event_fd(gate: *mut Handle) -> c_int {
    // SAFETY: the caller promises that the gate is open.
    unsafe { call(gate, -1, |handle| Ok(handle.event_fd())) }
}

/// Returns the statistics as JSON.
///
/// # Safety
/// `gate` is open.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pg_stats(gate: *mut Handle) -> *mut c_char {
    let stats = |handle: &Handle| {
        let stats = handle.gate.stats()?;
        allocated(&serde_json::to_string(&stats).map_err(|error| CallError::defect(&error))?)
    };
    // SAFETY: the caller promises that the gate is open.
    unsafe { call(gate, ptr::null_mut(), stats) }
}

/// Returns the last error of this thread.
///
/// # Safety
/// `gate` is null or open; `text` has `size` bytes, or is null; `done` is writable, or null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pg_error(
    gate: *mut Handle,
    text: *mut c_char,
    size: usize,
    done: *mut u64,
) -> c_int {
    // SAFETY: the caller promises that the gate is null or open.
    let handle = unsafe { gate.as_ref() };
    let error = catch_unwind(AssertUnwindSafe(|| match handle {
        None => CallError::null("gate"),
        Some(handle) => handle.last_error(),
    }));
    let error = error.unwrap_or_else(|_| CallError::panicked());
    // SAFETY: the caller promises that there are so many bytes.
    unsafe { put_text(&error.text, text, size) };
    if !done.is_null() {
        // SAFETY: the caller promises that it is writable.
        unsafe { done.write(error.done) };
    }
    error.errno
}

/// Whether the flags of a write have [`SYNC`].
fn is_sync(flags: c_int) -> Result<bool, CallError> {
    match flags {
        0 => Ok(false),
        SYNC => Ok(true),
        _ => Err(CallError::invalid(&format!("found flags {flags}; expected 0 or PG_SYNC"))),
    }
}

#[cfg(test)]
mod tests;
