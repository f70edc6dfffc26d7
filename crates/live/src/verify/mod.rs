//! Runs whose data is verified: writes are stamped and recorded, reads are compared with the record.

mod comparison;
pub(crate) mod verifier;
pub(crate) mod verifying;
