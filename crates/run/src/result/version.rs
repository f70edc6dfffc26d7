//! The version of this build.

/// Version of Penstock.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
