//! The one list of policies.

use crate::entry::Entry;
use crate::{
    c_look, cfq, class_priority, deadline, fcfs, look, noop, scan, size_priority, sptf, sstf,
};

/// Every policy, in the order in which `penstock list policies` prints them.
pub static POLICIES: &[Entry] = &[
    fcfs::ENTRY,
    noop::ENTRY,
    deadline::ENTRY,
    cfq::ENTRY,
    size_priority::ENTRY,
    sstf::ENTRY,
    c_look::ENTRY,
    look::ENTRY,
    scan::ENTRY,
    sptf::ENTRY,
    class_priority::ENTRY,
];

/// The policy called `name`.
pub fn find(name: &str) -> Option<&'static Entry> {
    POLICIES.iter().find(|entry| entry.name == name)
}
