//! Parts of a run with their own device.

/// A file or a device of a trace, with its own device.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Lane {
    /// Its name in results; empty for a trace without names.
    pub(crate) name: String,
    /// The first byte of its device, in the address space of the run.
    pub(crate) base: u64,
    /// The first byte of the file on the device, in that address space; of the device, if there is
    /// no file.
    pub(crate) first: u64,
}
