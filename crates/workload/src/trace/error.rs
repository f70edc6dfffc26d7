//! Why a file is not the trace that it should be, or cannot be replayed: where, what was found, and
//! what was expected.

use std::fmt;
use std::io;

use thiserror::Error;

use super::packing::Packing;

/// Characters of the input that a message quotes: enough to recognise it.
const QUOTED_CHARS: usize = 60;

/// Devices that a message names.
const NAMED: usize = 6;

/// A trace that cannot be read. Lines count from 1, in the unpacked text.
#[derive(Debug, Error)]
pub enum TraceError {
    /// A line is not of the format.
    #[error("line {line}: found {found}, expected {expected}{}", Hint(hint))]
    Line {
        /// Where.
        line: u64,
        /// What stands there, quoted and cut.
        found: String,
        /// What should stand there.
        expected: String,
        /// What to do about it.
        hint: Option<String>,
    },
    /// The file is packed and the packed data is cut off or damaged.
    #[error("line {line}: here the {packing} data {what}{}", Hint(hint))]
    Packed {
        /// The line that cannot be read to its end.
        line: u64,
        /// How the file is packed.
        packing: Packing,
        /// What is wrong with it.
        what: String,
        /// What to do about it.
        hint: Option<String>,
    },
    /// The file cannot be opened.
    #[error("the file cannot be opened: {source}")]
    Open {
        /// Why.
        source: io::Error,
    },
    /// The file cannot be read.
    #[error("line {line}: the file cannot be read further: {source}")]
    Input {
        /// The line that was being read.
        line: u64,
        /// Why.
        source: io::Error,
    },
    /// There is text of the format, but no request in it.
    #[error("found no request in {lines} lines, expected {expected}")]
    Empty {
        /// How many lines there are.
        lines: u64,
        /// How a request looks.
        expected: &'static str,
    },
    /// The format was to be found out and is none or several of those known.
    #[error("line 1: found {found}, expected a trace of a known format{}", Hint(hint))]
    Unknown {
        /// The first line, quoted and cut.
        found: String,
        /// Which formats there are, or which it could be.
        hint: Option<String>,
    },
}

/// A hint on a line of its own.
struct Hint<'a>(&'a Option<String>);

impl fmt::Display for Hint<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.as_ref().map_or(Ok(()), |hint| write!(f, "\nhint: {hint}"))
    }
}

/// A reader's error in a line: what was found, and what was expected.
/// [`Lines`](super::lines::Lines) adds the line's number. Boxed, so that the path without an error
/// stays narrow.
#[derive(Debug)]
pub(super) struct Wrong(Box<(String, String)>);

/// What a line says, or what is wrong with it.
pub(super) type Parsed<T> = Result<T, Wrong>;

impl Wrong {
    /// `found` is a part of the line; empty means that nothing stands there.
    #[cold]
    pub(super) fn new(found: &[u8], expected: impl Into<String>) -> Self {
        Self(Box::new((quoted(found), expected.into())))
    }

    #[cold]
    pub(super) fn at(self, line: u64, hint: Option<&str>) -> TraceError {
        let (found, expected) = *self.0;
        TraceError::Line { line, found, expected, hint: hint.map(Into::into) }
    }
}

/// The bytes as a message shows them: on one line, at most [`QUOTED_CHARS`] characters.
pub(super) fn quoted(text: &[u8]) -> String {
    if text.is_empty() {
        return "nothing".into();
    }
    // A character has four bytes at most: the message shows no bytes behind these.
    let head = String::from_utf8_lossy(&text[..text.len().min(QUOTED_CHARS * 4 + 4)]);
    let cut = if head.chars().count() > QUOTED_CHARS { "…" } else { "" };
    let shown: String = head.chars().take(QUOTED_CHARS).collect();
    format!("`{}{cut}`", shown.escape_debug().to_string().replace("\\\"", "\"").replace("\\'", "'"))
}

/// A trace that cannot be replayed as it was asked for.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum ReplayError {
    /// A request ends past the end of the device.
    #[error(
        "line {line} of the trace: found a request of {len} B at {start} B, expected it to end \
         within the device's {capacity} B\nhint: fit = \"wrap\" or \"scale\" makes the trace fit"
    )]
    Past {
        /// Line of the trace's file.
        line: u32,
        /// First byte.
        start: u64,
        /// Bytes.
        len: u32,
        /// Bytes of the device.
        capacity: u64,
    },
    /// Its requests are of several devices, which would lie over each other.
    #[error(
        "found requests of {} devices ({}), expected those of one: they would lie over each other\n\
         hint: trace.device={} plays one of them, trace.layout=each gives each a device of its own, \
         trace.layout=side-by-side lays them behind each other",
        names.len(), few(names), names[0]
    )]
    Devices {
        /// Those with requests.
        names: Vec<String>,
    },
    /// A closed replay needs to know when requests completed.
    #[error(
        "found completions of {known} of {requests} requests, expected them of half or more: a \
         closed replay counts think times from them\nhint: trace.timing.latency=5ms sets how long \
         requests took that have none; trace.timing=original plays them at their own times"
    )]
    Completions {
        /// Requests that have a completion.
        known: usize,
        /// All requests.
        requests: usize,
    },
    /// There is no memory for its requests.
    #[error(
        "found {requests} requests, expected as many as memory holds\nhint: replay a part of the \
         trace, or on a machine with more memory"
    )]
    Memory {
        /// How many it has.
        requests: usize,
    },
    /// A request is larger than the whole device, which no fit can help.
    #[error(
        "line {line} of the trace: found a request of {len} B, expected at most the device's \
         {capacity} B\nhint: replay it on a larger device"
    )]
    TooLong {
        /// Line of the trace's file.
        line: u32,
        /// Bytes.
        len: u32,
        /// Bytes of the device.
        capacity: u64,
    },
}

/// The first of `names`, and that there are more.
fn few(names: &[String]) -> String {
    let shown = names[..names.len().min(NAMED)].join(" ");
    if names.len() > NAMED { format!("{shown} …") } else { shown }
}
