//! The declaration of a format: its marks, and their places.

use super::bytes::Bytes;

/// The place of a mark, in bytes.
#[derive(Clone, Copy)]
pub(super) enum Place {
    /// This far after the start.
    Start(u64),
    /// This far before the end.
    End(u64),
    /// `back` before the end, rounded down to a multiple of `step`, plus `plus`.
    Aligned { back: u64, step: u64, plus: u64 },
    /// At the start of any of this many first sectors.
    Head(u64),
    /// At the start of any of this many last sectors.
    Tail(u64),
    /// In any of the 128 slots of the ring in each of ZFS's four labels.
    Ring,
}

/// A format: its name, the possible places of its marks, and the marks.
pub(super) struct Format {
    pub(super) name: &'static str,
    pub(super) places: &'static [Place],
    pub(super) magics: &'static [&'static [u8]],
    /// Returns whether the bytes around a short mark at an offset look like the format.
    pub(super) plausible: fn(&Bytes<'_>, u64) -> bool,
}

pub(super) const fn format(
    name: &'static str,
    places: &'static [Place],
    magics: &'static [&'static [u8]],
) -> Format {
    Format { name, places, magics, plausible: |_, _| true }
}

/// The size of a sector in bytes, the unit of most formats.
pub(super) const SECTOR: u64 = 512;

/// The size of each of ZFS's four labels in bytes: two are at the start, two at the end.
const LABEL: u64 = 256 << 10;
/// The offset of the ring in a label, and the size of a slot in bytes.
const RING: u64 = 128 << 10;
const SLOT: u64 = 1 << 10;

impl Place {
    /// Returns the offsets of this place on a device of `len` bytes; none if the device is too small.
    pub(super) fn offsets(self, len: u64) -> Vec<u64> {
        let at_most_one = |offset: Option<u64>| offset.into_iter().collect();
        match self {
            Self::Start(offset) => vec![offset],
            Self::End(back) => at_most_one(len.checked_sub(back)),
            Self::Aligned { back, step, plus } => {
                at_most_one(len.checked_sub(back).map(|offset| offset / step * step + plus))
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
