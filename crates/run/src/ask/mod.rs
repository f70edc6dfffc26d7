//! The request for a run: policies, options, the target and its engine.

pub(crate) mod candidate;
pub(crate) mod engines;
pub(crate) mod loops;
pub(crate) mod options;
pub(crate) mod target_options;
pub(crate) mod without_effect;
