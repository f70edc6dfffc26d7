//! Lines of a file.

use memchr::memchr;

use super::error::{Parsed, Place, TraceError, quoted};
use super::input::{Input, not_text};

/// A trace's line has some hundred bytes; a longer one is something else, perhaps an image.
const LINE_BYTES_MAX: usize = 64 << 10;
/// Lines that a trial looks at. One could be chance.
const TRIAL_LINES: u64 = 16;
/// What some programs write in front of text in UTF-8.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

impl Input<'_> {
    /// Hands each line that is not blank to `one`, with its number.
    pub(super) fn lines(
        &mut self,
        mut one: impl FnMut(&[u8], u32) -> Parsed<()>,
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
                // The beginning of a file may end within a line.
                return Ok(());
            }
            if text.first().is_none_or(u8::is_ascii_whitespace) && text.trim_ascii().is_empty() {
                continue;
            }
            let parsed = one(text, self.place.number());
            let parsed = parsed.map_err(|wrong| wrong.at(self.place, hint(number, text, ended)));
            self.seen();
            match parsed {
                Err(error) if !self.goes_on() => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }

    /// The line behind the one numbered `before`.
    #[inline]
    fn next_line(&mut self, before: u64) -> Result<Option<NextLine>, TraceError> {
        match memchr(b'\n', self.waiting()) {
            Some(len) if len <= LINE_BYTES_MAX => Ok(Some(self.line(len, true))),
            _ => self.next_line_of_more(before),
        }
    }

    /// The line behind the one numbered `before`, of which more is to be read.
    #[cold]
    fn next_line_of_more(&mut self, before: u64) -> Result<Option<NextLine>, TraceError> {
        // No line ends before this, counted from the start of what waits.
        let mut searched = 0;
        loop {
            let waiting = self.waiting();
            let found = memchr(b'\n', &waiting[searched..]).map(|offset| searched + offset);
            let len = found.unwrap_or(waiting.len());
            if len > LINE_BYTES_MAX {
                return Err(too_long(before + 1, waiting));
            }
            if found.is_none() && !self.ended {
                searched = len;
                self.fill()?;
                continue;
            }
            if found.is_none() && len == 0 {
                return Ok(None);
            }
            return Ok(Some(self.line(len, found.is_some())));
        }
    }

    /// The line of the next `len` bytes, which has a line end or is cut off.
    #[inline]
    fn line(&mut self, len: usize, ended: bool) -> NextLine {
        let (start, end) = (self.start, self.start + len);
        self.start = end + usize::from(ended);
        let text = &self.buffer[start..end];
        let carriage_return = text.last() == Some(&b'\r');
        NextLine { start, end: end - usize::from(carriage_return), ended }
    }
}

/// Where a line lies in the buffer, without its end.
struct NextLine {
    start: usize,
    end: usize,
    /// It has a line end: it is not cut off.
    ended: bool,
}

/// A possible reason why a line is not of the format.
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
