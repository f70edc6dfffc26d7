//! Limits of a gate.

/// Maximum bytes of one request; longer ones are sent in equal parts, one after another.
pub(super) const LONGEST: u32 = 4 << 20;

/// Maximum number of requests in flight; the caller of one more waits.
pub(super) const MOST: u32 = 1024;
