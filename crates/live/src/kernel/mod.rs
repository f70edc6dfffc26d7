//! What the kernel says of disks and processes, and what is asked of it for this process.

pub(crate) mod memory;
pub(crate) mod openers;
pub(crate) mod processor;
pub(crate) mod report_timer;
pub(crate) mod sysfs;
