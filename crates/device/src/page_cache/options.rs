//! The settings of a page cache.

use penstock_core::Span;

/// Bytes of a page.
pub const PAGE: u32 = 4096;

/// Pages of the longest command of the cache: 1 MiB.
pub(super) const LONGEST: u32 = 256;

/// Size, speed and write-back of a page cache.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Options {
    /// Bytes of all pages together.
    pub memory: u64,
    /// Time of a request in memory, whatever its length.
    pub base: Span,
    /// Time to copy a megabyte (10^6 bytes).
    pub per_mb: Span,
    /// Dirty bytes above which pages are written back.
    pub dirty_background: u64,
    /// Dirty bytes at which writers wait.
    pub dirty: u64,
    /// Age at which a dirty page is written back.
    pub dirty_expire: Span,
    /// Interval of the search for dirty pages of that age; zero: never.
    pub dirty_writeback: Span,
    /// Bytes of the longest window of read-ahead; zero: no read-ahead.
    pub read_ahead: u64,
}

impl Options {
    /// Fewest bytes of memory.
    pub const LEAST_MEMORY: u64 = 16 * PAGE as u64;
    /// Bytes of the longest command of the cache.
    pub const LONGEST: u32 = LONGEST * PAGE;
}
