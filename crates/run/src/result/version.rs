//! Which version this is.

/// Version of Penstock.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
