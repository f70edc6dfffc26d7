//! Converts numbers of the facts of drives.

use penstock_core::Span;
use penstock_device::hdd::ReadAhead;

/// Returns the read-ahead that has this number in the facts.
pub(super) fn read_ahead(number: u8) -> ReadAhead {
    match number {
        0 => ReadAhead::None,
        1 => ReadAhead::Track,
        2 => ReadAhead::Cylinder,
        3 => ReadAhead::Segment,
        4 => ReadAhead::Stream,
        other => panic!("no way to read ahead has the number {other}"),
    }
}

/// Converts a share to percent.
pub(super) fn percent(share: f64) -> u32 {
    (share * 100.0).round() as u32
}

/// Converts milliseconds to the nearest nanosecond.
pub(super) fn ms(ms: f64) -> Span {
    Span::from_ns((ms * 1e6).round() as u64)
}
