//! Lines of a file.

use memchr::memchr;

use super::error::{Parsed, Place, TraceError, quoted};
use super::input::{Input, not_text};

/// Bytes of the longest line: lines of traces have some hundred bytes, so a file with a longer one
/// is something else, perhaps an image.
const LINE_BYTES_MAX: usize = 64 << 10;
/// Number of lines that a trial reads. A single one could match by chance.
const TRIAL_LINES: u64 = 16;
/// The mark that some programs write in front of UTF-8 text.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

impl Input<'_> {
    /// Calls `handle` for each line that is not blank, with its number.
    pub(super) fn lines(
        &mut self,
        mut handle: impl FnMut(&[u8], u32) -> Parsed<()>,
    ) -> Result<(), TraceError> {
        let mut number = 0_u64;
        while let Some(NextLine { start, end, ended }) = self.next_line(number)? {
            number += 1;
            self.place = Place::Line(number);
            let mut text = &self.buffer[start..end];
            if number == 1 {
                text = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
            }
            if self.trial.is_some() && (number > TRIAL_LINES || (number > 1 && !ended)) {
                // The beginning of a file may end in the middle of a line.
                return Ok(());
            }
            if text.first().is_none_or(u8::is_ascii_whitespace) && text.trim_ascii().is_empty() {
                continue;
            }
            let parsed = handle(text, self.place.number());
            let hint = if parsed.is_err() { hint(number, text, ended) } else { None };
            self.count(parsed, self.place, hint)?;
        }
        Ok(())
    }

    /// The line after the one numbered `before`.
    #[inline]
    fn next_line(&mut self, before: u64) -> Result<Option<NextLine>, TraceError> {
        match memchr(b'\n', self.waiting()) {
            Some(len) if len <= LINE_BYTES_MAX => Ok(Some(self.line(len, true))),
            _ => self.next_line_of_more(before),
        }
    }

    /// The line after the one numbered `before`, if it is not completely in the buffer.
    #[cold]
    fn next_line_of_more(&mut self, before: u64) -> Result<Option<NextLine>, TraceError> {
        // The first bytes of the waiting ones, in which no line ends.
        let mut searched = 0;
        loop {
            let waiting = self.waiting();
            let line_end = memchr(b'\n', &waiting[searched..]).map(|offset| searched + offset);
            let len = line_end.unwrap_or(waiting.len());
            if len > LINE_BYTES_MAX {
                return Err(too_long(before + 1, waiting));
            }
            if line_end.is_none() && !self.ended {
                searched = len;
                self.fill()?;
                continue;
            }
            if line_end.is_none() && len == 0 {
                return Ok(None);
            }
            return Ok(Some(self.line(len, line_end.is_some())));
        }
    }

    /// Takes the line of the next `len` bytes. `ended` says whether a line end follows.
    #[inline]
    fn line(&mut self, len: usize, ended: bool) -> NextLine {
        let (start, end) = (self.start, self.start + len);
        self.start = end + usize::from(ended);
        let text = &self.buffer[start..end];
        let carriage_return = text.last() == Some(&b'\r');
        NextLine { start, end: end - usize::from(carriage_return), ended }
    }
}

/// The place of a line in the buffer, without its line end.
struct NextLine {
    start: usize,
    end: usize,
    /// Whether it has a line end; otherwise it may be cut off.
    ended: bool,
}

/// Returns a possible reason why a line is not of the format.
#[cold]
fn hint(number: u64, text: &[u8], ended: bool) -> Option<&'static str> {
    if number == 1
        && let Some(reason) = not_text(text)
    {
        return Some(reason);
    }
    (!ended).then_some("the file ends within this line: it may have been cut off")
}

#[cold]
fn too_long(line: u64, head: &[u8]) -> TraceError {
    let kib = LINE_BYTES_MAX >> 10;
    let found = format!("a line of more than {kib} KiB that begins {}", quoted(head));
    let hint = not_text(head).map(Into::into);
    let expected = "a line of a trace".into();
    TraceError::Unexpected { place: Place::Line(line), found, expected, hint }
}
