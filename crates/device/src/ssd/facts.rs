//! The plain facts of a solid-state drive, as data sheets and papers state them.

use penstock_core::Span;

/// The known facts of one drive. Rates are in bytes a second.
#[derive(Clone, PartialEq, Debug)]
pub struct Facts {
    /// Capacity in bytes for the host.
    pub capacity: u64,
    /// Flash dies.
    pub dies: u32,
    /// Dies of a chip. Above one, the dies of a chip take commands together (`chips.rs`).
    pub dies_per_chip: u32,
    /// Channels between controller and chips, which are assigned to the chips in turn.
    pub channels: u32,
    /// Bytes of a page, which one read fetches.
    pub page: u32,
    /// Planes of a die: the number of pages that are programmed together.
    pub planes: u32,
    /// Pages of a plane that one erasure frees.
    pub block_pages: u32,
    /// Time to read a page, or a part of one, from the cells.
    pub read_time: Span,
    /// Time to program the pages of all planes of a die.
    pub program_time: Span,
    /// Time to erase a block on all planes of a die.
    pub erase_time: Span,
    /// Time to suspend a program or an erasure for a read; `None`: reads wait until it has ended.
    pub suspend_time: Option<Span>,
    /// Rate of one channel.
    pub channel_rate: u64,
    /// The link to the host.
    pub link: Link,
    /// Time from a command's arrival until the drive begins it; any number of commands at once.
    pub command_overhead: Span,
    /// Least time between two commands that the controller takes: its limit on commands a second.
    pub command_interval: Span,
    /// Bytes of the write buffer: at least those of one program.
    pub write_buffer: u64,
    /// Whether the write buffer survives a loss of power, so that a flush has nothing to do.
    pub power_loss_protection: bool,
    /// Flash for collection in addition to the capacity, as a part of the capacity; above zero.
    pub over_provisioning: f64,
    /// Commands in flight at once.
    pub depth: u32,
}

/// The link between drive and host.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Link {
    /// Rate of data in one direction.
    pub rate: u64,
    /// Whether both directions work at once (PCI Express), or one at a time (SATA).
    pub full_duplex: bool,
    /// Bytes that a command passes in one turn; `None`: all that it has ready.
    pub turn: Option<u32>,
    /// Time of each command on the link in addition to its data.
    pub overhead: Span,
}

impl Facts {
    /// Bytes that one program writes.
    pub fn program_bytes(&self) -> u32 {
        self.page * self.planes
    }
}

/// Returns the nanoseconds that `bytes` take at `rate`, rounded up; zero for no bytes.
pub(super) fn ns_at(rate: u64, bytes: u32) -> u64 {
    // 2^32 bytes times 10^9 fit 64 bits.
    (u64::from(bytes) * 1_000_000_000).div_ceil(rate)
}

/// Returns the bytes from `start` to `end` that lie in page `number`.
pub(super) fn within(number: u64, page: u64, start: u64, end: u64) -> u32 {
    (end.min((number + 1) * page) - start.max(number * page)) as u32
}
