//! The settings of a page cache.

use penstock_core::Span;

/// Bytes of a page.
pub const PAGE: u32 = 4096;

/// Pages of the longest command that it makes: 1 MiB.
pub(super) const LONGEST: u32 = 256;

/// Its size, its speed, and when it writes back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Options {
    /// Bytes of all pages.
    pub memory: u64,
    /// Time that a request takes in memory, whatever its length.
    pub base: Span,
    /// Time to copy a megabyte (10^6 bytes).
    pub per_mb: Span,
    /// Dirty bytes from which on pages are written back.
    pub dirty_background: u64,
    /// Dirty bytes from which on writers wait.
    pub dirty: u64,
    /// The age at which a dirty page is written back.
    pub dirty_expire: Span,
    /// How often the cache looks for dirty pages of that age; zero: never.
    pub dirty_writeback: Span,
    /// Bytes of the longest window that is read ahead; zero: no read-ahead.
    pub read_ahead: u64,
}

impl Options {
    /// Bytes of the smallest memory.
    pub const LEAST_MEMORY: u64 = 16 * PAGE as u64;
    /// Bytes of the longest command that a cache makes.
    pub const LONGEST: u32 = LONGEST * PAGE;
}
