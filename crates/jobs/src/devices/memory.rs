//! Upper estimates of the memory that models take: their tables, and the most that they hold at
//! once.
//!
//! Each number of a device file has its own bounds, but the product of several could exceed the
//! memory of a machine.

/// Bytes of a command that waits in a queue or is in service, with what a policy keeps for it.
pub(super) const COMMAND: u64 = 512;
