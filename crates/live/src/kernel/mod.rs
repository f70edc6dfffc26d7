//! Services of the kernel: control groups, its lists of disks and open files, processor time, and the handler for a lack of memory.

pub(crate) mod control_groups;
pub(crate) mod io_priority;
pub(crate) mod memory;
pub(crate) mod mounts;
pub(crate) mod notes;
pub(crate) mod openers;
pub(crate) mod processor;
pub(crate) mod report_timer;
pub(crate) mod sysfs;
