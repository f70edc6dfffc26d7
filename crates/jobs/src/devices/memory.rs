//! How much memory a model may take, at most: its tables, and what it holds at once.
//!
//! Estimates, rather too high: each number of a device file has bounds of its own, and their products
//! may still be more than a machine has.

/// A command that waits in a queue or is in service: its entry, and what a policy keeps of it.
pub(super) const COMMAND: u64 = 512;
