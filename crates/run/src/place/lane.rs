//! Parts of a run with their own device, and the files on them.

/// A device of a run with several, or of one that has files: with its own queue and policy.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Lane {
    /// Its name in results: that of the device, or of the only file on it; empty for a trace
    /// without names.
    pub(crate) name: String,
    /// Its first byte, in the address space of the run.
    pub(crate) base: u64,
}

/// A file on a lane.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct LaneFile {
    /// Its name in results.
    pub(crate) name: String,
    /// Number of its lane.
    pub(crate) lane: usize,
    /// Its first byte, in the address space of the run.
    pub(crate) first: u64,
}

impl Lane {
    /// The only file of the lane `number`: all of it.
    pub(crate) fn as_file(&self, number: usize) -> LaneFile {
        LaneFile { name: self.name.clone(), lane: number, first: self.base }
    }
}
