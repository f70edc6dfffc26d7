//! Detects the format of a file by its first lines.
//!
//! A format is detected if it matches these lines and no other format does. If none matches all
//! lines, the format that matches most is taken, if it matches more than half or the file begins
//! with its heading; after that, the one whose lines have the same shape. Its reader then names the
//! wrong line. `disksim` and `mqsim` have the same five columns, and lines with whole times fit
//! both, as milliseconds and as nanoseconds. The times decide: if, as milliseconds, requests would
//! arrive on average ten seconds or more apart, they are nanoseconds. Closer times are ambiguous:
//! the message names both formats.

use super::error::{TraceError, quoted};
use super::format::Format;
use super::formats::FORMATS;
use super::input::{Input, not_text};
use super::recording::Trace;
use super::shape;

/// Bytes at the beginning of a file that detection reads, at most.
pub(super) const HEAD_BYTES: usize = 16 << 10;

/// Two formats with the same columns: times in milliseconds, and in nanoseconds.
const AMBIGUOUS: (&str, &str) = ("disksim", "mqsim");
/// Mean gap from which times are taken as nanoseconds (10 µs) and not as milliseconds (10 s).
const NANOSECONDS_GAP: u64 = 10_000;

/// Returns the format of a file whose unpacked content begins with `head`; `None` if no format fits
/// or several do.
pub fn detect(head: &[u8]) -> Option<&'static Format> {
    match candidates(head)[..] {
        [format] => Some(format),
        _ => None,
    }
}

/// Returns the formats that fit best.
fn candidates(head: &[u8]) -> Vec<&'static Format> {
    let fits: Vec<_> = FORMATS.iter().map(|format| (mistakes(head, format), format)).collect();
    let Some(least) = fits.iter().filter_map(|&(mistakes, _)| mistakes).min() else {
        return if not_text(head).is_some() { Vec::new() } else { shape::candidates(head) };
    };
    let best = fits.into_iter().filter(|&(mistakes, _)| mistakes == Some(least));
    let formats: Vec<_> = best.map(|(_, format)| format).collect();
    match formats[..] {
        [first, second]
            if (first.name, second.name) == AMBIGUOUS && are_nanoseconds(head, second) =>
        {
            vec![second]
        }
        _ => formats,
    }
}

/// Returns the number of lines or records that are not of this format; `None` if it is half of them
/// or more, and no heading proves the format.
fn mistakes(head: &[u8], format: &Format) -> Option<usize> {
    let mut input = Input::trial(head);
    match (format.read)(&mut input) {
        // A beginning without a request, for example with other events only, fits as well.
        Ok(_) | Err(TraceError::Empty { .. }) => {}
        Err(_) => return None,
    }
    let trial = input.trial?;
    (trial.headed || trial.wrong * 2 < trial.pieces).then_some(trial.wrong)
}

/// Whether the times that `format` reads as nanoseconds are too far apart to be milliseconds.
fn are_nanoseconds(head: &[u8], format: &Format) -> bool {
    let trace = (format.read)(&mut Input::trial(head));
    trace.is_ok_and(|trace: Trace| {
        let gaps = trace.records.len() as u64 - 1;
        gaps > 0 && trace.span().ns() / gaps >= NANOSECONDS_GAP
    })
}

/// Returns the error for a file that begins with `head` and whose format cannot be detected.
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
