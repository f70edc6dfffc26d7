//! Writes the bytes of a target one after the other, through the page cache.
//!
//! Use it for data that a run reads later and whose writing is not measured. Nothing behind the last byte
//! of the target, or of its view, is written. A direct read that follows sees what was written.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileExt;

/// Writes a target from its first byte on.
#[derive(Debug)]
pub struct TargetWriter {
    /// Through the page cache any number of bytes may be written at any place.
    file: File,
    at: u64,
    end: u64,
}

impl TargetWriter {
    /// Bytes `start` to `end` of `file`.
    pub(super) const fn new(file: File, start: u64, end: u64) -> Self {
        Self { file, at: start, end }
    }
}

impl Write for TargetWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let len = (self.end - self.at).min(bytes.len() as u64);
        let written = self.file.write_at(&bytes[..len as usize], self.at)?;
        self.at += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
