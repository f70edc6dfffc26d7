//! The exit codes of the command, for the errors of this crate.

/// Wrong usage or wrong input.
pub(crate) const WRONG_INPUT: u8 = 2;
/// Data differs from what was written.
pub(crate) const DIFFERENT: u8 = 4;
/// The target is unsafe to use.
pub(crate) const UNSAFE_TARGET: u8 = 5;
/// This machine cannot do it.
pub(crate) const CANNOT: u8 = 77;
/// The run failed.
pub(crate) const FAILED: u8 = 1;
