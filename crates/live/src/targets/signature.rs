//! Signatures of formats on a block device: marks at fixed places.
//!
//! Use it to find out that a device holds something before it is written over. The tables follow the
//! published descriptions of the formats. A short mark counts only if the bytes around it are plausible, so
//! that data of a run is not taken for a file system; with longer marks a false alarm is practically
//! impossible. The system's own libblkid is asked as well (`blkid`).
//!
//! Invariant: nothing is written.

mod blkid;
mod bytes;
mod file_systems;
mod format;
mod labels;
mod volumes;

use std::fs::File;
use std::io;

pub(crate) use self::blkid::ask;
use self::bytes::Bytes;
use self::file_systems::FILE_SYSTEMS;
use self::format::Format;
use self::labels::LABELS;
use self::volumes::VOLUMES;

/// A format found on a device.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Signature {
    /// The name of its format.
    pub(crate) name: &'static str,
    /// First byte of the mark on the device.
    pub(crate) offset: u64,
}

/// Returns all formats. Partition tables come after file systems whose first sector looks like one.
fn formats() -> impl Iterator<Item = &'static Format> {
    [FILE_SYSTEMS, VOLUMES, LABELS].into_iter().flatten()
}

/// Returns the first format of the tables on `device`, which has `len` bytes.
///
/// # Errors
/// The device cannot be read.
pub(crate) fn find(device: &File, len: u64) -> io::Result<Option<Signature>> {
    let bytes = Bytes::new(device, len)?;
    for format in formats() {
        for offset in format.places.iter().flat_map(|place| place.offsets(len)) {
            for magic in format.magics {
                if bytes.at(offset, magic.len())? == *magic && (format.plausible)(&bytes, offset) {
                    return Ok(Some(Signature { name: format.name, offset }));
                }
            }
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests;
