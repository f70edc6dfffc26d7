//! The facts of the bus: what a sector takes on it, and what it costs to connect to it.
//!
//! Nothing here computes anything. The rules are those of `DiskSim` 4.0's manual, by which the
//! drives were described (`buffer.rs` applies them). A drive decodes a command while it holds the
//! bus. It lets go of the bus while it has no data for it, and connects to it again
//! ("disconnect", "reselect").

use penstock_core::Span;

/// Time of one sector on the bus; zero if the bus is never the slower part.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BusTimes {
    /// From the drive to the host.
    pub read: Span,
    /// From the host to the drive.
    pub write: Span,
}

impl BusTimes {
    /// The bus takes no time.
    pub const NONE: Self = Self::same(Span::ZERO);

    /// The same time in both directions.
    pub const fn same(sector: Span) -> Self {
        Self { read: sector, write: sector }
    }

    /// Those of a bus that carries so many bytes a second.
    pub(super) fn of_rates(read: u64, write: u64) -> Self {
        let sector = |rate: u64| Span::from_ns(512 * 1_000_000_000 / rate.max(1));
        Self { read: sector(read), write: sector(write) }
    }

    /// Nanoseconds, `[write]`.
    pub(super) fn table(self) -> [u64; 2] {
        [self.read.ns(), self.write.ns()]
    }
}

/// What a command costs on the bus in addition to its decoding and its data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BusProtocol {
    /// Before data crosses the bus, each time that the drive has connected for it.
    pub data_preparation: Span,
    /// To connect again.
    pub reselect: Span,
    /// To let go of the bus for a read that needs the platter, after a read.
    pub read_disconnect_after_read: Span,
    /// The same after a write.
    pub read_disconnect_after_write: Span,
    /// To let go of the bus when the data of a write is in the buffer.
    pub write_disconnect: Span,
    /// To report that a read is done.
    pub read_completion: Span,
    /// To report that a write is done.
    pub write_completion: Span,
    /// What a write costs that lets go of the bus before its data comes, if the drive does that.
    pub early_disconnect: Option<EarlyDisconnect>,
}

/// The costs of a write that lets go of the bus twice: before its data and behind it ("extra write
/// disconnect"). It does so if the last command was a write that it does not continue.
///
/// A drive of this kind waits with the platter for the first sectors of any write.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EarlyDisconnect {
    /// To decode the command, in the place of the drive's command overhead.
    pub command: Span,
    /// From then until the arm may move.
    pub seek_delay: Span,
    /// To let go of the bus before the data.
    pub disconnect: Span,
    /// From then until it connects again.
    pub apart: Span,
    /// To let go of the bus behind the data, in the place of [`BusProtocol::write_disconnect`].
    pub second_disconnect: Span,
    /// To connect again then, in the place of [`BusProtocol::reselect`].
    pub second_reselect: Span,
}

impl BusProtocol {
    /// It costs nothing.
    pub const NONE: Self = Self {
        data_preparation: Span::ZERO,
        reselect: Span::ZERO,
        read_disconnect_after_read: Span::ZERO,
        read_disconnect_after_write: Span::ZERO,
        write_disconnect: Span::ZERO,
        read_completion: Span::ZERO,
        write_completion: Span::ZERO,
        early_disconnect: None,
    };

    /// Nanoseconds to report that a command is done, `[write]`.
    pub(super) fn completions(&self) -> [u64; 2] {
        [self.read_completion.ns(), self.write_completion.ns()]
    }
}
