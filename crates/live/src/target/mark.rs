//! The mark of an owned file: a block of 4096 bytes behind the usable ones.
//!
//! A trailer rather than an extended attribute: other data copied over a marked file takes the mark
//! away with it, and every file system can keep one. The file's length must be exactly what the
//! mark says, so a file that grew or was cut is no longer ours.
//!
//! Layout, little-endian: 16 bytes of magic, format version (u32), zero (u32), usable bytes (u64),
//! zeros to the end.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use rustix::fs::FileType;

use super::Target;

/// Bytes of the mark.
pub(crate) const MARK: u64 = 4096;

/// The usable size is a multiple of this: no disk has larger sectors than a page.
pub(crate) const GRAIN: u64 = 4096;

const MAGIC: &[u8; 16] = b"penstock owned\n\0";
const VERSION: u32 = 1;

/// What the end of a file says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Found {
    /// Ours, with this many usable bytes.
    Ours { usable: u64 },
    /// No mark.
    Nothing,
    /// A mark of another version of the format.
    Version(u32),
    /// A mark that does not fit the file.
    Broken,
}

/// The mark of a file of `usable` bytes.
fn block(usable: u64) -> [u8; MARK as usize] {
    let mut block = [0; MARK as usize];
    block[..16].copy_from_slice(MAGIC);
    block[16..20].copy_from_slice(&VERSION.to_le_bytes());
    block[24..32].copy_from_slice(&usable.to_le_bytes());
    block
}

/// Writes the mark behind `usable` bytes of `file`, and makes it durable.
pub(crate) fn write(file: &File, usable: u64) -> io::Result<()> {
    file.write_all_at(&block(usable), usable)?;
    file.sync_all()
}

impl Target {
    /// The length of the file and the one that it should have, if they differ. The mark is never
    /// written over, so a file that was cut stays too short whatever is written to it. What is only
    /// read may grow.
    pub(crate) fn resized(&self) -> Option<(u64, u64)> {
        // A file that cannot be asked for its length says so when it is read.
        let now = rustix::fs::fstat(self.file()).ok()?;
        let (found, expected) = (now.st_size.cast_unsigned(), self.inner.length);
        let file = FileType::from_raw_mode(now.st_mode).is_file();
        let grown = self.inner.lock.is_none() && found > expected;
        (file && found != expected && !grown).then_some((found, expected))
    }
}

/// Reads the mark of `file`, which has `len` bytes.
pub(crate) fn read(file: &File, len: u64) -> io::Result<Found> {
    let Some(usable) = len.checked_sub(MARK) else { return Ok(Found::Nothing) };
    let mut found = [0; MARK as usize];
    match file.read_exact_at(&mut found, usable) {
        // Cut since its length was asked for.
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(Found::Nothing),
        answer => answer?,
    }
    Ok(parse(&found, usable))
}

fn parse(found: &[u8; MARK as usize], usable: u64) -> Found {
    if found[..16] != *MAGIC {
        return Found::Nothing;
    }
    let version = u32::from_le_bytes([found[16], found[17], found[18], found[19]]);
    if version != VERSION {
        return Found::Version(version);
    }
    if *found != block(usable) || usable == 0 || !usable.is_multiple_of(GRAIN) {
        return Found::Broken;
    }
    Found::Ours { usable }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_whole_mark_counts() {
        let good = block(8192);
        assert_eq!(parse(&good, 8192), Found::Ours { usable: 8192 });
        assert_eq!(parse(&good, 12288), Found::Broken, "grown by a block, mark copied along");
        assert_eq!(parse(&block(100), 100), Found::Broken, "not whole blocks");
        let changed = |at: usize| {
            let mut other = good;
            other[at] ^= 1;
            parse(&other, 8192)
        };
        assert_eq!(changed(3), Found::Nothing);
        assert_eq!(changed(16), Found::Version(0));
        assert_eq!(changed(20), Found::Broken);
        assert_eq!(changed(25), Found::Broken);
        assert_eq!(changed(4095), Found::Broken, "nothing else may follow");
    }
}
