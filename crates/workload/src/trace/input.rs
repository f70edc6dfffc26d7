//! The bytes of a file that may be packed. Nothing is copied, and only one buffer of the file is in
//! memory. `lines` walks over lines, `records` over records of bytes.

use std::io::{self, Read};

use super::error::{Place, TraceError};
use super::packing::{Packing, unpack};
use super::tar::{ArchiveError, Untar};

/// The longest line or record, with some room.
pub(super) const PIECE_BYTES_MAX: usize = 66 << 10;
/// Larger than that, small enough for the processor's cache.
const BUFFER_BYTES: usize = 256 << 10;

/// The content of a trace's file, read once from the beginning to the end.
pub struct Input<'a> {
    bytes: Box<dyn Read + 'a>,
    packing: Packing,
    pub(super) buffer: Vec<u8>,
    /// What has not been handed out yet lies in the buffer from here to `filled`.
    pub(super) start: usize,
    pub(super) filled: usize,
    pub(super) ended: bool,
    /// What was handed out last.
    pub(super) place: Place,
    /// Set if the beginning of a file is tried with a format.
    pub(super) trial: Option<Trial>,
}

/// How well the beginning of a file fits a format: a trial does not end at the first mistake.
#[derive(Clone, Copy, Default)]
pub(super) struct Trial {
    /// Lines or records that are not blank.
    pub(super) seen: usize,
    /// Those of them that are not of the format.
    pub(super) wrong: usize,
}

impl<'a> Input<'a> {
    /// The content of `input`, unpacked if it is packed.
    ///
    /// # Errors
    /// If its first bytes cannot be read.
    pub fn new(input: impl Read + 'a) -> Result<Self, TraceError> {
        let unpacked = unpack(input);
        let (packing, bytes) =
            unpacked.map_err(|source| TraceError::Input { place: Place::Line(1), source })?;
        Ok(Self::of(packing, Box::new(Untar::new(bytes))))
    }

    /// The beginning `head` of a file, unpacked, to be tried with a format.
    pub(super) fn trial(head: &'a [u8]) -> Self {
        let input = Self::of(Packing::Plain, Box::new(head));
        Self { trial: Some(Trial::default()), ..input }
    }

    fn of(packing: Packing, bytes: Box<dyn Read + 'a>) -> Self {
        let buffer = vec![0; BUFFER_BYTES];
        let (start, filled, ended) = (0, 0, false);
        Self { bytes, packing, buffer, start, filled, ended, place: Place::Line(0), trial: None }
    }

    /// The beginning of what comes next, at least one line or record unless the file ends before.
    pub(super) fn peek(&mut self) -> Result<&[u8], TraceError> {
        while !self.ended && self.waiting().len() < PIECE_BYTES_MAX {
            self.fill()?;
        }
        Ok(self.waiting())
    }

    /// Notes that a line or a record was seen.
    pub(super) fn seen(&mut self) {
        if let Some(trial) = &mut self.trial {
            trial.seen += 1;
        }
    }

    /// Notes a line or a record that is not of the format; whether reading goes on.
    pub(super) fn goes_on(&mut self) -> bool {
        if let Some(trial) = &mut self.trial {
            trial.wrong += 1;
        }
        self.trial.is_some()
    }

    /// What lies in the buffer and has not been handed out.
    pub(super) fn waiting(&self) -> &[u8] {
        &self.buffer[self.start..self.filled]
    }

    /// Reads more behind the present content, after moving that to the front.
    pub(super) fn fill(&mut self) -> Result<(), TraceError> {
        self.buffer.copy_within(self.start..self.filled, 0);
        self.filled -= self.start;
        self.start = 0;
        match self.bytes.read(&mut self.buffer[self.filled..]) {
            Ok(0) => self.ended = true,
            Ok(read) => self.filled += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(self.unreadable(error)),
        }
        Ok(())
    }

    #[cold]
    fn unreadable(&self, source: io::Error) -> TraceError {
        if let Some(error) = source.get_ref().and_then(|inner| inner.downcast_ref()) {
            return TraceError::Archive { source: ArchiveError::clone(error) };
        }
        let place = self.place.after(self.waiting());
        // An error with a number comes from the machine, one without from the unpacking.
        if self.packing == Packing::Plain || source.raw_os_error().is_some() {
            return TraceError::Input { place, source };
        }
        let packing = self.packing;
        let (what, hint) = if is_cut(&source) {
            ("ends before its end".into(), "the file is cut off: copy or download it again")
        } else {
            (format!("is damaged: {source}"), "copy or download the file again")
        };
        TraceError::Packed { place, packing, what, hint: Some(hint.into()) }
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

/// Why a file that begins with `head` is not text; `None` if it is.
#[cold]
pub(super) fn not_text(head: &[u8]) -> Option<&'static str> {
    // Of the two bytes of a Latin letter, one is zero.
    if let [0xff, 0xfe, _, 0, ..] | [0xfe, 0xff, 0, ..] = head {
        return Some("this is text in UTF-16: `iconv -f UTF-16 -t UTF-8` turns it into UTF-8");
    }
    let head = &head[..head.len().min(256)];
    // A character that is cut at the end does not count as wrong.
    let utf8 = std::str::from_utf8(head).map_or_else(|e| e.error_len().is_none(), |_| true);
    if utf8 && !head.iter().any(|&byte| byte < b' ' && !byte.is_ascii_whitespace()) {
        return None;
    }
    Some(
        "this is neither text nor the records of a known program; gzip, xz, zstd and tar are \
         unpacked, other archives are not",
    )
}
