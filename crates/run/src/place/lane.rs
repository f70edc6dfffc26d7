//! What has a device of its own in a run.

/// A file or a device of a trace, which is on a device of its own.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Lane {
    /// As results call it; empty of a trace without names.
    pub(crate) name: String,
    /// The first byte of its device, in the address space of the run.
    pub(crate) base: u64,
    /// The first byte of the file on it; that of the device, if there is none.
    pub(crate) first: u64,
}
