//! Lines of a file that may be packed. No line is copied, and only one buffer of the file is in
//! memory.

use std::io::{self, Read};

use memchr::memchr;

use super::error::{Parsed, TraceError, quoted};
use super::packing::{Packing, unpack};

/// A trace's line has some hundred bytes; a longer one is something else, perhaps an image.
const LINE_BYTES_MAX: usize = 64 << 10;
/// Larger than the longest line, small enough for the processor's cache.
const BUFFER_BYTES: usize = 256 << 10;

/// The lines of a trace, read once from the beginning to the end.
pub struct Lines<'a> {
    text: Box<dyn Read + 'a>,
    packing: Packing,
    buffer: Vec<u8>,
    /// The next line begins here, and no line ends before `searched`.
    start: usize,
    searched: usize,
    filled: usize,
    /// Lines handed out.
    number: u64,
    ended: bool,
    /// The last line handed out had no line end: it may have been cut off.
    unended: bool,
}

impl<'a> Lines<'a> {
    /// The lines of `input`, unpacked if it is packed.
    ///
    /// # Errors
    /// If its first bytes cannot be read.
    pub fn new(input: impl Read + 'a) -> Result<Self, TraceError> {
        let unpacked = unpack(input).map_err(|source| TraceError::Input { line: 1, source });
        let (packing, text) = unpacked?;
        let buffer = vec![0; BUFFER_BYTES];
        let (start, searched, filled) = (0, 0, 0);
        let (number, ended, unended) = (0, false, false);
        Ok(Self { text, packing, buffer, start, searched, filled, number, ended, unended })
    }

    /// Lines handed out so far.
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// The beginning of the next lines, at least one line unless the file ends before.
    pub(super) fn peek(&mut self) -> Result<&[u8], TraceError> {
        while !self.ended && self.filled - self.start < LINE_BYTES_MAX {
            self.fill()?;
        }
        Ok(&self.buffer[self.start..self.filled])
    }

    /// Hands each line that is not blank to `one`, with its number.
    pub(super) fn each(
        &mut self,
        mut one: impl FnMut(&[u8], u32) -> Parsed<()>,
    ) -> Result<(), TraceError> {
        while let Some((start, end)) = self.next()? {
            let text = &self.buffer[start..end];
            // A trace of more lines than 32 bits hold stays in order; only the line numbers stop.
            let number = u32::try_from(self.number).unwrap_or(u32::MAX);
            if text.first().is_none_or(u8::is_ascii_whitespace) && text.trim_ascii().is_empty() {
                continue;
            }
            if let Err(wrong) = one(text, number) {
                return Err(wrong.at(self.number, self.hint(text)));
            }
        }
        Ok(())
    }

    /// A possible reason why a line is not of the format.
    #[cold]
    fn hint(&self, text: &[u8]) -> Option<&'static str> {
        if self.number == 1 && !is_text(text) {
            return Some(
                "this is not text; gzip and zstd are unpacked, other archives are not, and \
                 blktrace's own files are turned into text by blkparse",
            );
        }
        self.unended.then_some("the file ends within this line: it may have been cut off")
    }

    /// Where the next line lies in the buffer, without its end.
    fn next(&mut self) -> Result<Option<(usize, usize)>, TraceError> {
        loop {
            let found = memchr(b'\n', &self.buffer[self.searched..self.filled]);
            let end = match found {
                Some(offset) => self.searched + offset,
                None => self.filled,
            };
            if end - self.start > LINE_BYTES_MAX {
                return Err(self.too_long());
            }
            if found.is_none() && !self.ended {
                self.searched = self.filled;
                self.fill()?;
                continue;
            }
            if found.is_none() && self.start == self.filled {
                return Ok(None);
            }
            let start = self.start;
            self.start = if found.is_some() { end + 1 } else { end };
            self.searched = self.start;
            self.unended = found.is_none();
            self.number += 1;
            let carriage_return = end > start && self.buffer[end - 1] == b'\r';
            return Ok(Some((start, end - usize::from(carriage_return))));
        }
    }

    /// Reads more behind the present content, after moving that to the front.
    fn fill(&mut self) -> Result<(), TraceError> {
        self.buffer.copy_within(self.start..self.filled, 0);
        self.filled -= self.start;
        self.searched = self.searched.saturating_sub(self.start);
        self.start = 0;
        match self.text.read(&mut self.buffer[self.filled..]) {
            Ok(0) => self.ended = true,
            Ok(read) => self.filled += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(self.unreadable(error)),
        }
        Ok(())
    }

    #[cold]
    fn too_long(&self) -> TraceError {
        let head = &self.buffer[self.start..self.filled];
        let kib = LINE_BYTES_MAX >> 10;
        let found = format!("a line of more than {kib} KiB that begins {}", quoted(head));
        let hint = (!is_text(head)).then(|| "this is not text".into());
        let expected = "a line of a trace".into();
        TraceError::Line { line: self.number + 1, found, expected, hint }
    }

    #[cold]
    fn unreadable(&self, source: io::Error) -> TraceError {
        // An error with a number comes from the machine, one without from the unpacking.
        let line = self.number + 1 + memchr::memchr_iter(b'\n', self.waiting()).count() as u64;
        if self.packing == Packing::Plain || source.raw_os_error().is_some() {
            return TraceError::Input { line, source };
        }
        let packing = self.packing;
        let (what, hint) = if is_cut(&source) {
            ("ends before its end".into(), "the file is cut off: copy or download it again")
        } else {
            (format!("is damaged: {source}"), "copy or download the file again")
        };
        TraceError::Packed { line, packing, what, hint: Some(hint.into()) }
    }

    fn waiting(&self) -> &[u8] {
        &self.buffer[self.start..self.filled]
    }
}

/// Whether this error, or its source, means that the data ends too early.
fn is_cut(error: &io::Error) -> bool {
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(error) = cause {
        let io = error.downcast_ref::<io::Error>();
        if io.is_some_and(|io| io.kind() == io::ErrorKind::UnexpectedEof) {
            return true;
        }
        let inner = io.and_then(io::Error::get_ref);
        cause = match inner {
            Some(inner) => Some(inner),
            None => error.source(),
        };
    }
    false
}

/// Whether the first bytes are those of a text.
fn is_text(head: &[u8]) -> bool {
    let head = &head[..head.len().min(256)];
    // A character that is cut at the end does not count as wrong.
    let utf8 = std::str::from_utf8(head).map_or_else(|e| e.error_len().is_none(), |_| true);
    utf8 && !head.iter().any(|&byte| byte < b' ' && !byte.is_ascii_whitespace())
}
