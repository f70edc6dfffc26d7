//! Recorded workloads: reading them in various formats, describing them and replaying them.
//!
//! [`FORMATS`] lists every format; each has a file of its own in `formats`. [`read`] reads a file of
//! a known format, [`read_any`] detects the format. Files packed by gzip, xz or zstd are unpacked
//! while they are read, and so is the single file in a tar archive. A [`Trace`] does not depend on
//! the format that it was read from: [`stats`] describes it, [`Replay`] issues its requests again,
//! and formats with a writer write it.
//!
//! Invariants: arbitrary bytes end in a [`Trace`] or in a [`TraceError`] that names the line or the
//! record; memory is bounded, whatever the length of a trace: a [`Spool`] keeps its requests.
//!
//! To add a format: one file with a [`Format`] in `formats`, and two lines in its `mod.rs`.

mod block_events;
mod builder;
pub mod capture;
mod closed;
mod completions;
mod dependencies;
mod detect;
mod error;
mod fields;
mod format;
mod formats;
mod input;
mod lines;
mod odd_lines;
mod packing;
mod places;
pub mod races;
mod record;
mod recording;
mod records;
mod replay;
mod requests;
pub mod series;
mod shape;
mod snoop;
mod spool;
pub mod stats;
mod stopping;
mod streams;
mod tar;

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

pub use detect::detect;
pub use error::{Place, ReplayError, TraceError};
pub use format::{Format, WriteTrace, Written};
pub use formats::{FORMATS, format, parse};
pub use input::Input;
pub use packing::Packing;
pub use places::{Fit, Layout, Places};
pub use record::{DeviceId, ProcessId, Record};
pub use recording::Trace;
pub use replay::{ClassOf, Replay, Timing};
pub use requests::Requests;
pub use spool::{Packed, PackedReader, PackedWriter, Spool, folder};
pub use stopping::stoppable;
pub use tar::ArchiveError;

use capture::CapturedEvent;
use detect::unknown;
use formats::ptrace;

/// Reads the trace in the file `path`, of `format` or of the detected format. Also returns the
/// format.
///
/// # Errors
/// As [`read`] and [`read_any`], and if the file cannot be opened.
pub fn load(
    path: &Path,
    format: Option<&'static Format>,
) -> Result<(Trace, &'static Format), TraceError> {
    let open = || {
        let file = File::open(path)?;
        if file.metadata()?.is_dir() { Err(io::ErrorKind::IsADirectory.into()) } else { Ok(file) }
    };
    let file = open().map_err(|source| TraceError::Open { source })?;
    match format {
        Some(format) => read(file, format).map(|trace| (trace, format)),
        None => read_any(file),
    }
}

/// Reads a trace of `format`, packed or not.
///
/// # Errors
/// If it is not of that format, cut off, damaged or unreadable. The error names the line and the
/// expected content.
pub fn read(input: impl Read, format: &Format) -> Result<Trace, TraceError> {
    let mut input = Input::new(input)?;
    let head = head(&mut input)?;
    (format.read)(&mut input).map_err(|error| match (error, detect(&head)) {
        (TraceError::Unexpected { place, found, expected, hint: None }, Some(other))
            if other.name != format.name =>
        {
            let hint = Some(format!("the file looks like format `{}`", other.name));
            TraceError::Unexpected { place, found, expected, hint }
        }
        (error, _) => error,
    })
}

/// Calls `handle` for each event of the capture at `path`, in order of time. Returns the number of
/// events that the kernel lost.
///
/// # Errors
/// As [`read`], and if the file cannot be opened.
pub fn captured(
    path: &Path,
    mut handle: impl FnMut(&CapturedEvent<'_>),
) -> Result<u64, TraceError> {
    let file = File::open(path).map_err(|source| TraceError::Open { source })?;
    ptrace::captured(&mut Input::new(file)?, |event| {
        handle(event);
        Ok(())
    })
}

/// Reads a trace and detects its format.
///
/// # Errors
/// As [`read`], and if no format or more than one fits the first lines.
pub fn read_any(input: impl Read) -> Result<(Trace, &'static Format), TraceError> {
    let mut input = Input::new(input)?;
    let head = head(&mut input)?;
    let format = detect(&head).ok_or_else(|| unknown(&head))?;
    Ok(((format.read)(&mut input)?, format))
}

fn head(input: &mut Input<'_>) -> Result<Vec<u8>, TraceError> {
    let head = input.peek()?;
    Ok(head[..head.len().min(detect::HEAD_BYTES)].to_vec())
}
