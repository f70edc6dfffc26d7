//! The bytes of a served device: in memory that is only reserved, or in a file.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use rustix::fs::{FallocateFlags, FlockOperation, MemfdFlags, fallocate, flock, memfd_create};
use rustix::io::Errno;

/// The bytes of a served device. Bytes that were never written are zeros and take no room.
#[derive(Debug)]
pub struct Store {
    file: File,
    len: u64,
}

impl Store {
    /// Creates a store of `len` bytes in memory.
    ///
    /// # Errors
    /// The system's error.
    pub fn in_memory(len: u64) -> io::Result<Self> {
        let file = File::from(memfd_create("penstock-served", MemfdFlags::CLOEXEC)?);
        file.set_len(len)?;
        Ok(Self { file, len })
    }

    /// Opens the file at `path`, or creates it, and locks it. A new file has `len` bytes, all zeros; an existing
    /// one must have as many.
    ///
    /// # Errors
    /// [`ResourceBusy`](io::ErrorKind::ResourceBusy) if another process serves it,
    /// [`InvalidInput`](io::ErrorKind::InvalidInput) if it has another length, or the system's error.
    pub fn in_file(path: &Path, len: u64) -> io::Result<Self> {
        let file =
            File::options().read(true).write(true).create(true).truncate(false).open(path)?;
        flock(&file, FlockOperation::NonBlockingLockExclusive).map_err(|errno| match errno {
            Errno::WOULDBLOCK => io::ErrorKind::ResourceBusy.into(),
            _ => io::Error::from(errno),
        })?;
        match file.metadata()?.len() {
            0 => file.set_len(len)?,
            found if found == len => {}
            found => {
                let error = format!("found {found} bytes; expected {len}, as the device has");
                return Err(io::Error::new(io::ErrorKind::InvalidInput, error));
            }
        }
        Ok(Self { file, len })
    }

    /// Returns its length in bytes.
    pub fn bytes(&self) -> u64 {
        self.len
    }

    /// Fills `bytes` from byte `start` on.
    ///
    /// # Errors
    /// The system's error, or a range past its end.
    pub fn read(&self, start: u64, bytes: &mut [u8]) -> io::Result<()> {
        self.file.read_exact_at(bytes, start)
    }

    /// Writes `bytes` from byte `start` on.
    ///
    /// # Errors
    /// The system's error, or a range past its end.
    pub fn write(&self, start: u64, bytes: &[u8]) -> io::Result<()> {
        if start.checked_add(bytes.len() as u64).is_none_or(|end| end > self.len) {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        self.file.write_all_at(bytes, start)
    }

    /// Makes `len` bytes from byte `start` on zeros, and gives their room back.
    ///
    /// # Errors
    /// The system's error.
    pub fn clear(&self, start: u64, len: u64) -> io::Result<()> {
        let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        Ok(fallocate(&self.file, flags, start, len)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_read_and_what_was_cleared_is_zeros() {
        let store = Store::in_memory(1 << 40).unwrap();
        let mut read = [7; 3];
        store.read((1 << 40) - 3, &mut read).unwrap();
        assert_eq!(read, [0; 3]);
        store.write(5, &[1, 2, 3]).unwrap();
        store.read(4, &mut read).unwrap();
        assert_eq!(read, [0, 1, 2]);
        store.clear(0, 4096).unwrap();
        store.read(5, &mut read).unwrap();
        assert_eq!(read, [0; 3]);
        assert!(store.write((1 << 40) - 2, &[1; 3]).is_err());
        assert!(store.read(u64::MAX, &mut read).is_err());
    }

    #[test]
    fn a_file_is_served_once_at_a_time_and_keeps_its_bytes() {
        let path = std::env::temp_dir().join(format!("penstock-store-{}", std::process::id()));
        let store = Store::in_file(&path, 8192).unwrap();
        store.write(4096, b"kept").unwrap();
        let second = Store::in_file(&path, 8192).unwrap_err();
        assert_eq!(second.kind(), io::ErrorKind::ResourceBusy);
        drop(store);
        let shorter = Store::in_file(&path, 4096).unwrap_err();
        assert_eq!(shorter.to_string(), "found 8192 bytes; expected 4096, as the device has");
        let mut read = [0; 4];
        Store::in_file(&path, 8192).unwrap().read(4096, &mut read).unwrap();
        assert_eq!(&read, b"kept");
        std::fs::remove_file(path).unwrap();
    }
}
