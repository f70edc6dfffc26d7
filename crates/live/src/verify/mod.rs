//! Verified runs: writes are stamped and recorded, and reads are compared with the record.

mod comparison;
pub(crate) mod verifier;
pub(crate) mod verifying;
