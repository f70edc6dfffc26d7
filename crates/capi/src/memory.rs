//! Memory of the caller, and `errno`.
#![expect(unsafe_code, reason = "pointers come from the caller")]

use std::ffi::{CStr, c_char, c_int, c_void};
use std::{ptr, slice};

use super::errors::CallError;

/// Sets `errno` of this thread.
pub(crate) fn set_errno(errno: c_int) {
    // SAFETY: the C library returns a pointer to this thread's number.
    unsafe { *libc::__errno_location() = errno };
}

/// Returns the text at `from`, which is `what` in messages; `None` for a null pointer.
///
/// # Safety
/// `from` is null, or points to bytes that end with a zero and stay for `'a`.
pub(crate) unsafe fn text<'a>(
    what: &str,
    from: *const c_char,
) -> Result<Option<&'a str>, CallError> {
    if from.is_null() {
        return Ok(None);
    }
    // SAFETY: the caller promises it.
    let text = unsafe { CStr::from_ptr(from) }.to_str();
    text.map(Some).map_err(|error| CallError::invalid(&format!("{what}: no UTF-8: {error}")))
}

/// Returns the `len` bytes at `from`.
///
/// # Safety
/// They are there for `'a`, if `len` is not 0.
pub(crate) unsafe fn bytes<'a>(from: *const c_void, len: usize) -> Result<&'a [u8], CallError> {
    check(from, len)?;
    if len == 0 {
        return Ok(&[]);
    }
    // SAFETY: the caller promises it, and the length was checked.
    Ok(unsafe { slice::from_raw_parts(from.cast(), len) })
}

/// Checks that `len` bytes may be at `at`.
fn check(at: *const c_void, len: usize) -> Result<(), CallError> {
    if at.is_null() && len > 0 {
        return Err(CallError::null(&format!("{len} bytes")));
    }
    if isize::try_from(len).is_err() {
        return Err(CallError::invalid(&format!("found {len} bytes; memory has fewer")));
    }
    Ok(())
}

/// A buffer of the caller.
pub(crate) struct Buffer {
    to: *mut u8,
    len: usize,
}

// SAFETY: it is only written in `fill`, whose caller answers for it; other threads carry it.
unsafe impl Send for Buffer {}

impl Buffer {
    /// The `len` bytes at `to`.
    pub(crate) fn new(to: *mut c_void, len: usize) -> Result<Self, CallError> {
        check(to, len)?;
        Ok(Self { to: to.cast(), len })
    }

    /// Copies `bytes` to its begin, and returns how many.
    ///
    /// # Safety
    /// The buffer is still there, and nothing else uses it.
    pub(crate) unsafe fn fill(&self, bytes: &[u8]) -> usize {
        let len = bytes.len().min(self.len);
        if len > 0 {
            // SAFETY: the caller promises that the buffer is there; it is no memory of ours.
            unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), self.to, len) };
        }
        len
    }
}

/// Writes `text` and a zero to the `size` bytes at `to`, as much as fits.
///
/// # Safety
/// They are there, unless `to` is null.
pub(crate) unsafe fn put_text(text: &str, to: *mut c_char, size: usize) {
    if to.is_null() || size == 0 {
        return;
    }
    let len = text.floor_char_boundary(size - 1);
    // SAFETY: the caller promises `size` bytes, and `len` is less.
    unsafe {
        ptr::copy_nonoverlapping(text.as_ptr(), to.cast(), len);
        to.add(len).write(0);
    }
}

/// Returns a copy of `text` that C frees with `free`.
pub(crate) fn allocated(text: &str) -> Result<*mut c_char, CallError> {
    // SAFETY: any size may be asked for.
    let to: *mut c_char = unsafe { libc::malloc(text.len() + 1) }.cast();
    if to.is_null() {
        return Err(CallError::new(libc::ENOMEM, "no memory for the statistics"));
    }
    // SAFETY: it was allocated for the text and its end.
    unsafe { put_text(text, to, text.len() + 1) };
    Ok(to)
}
