//! Copies from and to the pages of a mapped file.
//!
//! A page that the kernel cannot provide is an error of the record, not the end of the process: see
//! [`faults`](crate::engine::faults).

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;

use rustix::mm::Advice;
use rustix::param::page_size;

use crate::engine::error::EngineError;
use crate::engine::mapped::{MappedFile, ToMap};
use crate::passes::data::PassData;
use crate::passes::error::RecordFailed;
use crate::passes::form::{Form, RecordBuffers};

/// Bytes that are flushed by one call.
const WINDOW: u64 = 1 << 30;

/// A mapped file from which records are copied, and to which.
pub(crate) struct MappedCopies {
    mapped: MappedFile,
    buffers: RecordBuffers,
    /// The part of the file that is used.
    start: u64,
    end: u64,
}

impl MappedCopies {
    /// Maps `file`, which is open for reading only or not, up to byte `end`. Records lie from byte `start` on.
    ///
    /// # Errors
    /// It cannot be mapped.
    pub(crate) fn new(
        path: &Path,
        file: File,
        (start, end): (u64, u64),
        is_only_read: bool,
        buffers: RecordBuffers,
    ) -> Result<Self, EngineError> {
        let target = ToMap { path, len: end, is_only_read };
        let mapped = MappedFile::new(&target, &Arc::new(file), Advice::Normal, page_size())?;
        Ok(Self { mapped, buffers, start, end })
    }
}

/// Returns an error if `result` is a negated error number.
#[inline]
fn checked(result: i32) -> io::Result<()> {
    if result < 0 { Err(io::Error::from_raw_os_error(-result)) } else { Ok(()) }
}

impl Form for MappedCopies {
    #[inline]
    fn read(&mut self, at: u64, data: &mut PassData) -> Result<(), RecordFailed> {
        let bytes = self.buffers.bytes(0);
        let copied = checked(self.mapped.read(at, bytes));
        copied.map_err(|source| RecordFailed::Call { doing: "copy", at, source })?;
        Ok(data.check(at, bytes)?)
    }

    #[inline]
    fn write(&mut self, at: u64, data: &mut PassData) -> Result<(), RecordFailed> {
        let bytes = self.buffers.bytes(0);
        data.prepare(at, bytes);
        let copied = checked(self.mapped.write(at, bytes));
        copied.map_err(|source| RecordFailed::Call { doing: "copy", at, source })
    }

    fn flush(&mut self) -> io::Result<()> {
        let mut at = self.start;
        while at < self.end {
            let len = (self.end - at).min(WINDOW);
            checked(self.mapped.synced(at, len as u32))?;
            at += len;
        }
        Ok(())
    }
}
