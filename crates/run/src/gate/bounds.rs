//! What a gate takes at once.

/// Bytes of one request at most; longer ones are asked for in equal parts, one after another.
pub(super) const LONGEST: u32 = 4 << 20;

/// Requests that may be in flight; the caller of one more waits.
pub(super) const MOST: u32 = 1024;
