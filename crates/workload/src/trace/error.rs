//! Errors in reading or replaying a trace: the place, the content that was found, and what was
//! expected.

use std::fmt;
use std::io;

use thiserror::Error;

use super::packing::Packing;
use super::tar::ArchiveError;

/// Most characters of the input that a message quotes: enough to recognise it.
const QUOTED_CHARS: usize = 60;

/// Most devices that a message names.
const NAMED: usize = 6;

/// A place in the unpacked file. Lines and records count from 1.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// A line of text.
    Line(u64),
    /// A record of a binary file.
    Record {
        /// Number of the record.
        number: u64,
        /// Its first byte, counted from 0.
        byte: u64,
    },
}

impl Place {
    /// The number of the line or record in 32 bits, as requests keep it; larger numbers become the
    /// largest one.
    pub(super) fn number(self) -> u32 {
        let (Self::Line(number) | Self::Record { number, .. }) = self;
        u32::try_from(number).unwrap_or(u32::MAX)
    }

    /// The place behind this one and behind the bytes `waiting`, at which reading failed.
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

/// An error in reading a trace.
#[derive(Debug, Error)]
pub enum TraceError {
    /// A line or a record is not of the format.
    #[error("{place}: found {found}, expected {expected}{}", Hint(hint))]
    Unexpected {
        /// Place of the error.
        place: Place,
        /// The content there, quoted and shortened.
        found: String,
        /// The expected content.
        expected: String,
        /// A remedy or an explanation.
        hint: Option<String>,
    },
    /// The file is packed and the packed data is cut off or damaged.
    #[error("{place}: here the {packing} data {what}{}", Hint(hint))]
    Packed {
        /// The line or record that cannot be read to its end.
        place: Place,
        /// The packing of the file.
        packing: Packing,
        /// The rest of the sentence: "the gzip data …".
        what: String,
        /// A remedy.
        hint: Option<String>,
    },
    /// The file is an archive from which no single file can be read.
    #[error("{source}")]
    Archive {
        /// The reason.
        source: ArchiveError,
    },
    /// The file cannot be opened.
    #[error("the file cannot be opened: {source}")]
    Open {
        /// The reason.
        source: io::Error,
    },
    /// The file cannot be read.
    #[error("{place}: the file cannot be read further: {source}")]
    Input {
        /// The line or record that was being read.
        place: Place,
        /// The reason.
        source: io::Error,
    },
    /// The requests cannot be kept in a temporary file.
    #[error(
        "its requests cannot be kept in {}: {source}\nhint: make room there, or set TMPDIR to a \
         folder with more", super::spool::folder().display()
    )]
    Kept {
        /// The reason.
        source: io::Error,
    },
    /// The file has content of the format, but no request.
    #[error("found no request in {}, expected {expected}", Count(*last))]
    Empty {
        /// The last line or record.
        last: Place,
        /// The form of a request.
        expected: &'static str,
    },
    /// The format cannot be detected: no known format fits, or several do.
    #[error("line 1: found {found}, expected a trace of a known format{}", Hint(hint))]
    Unknown {
        /// The first line, quoted and shortened.
        found: String,
        /// The known formats, or those that fit.
        hint: Option<String>,
    },
}

/// The number of lines or records up to a place.
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
/// that results stay small when there is no error.
#[derive(Debug)]
pub(super) struct ParseError(Box<Mistake>);

#[derive(Debug)]
enum Mistake {
    /// The content that was found, and the expected content. Such a line is wrong unless it is only
    /// odd.
    Text(String, String, Option<Oddity>),
    /// The line is correct, but cannot be kept.
    Kept(io::Error),
}

impl From<io::Error> for ParseError {
    #[cold]
    fn from(source: io::Error) -> Self {
        Self(Box::new(Mistake::Kept(source)))
    }
}

/// The reason why a line or a record is odd.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Oddity {
    /// The request has a length of zero bytes. It was left out.
    NoBytes,
    /// The request has no response time. It was added without latency.
    NoResponse,
}

/// The result of parsing a line, a record or a part of one.
pub(super) type Parsed<T> = Result<T, ParseError>;

impl ParseError {
    /// Creates an error about a part of the line: `found` instead of `expected`. An empty `found`
    /// means that nothing is there.
    #[cold]
    pub(super) fn new(found: &[u8], expected: impl Into<String>) -> Self {
        Self(Box::new(Mistake::Text(quoted(found), expected.into(), None)))
    }

