//! The record of verified writes: what each block of a target may hold, in a file next to the target.

pub(crate) mod block_record;
pub(crate) mod record_file;
pub(crate) mod stamp;
