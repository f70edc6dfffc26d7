//! What a block device carries, found by the marks that formats put at fixed places.
//!
//! Use it to find out that a device holds something before it is written over. The tables are
//! written from the published descriptions of the formats. A mark of few bytes counts only with a
//! plausible surrounding, so that bytes which a run wrote are not taken for a file system; with
//! longer marks a false alarm is as good as impossible. What the system's own libblkid knows is
//! asked for as well (`blkid`).
//!
//! Invariant: nothing is written.

mod blkid;
mod file_systems;
mod labels;
mod volumes;

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

pub(crate) use self::blkid::ask;
use self::file_systems::FILE_SYSTEMS;
use self::labels::LABELS;
use self::volumes::VOLUMES;

/// A format found on a device.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Signature {
    /// What it is a mark of.
    pub(crate) name: &'static str,
    /// First byte of the mark on the device.
    pub(crate) offset: u64,
}

/// Where a mark lies, in bytes.
#[derive(Clone, Copy)]
enum Place {
    /// Behind the start.
    Start(u64),
    /// Before the end.
    End(u64),
    /// Before the end, then down to a multiple of `step`, then on by `plus`.
    Aligned { back: u64, step: u64, plus: u64 },
    /// At the start of any of the first so many sectors.
    Head(u64),
    /// At the start of any of the last so many sectors.
    Tail(u64),
    /// In any of the 128 slots of the ring in each of ZFS's four labels.
    Ring,
}

/// A format: what it is called, where its marks may lie, and what they are.
struct Format {
    name: &'static str,
    places: &'static [Place],
    magics: &'static [&'static [u8]],
    /// Whether the device around the mark at this place looks like it, where the mark is short.
    plausible: fn(&Bytes<'_>, u64) -> bool,
}

const fn format(
    name: &'static str,
    places: &'static [Place],
    magics: &'static [&'static [u8]],
) -> Format {
    Format { name, places, magics, plausible: |_, _| true }
}

/// Bytes of a sector, the unit in which formats count.
const SECTOR: u64 = 512;

/// Bytes of one of ZFS's labels; two at the start, two at the end.
const LABEL: u64 = 256 << 10;
/// Where the ring begins in a label, and bytes of a slot.
const RING: u64 = 128 << 10;
const SLOT: u64 = 1 << 10;

/// Everything that is looked for. Tables of partitions stand behind file systems whose first
/// sector looks like one.
fn formats() -> impl Iterator<Item = &'static Format> {
    [FILE_SYSTEMS, VOLUMES, LABELS].into_iter().flatten()
}

/// The first format of the tables that `device`, of `len` bytes, carries.
///
/// # Errors
/// It cannot be read.
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

impl Place {
    /// Where that is on a device of `len` bytes; nowhere if it is too small.
    fn offsets(self, len: u64) -> Vec<u64> {
        let one = |offset: Option<u64>| offset.into_iter().collect();
        match self {
            Self::Start(offset) => vec![offset],
            Self::End(back) => one(len.checked_sub(back)),
            Self::Aligned { back, step, plus } => {
                one(len.checked_sub(back).map(|offset| offset / step * step + plus))
            }
            Self::Head(sectors) => (0..sectors).map(|sector| sector * SECTOR).collect(),
            Self::Tail(sectors) => {
                (1..=sectors).filter_map(|sector| len.checked_sub(sector * SECTOR)).collect()
            }
            Self::Ring => {
                let end = len / LABEL * LABEL;
                let labels =
                    [Some(0), Some(LABEL), end.checked_sub(2 * LABEL), end.checked_sub(LABEL)];
                let slots = |label| (0..RING / SLOT).map(move |slot| label + RING + slot * SLOT);
                labels.into_iter().flatten().flat_map(slots).collect()
            }
        }
    }
}

/// The device as it is read. Nearly all marks lie at its ends, which are read at once.
struct Bytes<'a> {
    device: &'a File,
    len: u64,
    head: Vec<u8>,
    tail: Vec<u8>,
}

/// Bytes of each end: as many as Promise's firmware may have its block before the end.
const ENDS: u64 = 2 << 20;

impl<'a> Bytes<'a> {
    fn new(device: &'a File, len: u64) -> io::Result<Self> {
        let mut bytes = Self { device, len, head: Vec::new(), tail: Vec::new() };
        let count = ENDS.min(len) as usize;
        bytes.head = bytes.at(0, count)?;
        bytes.tail = bytes.at(len - count as u64, count)?;
        Ok(bytes)
    }

    /// `count` bytes from `offset`; none if they lie past the end.
    fn at(&self, offset: u64, count: usize) -> io::Result<Vec<u8>> {
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

    /// `N` bytes from `offset`; `None` if they cannot be read.
    fn array<const N: usize>(&self, offset: u64) -> Option<[u8; N]> {
        self.at(offset, N).ok()?.try_into().ok()
    }

    /// The number of two bytes at `offset`, the least first.
    fn u16(&self, offset: u64) -> Option<u16> {
        self.array(offset).map(u16::from_le_bytes)
    }

    /// The same with the greatest first.
    fn u16_be(&self, offset: u64) -> Option<u16> {
        self.array(offset).map(u16::from_be_bytes)
    }

    /// The number of four bytes at `offset`, the least first.
    fn u32(&self, offset: u64) -> Option<u32> {
        self.array(offset).map(u32::from_le_bytes)
    }

    /// The same with the greatest first.
    fn u32_be(&self, offset: u64) -> Option<u32> {
        self.array(offset).map(u32::from_be_bytes)
    }

    /// Whether a number of two bytes, whichever comes first, is `most` at most.
    fn is_small(&self, offset: u64, most: u16) -> bool {
        let both = [self.u16(offset), self.u16_be(offset)];
        both.into_iter().flatten().any(|number| number <= most)
    }
}

#[cfg(test)]
mod tests;
