//! Streams of the C library: `fread` and `fwrite`, through a buffer in the process.
//!
//! With direct I/O the buffer of the stream has the length of a record and is aligned, so that the library reads and
//! writes whole records; otherwise it is the library's own.

use std::fs::File;
use std::io;
use std::os::fd::IntoRawFd;
use std::ptr::NonNull;

use crate::passes::data::PassData;
use crate::passes::error::RecordFailed;
use crate::passes::form::{Form, RecordBuffers};

/// The number of buffers that a stream needs: one for the program and one for itself.
pub(crate) const BUFFERS: u32 = 2;

/// A file that is open as a stream.
pub(crate) struct FileStream {
    stream: OpenStream,
    // Freed after the stream is closed, which may use one.
    buffers: RecordBuffers,
    /// The position of the stream.
    position: u64,
}

/// A stream, which is closed when it is dropped.
struct OpenStream(NonNull<libc::FILE>);

impl FileStream {
    /// Opens a stream on `file`, for reading or for writing.
    ///
    /// # Errors
    /// There is no memory for one.
    pub(crate) fn new(
        file: File,
        is_only_read: bool,
        is_direct: bool,
        buffers: RecordBuffers,
    ) -> io::Result<Self> {
        let mode = if is_only_read { c"r" } else { c"w" };
        let descriptor = file.into_raw_fd();
        // SAFETY: an open descriptor, which the stream owns from now on, and a text that ends with a zero.
        let stream = unsafe { libc::fdopen(descriptor, mode.as_ptr()) };
        let Some(stream) = NonNull::new(stream) else {
            let error = io::Error::last_os_error();
            // SAFETY: no stream was made, so the descriptor is still ours, and nothing else has it.
            unsafe { libc::close(descriptor) };
            return Err(error);
        };
        let stream = Self { stream: OpenStream(stream), buffers, position: 0 };
        if is_direct {
            let len = stream.buffers.len;
            let offset = stream.buffers.area.layout().slot(1);
            let buffer = stream.buffers.area.address(offset, len);
            // SAFETY: nothing was done with the stream yet. The buffer has `len` bytes, nothing else uses it, and it
            // is freed after the stream is closed.
            let set = unsafe {
                libc::setvbuf(stream.stream.0.as_ptr(), buffer.cast(), libc::_IOFBF, len)
            };
            if set != 0 {
                return Err(io::Error::last_os_error());
            }
        }
        Ok(stream)
    }

    fn seek_to(&mut self, at: u64) -> io::Result<()> {
        if self.position == at {
            return Ok(());
        }
        // SAFETY: an open stream.
        let result =
            unsafe { libc::fseeko(self.stream.0.as_ptr(), at.cast_signed(), libc::SEEK_SET) };
        if result != 0 {
            return Err(io::Error::last_os_error());
        }
        self.position = at;
        Ok(())
    }
}

impl Form for FileStream {
    #[inline]
    fn read(&mut self, at: u64, data: &mut PassData) -> Result<(), RecordFailed> {
        let failed = |source| RecordFailed::Call { doing: "fread", at, source };
        self.seek_to(at).map_err(failed)?;
        let bytes = self.buffers.bytes(0);
        // SAFETY: an open stream, and as many bytes of our own.
        let count = unsafe {
            libc::fread(bytes.as_mut_ptr().cast(), 1, bytes.len(), self.stream.0.as_ptr())
        };
        if count < bytes.len() {
            let error = io::Error::last_os_error();
            // SAFETY: an open stream.
            let at_end = unsafe { libc::feof(self.stream.0.as_ptr()) } != 0;
            return Err(failed(if at_end { io::ErrorKind::UnexpectedEof.into() } else { error }));
        }
        self.position += count as u64;
        Ok(data.check(at, bytes)?)
    }

    #[inline]
    fn write(&mut self, at: u64, data: &mut PassData) -> Result<(), RecordFailed> {
        let failed = |source| RecordFailed::Call { doing: "fwrite", at, source };
        self.seek_to(at).map_err(failed)?;
        let bytes = self.buffers.bytes(0);
        data.prepare(at, bytes);
        // SAFETY: an open stream, and as many bytes of our own.
        let count =
            unsafe { libc::fwrite(bytes.as_ptr().cast(), 1, bytes.len(), self.stream.0.as_ptr()) };
        if count < bytes.len() {
            return Err(failed(io::Error::last_os_error()));
        }
        self.position += count as u64;
        Ok(())
    }

    fn settle(&mut self, _: &mut PassData) -> Result<(), RecordFailed> {
        // SAFETY: an open stream.
        if unsafe { libc::fflush(self.stream.0.as_ptr()) } == 0 {
            return Ok(());
        }
        let (at, source) = (self.position, io::Error::last_os_error());
        Err(RecordFailed::Call { doing: "fflush", at, source })
    }

    fn flush(&mut self) -> io::Result<()> {
        // SAFETY: an open stream, which has a descriptor.
        let synced = unsafe { libc::fsync(libc::fileno(self.stream.0.as_ptr())) };
        if synced == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }
}

impl Drop for OpenStream {
    fn drop(&mut self) {
        // SAFETY: an open stream, which nothing uses afterwards. What it held was written by `settle`, which reported
        // errors.
        unsafe { libc::fclose(self.0.as_ptr()) };
    }
}
