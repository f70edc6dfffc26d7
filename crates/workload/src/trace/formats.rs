//! The one list of formats.

use super::error::TraceError;
use super::format::Format;
use super::lines::Lines;
use super::record::Trace;
use super::{blkparse, disksim, fio_iolog, measured, mqsim, msr, spc};

/// All formats.
pub static FORMATS: &[Format] = &[
    blkparse::FORMAT,
    disksim::FORMAT,
    measured::FORMAT,
    mqsim::FORMAT,
    msr::FORMAT,
    spc::FORMAT,
    fio_iolog::FORMAT_2,
    fio_iolog::FORMAT_3,
];

/// The format named `name`.
pub fn format(name: &str) -> Option<&'static Format> {
    FORMATS.iter().find(|format| format.name == name)
}

/// Reads a trace that is in memory.
///
/// # Errors
/// As [`read`](super::read).
pub fn parse(text: &[u8], format: &Format) -> Result<Trace, TraceError> {
    (format.read)(&mut Lines::new(text)?)
}
