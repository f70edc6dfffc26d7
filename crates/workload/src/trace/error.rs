//! Why a file is not the trace that it should be, or cannot be replayed: where, what was found, and
//! what was expected.

use std::fmt;
use std::io;

use thiserror::Error;

use super::packing::Packing;
use super::tar::ArchiveError;

/// Characters of the input that a message quotes: enough to recognise it.
const QUOTED_CHARS: usize = 60;

/// Devices that a message names.
const NAMED: usize = 6;

/// Where something stands in the unpacked file: lines and records count from 1.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// A line of text.
    Line(u64),
    /// A record of a binary file.
    Record {
        /// Which one.
        number: u64,
        /// Its first byte, counted from 0.
        byte: u64,
    },
}

impl Place {
    /// Its number, as a record keeps it. A trace of more lines than 32 bits hold stays in order; only
    /// these numbers stop.
    pub(super) fn number(self) -> u32 {
        let (Self::Line(number) | Self::Record { number, .. }) = self;
        u32::try_from(number).unwrap_or(u32::MAX)
    }

    /// The place behind this one and the bytes `waiting`, where no more can be read.
    pub(super) fn after(self, waiting: &[u8]) -> Self {
        match self {
            Self::Line(line) => {
                Self::Line(line + 1 + memchr::memchr_iter(b'\n', waiting).count() as u64)
            }
            Self::Record { number, byte } => Self::Record { number: number + 1, byte },
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line(line) => write!(f, "line {line}"),
            Self::Record { number, byte } => write!(f, "record {number}, at byte {byte}"),
        }
    }
}

/// A trace that cannot be read.
#[derive(Debug, Error)]
pub enum TraceError {
    /// A line or a record is not of the format.
    #[error("{place}: found {found}, expected {expected}{}", Hint(hint))]
    Unexpected {
        /// Where.
        place: Place,
        /// What stands there, quoted and cut.
        found: String,
        /// What should stand there.
        expected: String,
        /// What to do about it.
        hint: Option<String>,
    },
    /// The file is packed and the packed data is cut off or damaged.
    #[error("{place}: here the {packing} data {what}{}", Hint(hint))]
    Packed {
        /// The line or record that cannot be read to its end.
        place: Place,
        /// How the file is packed.
        packing: Packing,
        /// What is wrong with it.
        what: String,
        /// What to do about it.
        hint: Option<String>,
    },
    /// The file is an archive from which no single file can be read.
    #[error("{source}")]
    Archive {
        /// Why.
        source: ArchiveError,
    },
    /// The file cannot be opened.
    #[error("the file cannot be opened: {source}")]
    Open {
        /// Why.
        source: io::Error,
    },
    /// The file cannot be read.
    #[error("{place}: the file cannot be read further: {source}")]
    Input {
        /// The line or record that was being read.
        place: Place,
        /// Why.
        source: io::Error,
    },
    /// There is no room for its requests in a temporary file.
    #[error(
        "its requests cannot be kept in {}: {source}\nhint: make room there, or set TMPDIR to a \
         folder with more", super::spool::folder().display()
    )]
    Kept {
        /// Why.
        source: io::Error,
    },
    /// There is text of the format, but no request in it.
    #[error("found no request in {}, expected {expected}", Count(*last))]
    Empty {
        /// The last line or record.
        last: Place,
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

/// How many lines or records there are up to a place.
struct Count(Place);

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Place::Line(lines) => write!(f, "{lines} lines"),
            Place::Record { number, .. } => write!(f, "{number} records"),
        }
    }
}

/// A hint on a line of its own.
struct Hint<'a>(&'a Option<String>);

impl fmt::Display for Hint<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.as_ref().map_or(Ok(()), |hint| write!(f, "\nhint: {hint}"))
    }
}

/// A reader's error in a line or a record. [`Input`](super::input::Input) adds the place. Boxed, so
/// that the path without an error stays narrow.
#[derive(Debug)]
pub(super) struct Wrong(Box<Mistake>);

#[derive(Debug)]
enum Mistake {
    /// What was found, and what was expected.
    Text(String, String),
    /// The line is right, but cannot be kept.
    Kept(io::Error),
}

impl From<io::Error> for Wrong {
    #[cold]
    fn from(source: io::Error) -> Self {
        Self(Box::new(Mistake::Kept(source)))
    }
}

/// What a line or a record says, or what is wrong with it.
pub(super) type Parsed<T> = Result<T, Wrong>;

impl Wrong {
    /// `found` is a part of the line; empty means that nothing stands there.
    #[cold]
    pub(super) fn new(found: &[u8], expected: impl Into<String>) -> Self {
        Self(Box::new(Mistake::Text(quoted(found), expected.into())))
    }

    /// The same, where `found` was found: bytes of a binary file say nothing to a reader.
    #[cold]
    pub(super) fn found(mut self, found: impl fmt::Display) -> Self {
        if let Mistake::Text(quoted, _) = &mut *self.0 {
            *quoted = found.to_string();
        }
        self
    }

    #[cold]
    pub(super) fn at(self, place: Place, hint: Option<&str>) -> TraceError {
        match *self.0 {
            Mistake::Text(found, expected) => {
                TraceError::Unexpected { place, found, expected, hint: hint.map(Into::into) }
            }
            Mistake::Kept(source) => TraceError::Kept { source },
        }
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
    /// A request ends past the end of the device. How a fit is asked for, the caller knows.
    #[error(
        "line {line} of the trace: found a request of {len} B at {start} B, expected it to end \
         within the device's {capacity} B"
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
    /// Its requests cannot be kept in a temporary file.
    #[error(
        "its requests cannot be kept in {}: {reason}\nhint: make room there, or set TMPDIR to a \
         folder with more", super::spool::folder().display()
    )]
    Kept {
        /// Why.
        reason: String,
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

impl From<io::Error> for ReplayError {
    fn from(error: io::Error) -> Self {
        Self::Kept { reason: error.to_string() }
    }
}

impl ReplayError {
    /// Whether the machine is short of something, and the trace is right.
    pub fn is_of_the_machine(&self) -> bool {
        matches!(self, Self::Kept { .. })
    }
}

/// The first of `names`, and that there are more.
fn few(names: &[String]) -> String {
    let shown = names[..names.len().min(NAMED)].join(" ");
    if names.len() > NAMED { format!("{shown} …") } else { shown }
}
