//! Records of verified writes: the versions that each block of a target may have, in a file next to the target.

pub(crate) mod block_record;
pub(crate) mod record_error;
pub(crate) mod record_file;
pub(crate) mod stamp;
