//! Facts of the bus: the time of a sector, and the costs of connecting.
//!
//! This file computes nothing. The rules are those of `DiskSim` 4.0's manual, by which the drives
//! were described (`buffer.rs` applies them). A drive decodes a command while it holds the bus. It
//! lets go of the bus while it has no data for it, and connects to it again ("disconnect",
//! "reselect").

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
    /// A bus that takes no time.
    pub const NONE: Self = Self::same(Span::ZERO);

    /// Takes equally long in both directions.
    pub const fn same(sector: Span) -> Self {
        Self { read: sector, write: sector }
    }

    /// Times of a bus with these rates in bytes a second.
    pub(super) fn from_rates(read: u64, write: u64) -> Self {
        let sector = |rate: u64| Span::from_ns(512 * 1_000_000_000 / rate.max(1));
        Self { read: sector(read), write: sector(write) }
    }

    /// Returns nanoseconds, `[write]`.
    pub(super) fn table(self) -> [u64; 2] {
        [self.read.ns(), self.write.ns()]
    }
}

/// Costs of a command on the bus in addition to its decoding and its data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BusProtocol {
    /// Preparation before data crosses the bus, each time that the drive has connected for it.
    pub data_preparation: Span,
    /// Reconnection.
    pub reselect: Span,
    /// Disconnection for a read that needs the platter, after a read.
    pub read_disconnect_after_read: Span,
    /// Disconnection for a read that needs the platter, after a write.
    pub read_disconnect_after_write: Span,
    /// Disconnection when the data of a write is in the buffer.
    pub write_disconnect: Span,
    /// Report that a read is done.
    pub read_completion: Span,
    /// Report that a write is done.
    pub write_completion: Span,
    /// Costs of a write before whose data the drive disconnects, if the drive does that.
    pub early_disconnect: Option<EarlyDisconnect>,
}

/// The costs of a write for which the drive disconnects twice: before its data and behind it
/// ("extra write disconnect"). It does so if the last command was a write that this one does not
/// continue.
///
/// A drive of this kind delays the platter until the first sectors of any write have arrived.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EarlyDisconnect {
    /// Decoding of the command, in place of the drive's command overhead.
    pub command: Span,
    /// Time from then until the arm may move.
    pub seek_delay: Span,
    /// Disconnection before the data.
    pub disconnect: Span,
    /// Time from then until it reconnects.
    pub apart: Span,
    /// Disconnection behind the data, in place of [`BusProtocol::write_disconnect`].
    pub second_disconnect: Span,
    /// Reconnection after that, in place of [`BusProtocol::reselect`].
    pub second_reselect: Span,
}

impl BusProtocol {
    /// A protocol without costs.
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

    /// Returns the nanoseconds to report that a command is done, `[write]`.
    pub(super) fn completions(&self) -> [u64; 2] {
        [self.read_completion.ns(), self.write_completion.ns()]
    }
}
