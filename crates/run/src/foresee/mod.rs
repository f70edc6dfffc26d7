//! What is known of a run before it runs.

pub mod amounts;

pub(crate) mod law;