    /// Makes this an error only if the file has too many lines of this oddity. The line was used as
    /// far as possible.
    #[cold]
    pub(super) fn odd(mut self, oddity: Oddity) -> Self {
        if let Mistake::Text(.., odd) = &mut *self.0 {
            *odd = Some(oddity);
        }
        self
    }

    /// The oddity of the line; `None` if it is wrong.
    pub(super) fn oddity(&self) -> Option<Oddity> {
        match *self.0 {
            Mistake::Text(.., oddity) => oddity,
            Mistake::Kept(_) => None,
        }
    }

    /// Replaces the quoted content by the description `found`, for binary files.
    #[cold]
    pub(super) fn with_found(mut self, found: impl fmt::Display) -> Self {
        if let Mistake::Text(quoted, ..) = &mut *self.0 {
            *quoted = found.to_string();
        }
        self
    }

    #[cold]
    pub(super) fn at(self, place: Place, hint: Option<&str>) -> TraceError {
        match *self.0 {
            Mistake::Text(found, expected, _) => {
                TraceError::Unexpected { place, found, expected, hint: hint.map(Into::into) }
            }
            Mistake::Kept(source) => TraceError::Kept { source },
        }
    }
}

/// Quotes bytes for a message: on one line, at most [`QUOTED_CHARS`] characters.
pub(super) fn quoted(text: &[u8]) -> String {
    if text.is_empty() {
        return "nothing".into();
    }
    // A character has at most four bytes, so the message shows no bytes behind these.
    let head = String::from_utf8_lossy(&text[..text.len().min(QUOTED_CHARS * 4 + 4)]);
    let cut = if head.chars().count() > QUOTED_CHARS { "…" } else { "" };
    let shown: String = head.chars().take(QUOTED_CHARS).collect();
    format!("`{}{cut}`", shown.escape_debug().to_string().replace("\\\"", "\"").replace("\\'", "'"))
}

/// An error in replaying a trace with given settings.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum ReplayError {
    /// A request ends past the end of the device. The caller adds a hint on how to set a fit.
    #[error(
        "line {line} of the trace: found a request of {len} B at {start} B, expected it to end \
         within the device's {capacity} B"
    )]
    Past {
        /// Line of the trace's file.
        line: u32,
        /// First byte of the request.
        start: u64,
        /// Length of the request in bytes.
        len: u32,
        /// Size of the device in bytes.
        capacity: u64,
    },
    /// Its requests go to several devices, which would overlap on one.
    #[error(
        "found requests of {} devices ({}), expected those of one: they would lie over each other\n\
         hint: trace.device={} plays one of them, trace.layout=each gives each a device of its own, \
         trace.layout=side-by-side lays them behind each other",
        names.len(), few(names), names[0]
    )]
    Devices {
        /// The devices with requests.
        names: Vec<String>,
    },
    /// The trace has too few completions for a closed replay.
    #[error(
        "found completions of {known} of {requests} requests, expected them of half or more: a \
         closed replay counts think times from them\nhint: trace.timing.latency=5ms sets how long \
         requests took that have none; trace.timing=original plays them at their own times"
    )]
    Completions {
        /// Number of requests with a completion.
        known: usize,
        /// Number of all requests.
        requests: usize,
    },
    /// Its requests cannot be kept in a temporary file.
    #[error(
        "its requests cannot be kept in {}: {reason}\nhint: make room there, or set TMPDIR to a \
         folder with more", super::spool::folder().display()
    )]
    Kept {
        /// The reason.
        reason: String,
    },
    /// A request is larger than the whole device, so no fit is possible.
    #[error(
        "line {line} of the trace: found a request of {len} B, expected at most the device's \
         {capacity} B\nhint: replay it on a larger device"
    )]
    TooLong {
        /// Line of the trace's file.
        line: u32,
        /// Length of the request in bytes.
        len: u32,
        /// Size of the device in bytes.
        capacity: u64,
    },
}

impl From<io::Error> for ReplayError {
    fn from(error: io::Error) -> Self {
        Self::Kept { reason: error.to_string() }
    }
}

impl ReplayError {
    /// Whether the error comes from the machine, not from the trace or the settings.
    pub fn is_machine_error(&self) -> bool {
        matches!(self, Self::Kept { .. })
    }
}

/// Lists the first `names`, with an ellipsis if there are more.
fn few(names: &[String]) -> String {
    let shown = names[..names.len().min(NAMED)].join(" ");
    if names.len() > NAMED { format!("{shown} …") } else { shown }
}
