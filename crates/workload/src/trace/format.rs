//! What a format of traces declares about itself.

use std::io::{self, Write};

use super::error::TraceError;
use super::input::Input;
use super::recording::Trace;

/// A way to keep traces in files.
#[derive(Debug)]
pub struct Format {
    /// Its name, as people write it.
    pub name: &'static str,
    /// What it is, in one line.
    pub summary: &'static str,
    /// How a request looks.
    pub example: &'static str,
    /// Reads a whole trace.
    pub read: fn(&mut Input<'_>) -> Result<Trace, TraceError>,
    /// Writes a trace, if this format can be written.
    pub write: Option<WriteTrace>,
}

/// Writes a trace in one format.
pub type WriteTrace = fn(&Trace, &mut dyn Write) -> io::Result<Written>;

/// The outcome of writing a trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Written {
    /// Requests in the file.
    pub requests: u64,
    /// Requests that the format cannot express, such as a flush in a format of reads and writes.
    pub left_out: u64,
}
