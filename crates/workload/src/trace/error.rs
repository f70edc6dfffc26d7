//! Why a file is not the trace that it should be: where, what was found, and what was expected.

use std::fmt;
use std::io;

use thiserror::Error;

use super::packing::Packing;

/// Characters of the input that a message quotes: enough to recognise it.
const QUOTED_CHARS: usize = 60;

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
