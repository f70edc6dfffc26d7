//! Facts about a run that are known before it runs.

pub mod amounts;

pub(crate) mod law;
