//! The one list of policies.

use crate::entry::Entry;

/// Every policy, in the order in which `penstock list policies` prints them.
pub static POLICIES: &[Entry] = &[
    crate::fcfs::ENTRY,
    crate::noop::ENTRY,
    crate::deadline::ENTRY,
    crate::cfq::ENTRY,
    crate::mq_deadline::ENTRY,
    crate::kyber::ENTRY,
    crate::size_priority::ENTRY,
    crate::sstf::ENTRY,
    crate::c_look::ENTRY,
    crate::look::ENTRY,
    crate::scan::ENTRY,
    crate::sptf::ENTRY,
    crate::class_priority::ENTRY,
    crate::fairio::ENTRY,
    crate::sfq::ENTRY,
];

/// The policies that are compared if none are named: as different as there are, in few.
pub const USUAL: &[&str] = &["noop", "deadline", "cfq", "class-priority", "size-priority"];

/// Names every policy, where policies are named.
pub const ALL: &str = "all";

/// The policy called `name`.
pub fn find(name: &str) -> Option<&'static Entry> {
    POLICIES.iter().find(|entry| entry.name == name)
}
