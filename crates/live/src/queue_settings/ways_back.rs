//! Attributes of a queue that may be changed while programs use the disk, and how each is put back.
//!
//! Not every attribute can be put back: some take a value that makes the kernel refuse every other
//! one. Those here were tried on a device of their own; a test does it again. The tunables of a
//! scheduler can be put back too: they are new with each switch.
//!
//! Source: the kernel's documentation, `Documentation/ABI/stable/sysfs-block`.

use crate::kernel::sysfs::DEPTH;

/// How an attribute is put back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum WayBack {
    /// Its old value is written.
    Value,
    /// Its old value is written under `none`, where it is the depth of the device, with another before
    /// it: the kernel takes the value that it shows for no change.
    Depth,
    /// This text, by which the kernel chooses a value by itself, and the old value if the kernel
    /// chooses another.
    Chosen(&'static str),
}

/// The attributes with a way back.
pub(super) const WAYS_BACK: [(&str, WayBack); 4] = [
    (DEPTH, WayBack::Depth),
    ("max_sectors_kb", WayBack::Chosen("0")),
    ("read_ahead_kb", WayBack::Value),
    ("nomerges", WayBack::Value),
];

/// Returns how `attribute` is put back.
pub(super) fn way_back(attribute: &str) -> Option<WayBack> {
    WAYS_BACK.iter().find(|(name, _)| *name == attribute).map(|(_, way)| *way)
}

/// Returns why `attribute` is not in the list.
pub(super) fn without_way_back(attribute: &str) -> &'static str {
    match attribute {
        "discard_max_bytes" => {
            "at 0 the kernel forgets the granularity and refuses every other value until the driver \
             probes the disk again"
        }
        "wbt_lat_usec" => {
            "once it was set, a switch to bfq no longer turns it off, nor a switch from bfq on again"
        }
        "write_cache" => "a wrong value loses data",
        _ => "its way back was not tried",
    }
}
