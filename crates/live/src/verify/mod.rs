//! Runs whose data is verified: writes are stamped and recorded, reads are compared with the record.

pub(crate) mod verifier;
