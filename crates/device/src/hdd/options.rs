//! The parts of a drive that are simulated.

use penstock_core::Span;

use super::bus::{BusProtocol, BusTimes};
use super::drive::{Cache, CommandOverheads};

/// The electronics of a drive that are simulated.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Options {
    /// Command overheads.
    pub overheads: Overheads,
    /// The bus that sectors must pass.
    pub bus: Bus,
    /// Time after a completion in which the drive takes no command. It belongs to no service: the
    /// bus or the host is working.
    pub turnaround: Span,
    /// The simulated cache, if any: [`Drive::cache`](super::Drive::cache) or another one.
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
    /// No overheads.
    None,
    /// The overheads of the drive's facts.
    #[default]
    Drive,
    /// Every command has this overhead.
    Constant(Span),
}

/// The bus between the drive and its host.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Bus {
    /// A bus that takes no time.
    None,
    /// The bus of the drive's facts; no time if they have none.
    #[default]
    Drive,
    /// A bus with these rates in bytes a second.
    Rates {
        /// Rate from the drive to the host.
        read: u64,
        /// Rate from the host to the drive.
        write: u64,
    },
}

impl Bus {
    /// Returns the times of a sector; `drive` has those of the facts.
    pub(super) fn times(self, drive: Option<BusTimes>) -> BusTimes {
        match self {
            Self::None => BusTimes::NONE,
            Self::Drive => drive.unwrap_or(BusTimes::NONE),
            Self::Rates { read, write } => BusTimes::from_rates(read, write),
        }
    }
}

impl Overheads {
    /// Returns the costs of commands on the bus; `drive` has those of the facts.
    pub(super) fn protocol(self, drive: &BusProtocol) -> BusProtocol {
        if self == Self::Drive { *drive } else { BusProtocol::NONE }
    }

    /// Returns nanoseconds, `[write][after a write]`; `drive` has the overheads of the facts.
    pub(super) fn table(self, drive: &CommandOverheads) -> [[u64; 2]; 2] {
        let overheads = match self {
            Self::None => CommandOverheads::default(),
            Self::Drive => *drive,
            Self::Constant(overhead) => CommandOverheads::constant(overhead),
        };
        [
            [overheads.read_after_read.ns(), overheads.read_after_write.ns()],
            [overheads.write_after_read.ns(), overheads.write_after_write.ns()],
        ]
    }
}
