//! How far a run has come, for those who watch it.

pub(crate) mod policy_levels;
pub(crate) mod report;
pub(crate) mod snapshot;
pub(crate) mod step;
