//! A request in the cache, and its progress.

use std::ops::Range;

use penstock_core::{Errno, Flags, Op, Request, Span, Time};

/// A request of the layer above, and its progress.
#[derive(Clone, Copy, Debug)]
pub(super) struct CacheRequest {
    /// The request as the layer above sent it.
    pub(super) req: Request,
    /// The extent in which it lies. A flush covers this extent, or its device.
    pub(super) extent: usize,
    /// The page of its first byte.
    pub(super) first: u64,
    /// The page behind that of its last byte.
    pub(super) end: u64,
    pub(super) arrived: Time,
    pub(super) begun: Time,
    pub(super) service: Span,
    pub(super) error: Option<Errno>,
    /// Number of commands that it waits for.
    pub(super) pending: u32,
    /// Whether it waits in a queue for memory or for permission to write.
    pub(super) stalled: bool,
    pub(super) phase: Phase,
    /// The next page; for a flush, the newest page that it covers.
    pub(super) at: u64,
    /// The end of the read, including the read-ahead; unknown until a page is missing.
    pub(super) upto: Option<u64>,
    /// Whether it begins in the page in which its stream's last request ended.
    pub(super) again: bool,
    /// Whether some of its data was written by a command that was not forced.
    pub(super) unforced: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Phase {
    /// It goes through its pages.
    Pages,
    /// Its range is being written back.
    Back,
    /// The whole request, or a flush for it, is on the device.
    Below,
    /// The flush waits until the pages that it covers are written.
    Flush,
}

impl CacheRequest {
    /// Returns its pages.
    pub(super) fn pages(&self) -> Range<u64> {
        self.first..self.end
    }

    pub(super) fn buffered(&self) -> bool {
        self.req.flags.has(Flags::BUFFERED) && matches!(self.req.op, Op::Read | Op::Write)
    }

    /// Returns the stamp of the newest page that the flush covers.
    pub(super) fn covers_until(&self) -> u64 {
        self.at
    }

    pub(super) fn forced(&self) -> bool {
        self.req.flags.has(Flags::FUA)
    }
}
