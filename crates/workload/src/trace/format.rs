//! The declaration of a trace format.

use std::io::{self, Write};

use super::error::TraceError;
use super::input::Input;
use super::recording::Trace;

/// A file format of traces.
#[derive(Debug)]
pub struct Format {
    /// Its name on the command line and in jobs.
    pub name: &'static str,
    /// A description in one line.
    pub summary: &'static str,
    /// The form of a request.
    pub example: &'static str,
    /// Reads a whole trace.
    pub read: fn(&mut Input<'_>) -> Result<Trace, TraceError>,
    /// Writes a trace; `None` if this format cannot be written.
    pub write: Option<WriteTrace>,
}

/// A function that writes a trace in a format.
pub type WriteTrace = fn(&Trace, &mut dyn Write) -> io::Result<Written>;

/// The outcome of writing a trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Written {
    /// Number of requests written.
    pub requests: u64,
    /// Number of requests that the format cannot express, such as a flush in a format of reads and
    /// writes.
    pub left_out: u64,
}
