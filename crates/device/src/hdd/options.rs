//! Which parts of a drive take part in a run.

use penstock_core::Span;

use super::bus::{BusProtocol, BusTimes};
use super::drive::{Cache, CommandOverheads};

/// Which of a drive's electronics take part.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Options {
    /// Time to decode a command.
    pub overheads: Overheads,
    /// Whether sectors must also pass the bus.
    pub bus: Bus,
    /// Time after a completion in which the drive takes no command. It is no part of any service:
    /// what works then is the bus or the host.
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
    /// As the drive's facts say; no time if they do not.
    #[default]
    Drive,
    /// At these rates, in bytes a second.
    Rates {
        /// From the drive to the host.
        read: u64,
        /// From the host to the drive.
        write: u64,
    },
}

impl Bus {
    /// The times of a sector, if the facts say `drive`.
    pub(super) fn times(self, drive: Option<BusTimes>) -> BusTimes {
        match self {
            Self::None => BusTimes::NONE,
            Self::Drive => drive.unwrap_or(BusTimes::NONE),
            Self::Rates { read, write } => BusTimes::of_rates(read, write),
        }
    }
}

impl Overheads {
    /// What a command costs on the bus in addition, if the facts say `drive`.
    pub(super) fn protocol(self, drive: &BusProtocol) -> BusProtocol {
        if self == Self::Drive { *drive } else { BusProtocol::NONE }
    }

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
