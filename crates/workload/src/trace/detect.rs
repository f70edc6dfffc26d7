//! Detects the format of a file by its first lines.
//!
//! A format matches if these lines are of it, and of no other. If no format matches all of them, the
//! one that matches most, and more than half, is meant: its reader then names the line that is wrong.
//! `disksim` and `mqsim` have the same five columns, and lines of whole times fit both, as
//! milliseconds and as nanoseconds. The times decide: if, as milliseconds, requests would reach the
//! disk only each ten seconds or more, they are nanoseconds. Closer times are ambiguous: the message
//! names both formats.

use super::error::{TraceError, quoted};
use super::format::Format;
use super::formats::FORMATS;
use super::input::{Input, not_text};
use super::recording::Trace;
use super::{disksim, mqsim};

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

/// The formats that fit best.
fn candidates(head: &[u8]) -> Vec<&'static Format> {
    let fits: Vec<_> = FORMATS.iter().map(|format| (mistakes(head, format), format)).collect();
    let Some(least) = fits.iter().filter_map(|&(mistakes, _)| mistakes).min() else {
        return Vec::new();
    };
    let best = fits.into_iter().filter(|&(mistakes, _)| mistakes == Some(least));
    let found: Vec<_> = best.map(|(_, format)| format).collect();
    match found[..] {
        [one, other] if (one.name, other.name) == BOTH && are_nanoseconds(head) => vec![other],
        _ => found,
    }
}

/// How many lines or records are not of this format; `None` if that is half of them or more.
fn mistakes(head: &[u8], format: &Format) -> Option<usize> {
    let mut input = Input::trial(head);
    match (format.read)(&mut input) {
        // A beginning without a request, such as events of other kinds, fits as well.
        Ok(_) | Err(TraceError::Empty { .. }) => {}
        Err(_) => return None,
    }
    let trial = input.trial?;
    (trial.wrong * 2 < trial.seen).then_some(trial.wrong)
}

/// Whether whole times of requests are so far apart that they are no milliseconds.
fn are_nanoseconds(head: &[u8]) -> bool {
    let trace = (mqsim::FORMAT.read)(&mut Input::trial(head));
    trace.is_ok_and(|trace: Trace| {
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
        [] => match not_text(head) {
            Some(reason) => reason.into(),
            None => {
                format!("name the format; known are {}", names(&FORMATS.iter().collect::<Vec<_>>()))
            }
        },
        several => format!("name the format; it could be one of {}", names(several)),
    };
    let line = head.split(|&byte| byte == b'\n').next().unwrap_or_default().trim_ascii();
    let found = if head.is_empty() { "an empty file".into() } else { quoted(line) };
    TraceError::Unknown { found, hint: Some(hint) }
}
