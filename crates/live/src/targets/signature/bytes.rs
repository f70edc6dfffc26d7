//! The content of a device, for the search for signatures.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// The content of a device. Nearly all marks are at its ends, which are read in advance.
pub(super) struct Bytes<'a> {
    device: &'a File,
    pub(super) len: u64,
    head: Vec<u8>,
    tail: Vec<u8>,
}

/// Bytes of each end: Promise's firmware may have its block this far before the end.
const ENDS: u64 = 2 << 20;

impl<'a> Bytes<'a> {
    pub(super) fn new(device: &'a File, len: u64) -> io::Result<Self> {
        let mut bytes = Self { device, len, head: Vec::new(), tail: Vec::new() };
        let count = ENDS.min(len) as usize;
        bytes.head = bytes.at(0, count)?;
        bytes.tail = bytes.at(len - count as u64, count)?;
        Ok(bytes)
    }

    /// Returns `count` bytes from `offset`; none if they reach past the end.
    pub(super) fn at(&self, offset: u64, count: usize) -> io::Result<Vec<u8>> {
        let Some(end) = offset.checked_add(count as u64).filter(|&end| end <= self.len) else {
            return Ok(Vec::new());
        };
        let tail = self.len - self.tail.len() as u64;
        for (start, part) in [(0, &self.head), (tail, &self.tail)] {
            if offset >= start && end <= start + part.len() as u64 {
                let first = (offset - start) as usize;
                return Ok(part[first..first + count].to_vec());
            }
        }
        let mut bytes = vec![0; count];
        self.device.read_exact_at(&mut bytes, offset)?;
        Ok(bytes)
    }

    /// Returns `N` bytes from `offset`; `None` if they cannot be read.
    pub(super) fn array<const N: usize>(&self, offset: u64) -> Option<[u8; N]> {
        self.at(offset, N).ok()?.try_into().ok()
    }

    /// Returns the little-endian number of two bytes at `offset`.
    pub(super) fn u16(&self, offset: u64) -> Option<u16> {
        self.array(offset).map(u16::from_le_bytes)
    }

    /// Returns the big-endian number of two bytes at `offset`.
    pub(super) fn u16_be(&self, offset: u64) -> Option<u16> {
        self.array(offset).map(u16::from_be_bytes)
    }

    /// Returns the little-endian number of four bytes at `offset`.
    pub(super) fn u32(&self, offset: u64) -> Option<u32> {
        self.array(offset).map(u32::from_le_bytes)
    }

    /// Returns the big-endian number of four bytes at `offset`.
    pub(super) fn u32_be(&self, offset: u64) -> Option<u32> {
        self.array(offset).map(u32::from_be_bytes)
    }

    /// Returns whether the number of two bytes at `offset`, in one of the byte orders, is at most `max`.
    pub(super) fn is_small(&self, offset: u64, max: u16) -> bool {
        let both = [self.u16(offset), self.u16_be(offset)];
        both.into_iter().flatten().any(|number| number <= max)
    }
}
