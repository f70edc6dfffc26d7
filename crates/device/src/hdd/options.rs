//! Which parts of a drive take part in a run.

use penstock_core::Span;

use super::drive::{Cache, CommandOverheads};

/// Which of a drive's electronics take part.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Options {
    /// Time to decode a command.
    pub overheads: Overheads,
    /// Whether sectors must also pass the bus.
    pub bus: Bus,
    /// Time that the drive needs after a completion before it takes up the next command.
    pub turnaround: Span,
    /// The cache that takes part, if any: [`Drive::cache`](super::Drive::cache) or another one.
    pub cache: Option<Cache>,
}

impl Options {
    /// Arm and platter alone.
    pub const MECHANICAL: Self =
        Self { overheads: Overheads::None, bus: Bus::None, turnaround: Span::ZERO, cache: None };
}

/// Command overheads.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Overheads {
    /// None.
    None,
    /// As the drive's facts say.
    #[default]
    Drive,
    /// The same for every command.
    Constant(Span),
}

/// The way between the drive and its host.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Bus {
    /// It takes no time.
    None,
    /// As the drive's facts say.
    #[default]
    Drive,
}

impl Overheads {
    /// Nanoseconds, `[write][after a write]`, if the facts say `drive`.
    pub(super) fn table(self, drive: &CommandOverheads) -> [[u64; 2]; 2] {
        let of = match self {
            Self::None => CommandOverheads::default(),
            Self::Drive => *drive,
            Self::Constant(overhead) => CommandOverheads::constant(overhead),
        };
        [
            [of.read_after_read.ns(), of.read_after_write.ns()],
            [of.write_after_read.ns(), of.write_after_write.ns()],
        ]
    }
}
