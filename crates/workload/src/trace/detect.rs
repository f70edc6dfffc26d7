//! Detects the format of a file by its first lines.
//!
//! A format matches if all of these lines are of it, and of no other. `disksim` and `mqsim` have
//! the same five columns, and lines of whole times fit both, as milliseconds and as nanoseconds.
//! The times decide: if, as milliseconds, requests would reach the disk only each ten seconds or
//! more, they are nanoseconds. Closer times are ambiguous: the message names both formats.

use super::error::{TraceError, quoted};
use super::format::Format;
use super::formats::{FORMATS, parse};
use super::{disksim, mqsim};

/// Lines by which a format is recognised. One could be chance.
const LINES: usize = 16;
/// The longest beginning of a file that detection reads.
pub(super) const BYTES: usize = 16 << 10;

/// Formats of the same columns.
const BOTH: (&str, &str) = (disksim::FORMAT.name, mqsim::FORMAT.name);
/// The mean gap that separates nanoseconds from milliseconds: 10 µs, or 10 s.
const GAP: u64 = 10_000;

/// The format of a file that begins with `head`, unpacked; `None` if no format fits or if several
/// do.
pub fn detect(head: &[u8]) -> Option<&'static Format> {
    match candidates(head)[..] {
        [format] => Some(format),
        _ => None,
    }
}

fn candidates(head: &[u8]) -> Vec<&'static Format> {
    let end = match memchr::memchr_iter(b'\n', head).take(LINES).last() {
        Some(end) => end + 1,
        None => head.len(),
    };
    // A beginning without a request, such as events of other kinds, fits as well.
    let fits = |format: &&Format| {
        matches!(parse(&head[..end], format), Ok(_) | Err(TraceError::Empty { .. }))
    };
    if head.trim_ascii().is_empty() {
        return Vec::new();
    }
    let found: Vec<_> = FORMATS.iter().filter(fits).collect();
    match found[..] {
        [one, other] if (one.name, other.name) == BOTH && are_nanoseconds(&head[..end]) => {
            vec![other]
        }
        _ => found,
    }
}

/// Whether whole times of requests are so far apart that they are no milliseconds.
fn are_nanoseconds(head: &[u8]) -> bool {
    let trace = parse(head, &mqsim::FORMAT);
    trace.is_ok_and(|trace| {
        let gaps = trace.records.len() as u64 - 1;
        gaps > 0 && trace.span().ns() / gaps >= GAP
    })
}

/// The error for a file that begins with `head` and has no format that can be detected.
pub(super) fn unknown(head: &[u8]) -> TraceError {
    let names = |formats: &[&Format]| {
        formats.iter().map(|format| format.name).collect::<Vec<_>>().join(", ")
    };
    let hint = match &candidates(head)[..] {
        [] => format!("name the format; known are {}", names(&FORMATS.iter().collect::<Vec<_>>())),
        several => format!("name the format; it could be one of {}", names(several)),
    };
    let line = head.split(|&byte| byte == b'\n').next().unwrap_or_default().trim_ascii();
    let found = if head.is_empty() { "an empty file".into() } else { quoted(line) };
    TraceError::Unknown { found, hint: Some(hint) }
}
