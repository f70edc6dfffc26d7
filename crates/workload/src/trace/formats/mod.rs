//! The formats of traces, a file each, and the list of them.

mod alibaba;
mod biosnoop;
mod blkparse;
mod blktrace;
mod csv;
mod disksim;
mod fio_iolog;
mod fiu;
mod iosnoop;
mod measured;
mod mqsim;
mod msr;
pub(super) mod ptrace;
mod spc;
mod systor;
mod tencent;
mod vscsi;

use super::error::TraceError;
use super::format::Format;
use super::input::Input;
use super::recording::Trace;

/// All formats.
pub static FORMATS: &[Format] = &[
    biosnoop::FORMAT,
    blkparse::FORMAT,
    blktrace::FORMAT,
    csv::FORMAT,
    disksim::FORMAT,
    fio_iolog::FORMAT_2,
    fio_iolog::FORMAT_3,
    iosnoop::FORMAT,
    measured::FORMAT,
    mqsim::FORMAT,
    ptrace::FORMAT,
    vscsi::FORMAT_1,
    vscsi::FORMAT_2,
    // Formats of published traces.
    alibaba::FORMAT,
    fiu::FORMAT,
    msr::FORMAT,
    spc::FORMAT,
    systor::FORMAT,
    tencent::FORMAT,
];

/// Returns the format named `name`.
pub fn format(name: &str) -> Option<&'static Format> {
    FORMATS.iter().find(|format| format.name == name)
}

/// Reads a trace from memory.
///
/// # Errors
/// As [`read`](super::read).
pub fn parse(text: &[u8], format: &Format) -> Result<Trace, TraceError> {
    (format.read)(&mut Input::new(text)?)
}
