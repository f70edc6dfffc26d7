//! The mark of an owned file: a block of 4096 bytes after the usable bytes.
//!
//! It is a trailer rather than an extended attribute, because data copied over a marked file removes it, and
//! every file system can store it. The file must have exactly the length in the mark, so a file that grew or
//! was cut is no longer ours.
//!
//! Layout, little-endian: 16 bytes of magic, format version (u32), kind of content (u32: 0 data of
//! runs, 1 an application's data), usable bytes (u64), zeros to the end. Versions without the second
//! kind wrote zero in its place, and refuse a file of that kind.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// The size of the mark in bytes.
pub(crate) const MARK: u64 = 4096;

/// The unit of usable sizes in bytes: no disk has larger sectors.
pub(crate) const GRAIN: u64 = 4096;

const MAGIC: &[u8; 16] = b"penstock owned\n\0";
const VERSION: u32 = 1;

/// The kind of content of an owned file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Holds {
    /// Data of runs: the next run writes over it.
    Filling,
    /// Data that an application wrote through a gate.
    Data,
}

/// The result of reading the end of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Found {
    /// Ours, with this many usable bytes.
    Ours { usable: u64, holds: Holds },
    /// No mark.
    Nothing,
    /// A mark of another version of the format.
    Version(u32),
    /// A mark that does not fit the file.
    Broken,
}

/// Returns the mark of a file of `usable` bytes with this kind of content.
fn block(usable: u64, holds: Holds) -> [u8; MARK as usize] {
    let mut block = [0; MARK as usize];
    block[..16].copy_from_slice(MAGIC);
    block[16..20].copy_from_slice(&VERSION.to_le_bytes());
    block[20] = u8::from(holds == Holds::Data);
    block[24..32].copy_from_slice(&usable.to_le_bytes());
    block
}

/// Writes the mark behind `usable` bytes of `file`, and makes it durable.
pub(crate) fn write(file: &File, usable: u64, holds: Holds) -> io::Result<()> {
    file.write_all_at(&block(usable, holds), usable)?;
    file.sync_all()
}

/// Reads the mark of `file`, which has `len` bytes.
pub(crate) fn read(file: &File, len: u64) -> io::Result<Found> {
    let Some(usable) = len.checked_sub(MARK) else { return Ok(Found::Nothing) };
    let mut bytes = [0; MARK as usize];
    match file.read_exact_at(&mut bytes, usable) {
        // The file was cut in between.
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(Found::Nothing),
        answer => answer?,
    }
    Ok(parse(&bytes, usable))
}

fn parse(bytes: &[u8; MARK as usize], usable: u64) -> Found {
    if bytes[..16] != *MAGIC {
        return Found::Nothing;
    }
    let version = u32::from_le_bytes([bytes[16], bytes[17], bytes[18], bytes[19]]);
    if version != VERSION {
        return Found::Version(version);
    }
    let kinds = [Holds::Filling, Holds::Data];
    match kinds.into_iter().find(|&holds| *bytes == block(usable, holds)) {
        Some(holds) if usable > 0 && usable.is_multiple_of(GRAIN) => Found::Ours { usable, holds },
        _ => Found::Broken,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_whole_mark_counts() {
        let good = block(8192, Holds::Filling);
        for holds in [Holds::Filling, Holds::Data] {
            assert_eq!(parse(&block(8192, holds), 8192), Found::Ours { usable: 8192, holds });
        }
        assert_eq!(parse(&good, 12288), Found::Broken, "grown by a block, mark copied along");
        assert_eq!(parse(&block(100, Holds::Filling), 100), Found::Broken, "not whole blocks");
        let changed = |at: usize| {
            let mut other = good;
            other[at] ^= 2;
            parse(&other, 8192)
        };
        assert_eq!(changed(3), Found::Nothing);
        assert_eq!(changed(16), Found::Version(3));
        assert_eq!(changed(20), Found::Broken, "a kind that there is not yet");
        assert_eq!(changed(25), Found::Broken);
        assert_eq!(changed(4095), Found::Broken, "nothing else may follow");
    }
}
