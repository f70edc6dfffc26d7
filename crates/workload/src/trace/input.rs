//! The unpacked content of a file. Lines and records are not copied, and only one buffer of the
//! file is in memory. `lines` iterates over lines, `records` over binary records.

use std::io::{self, Read};

use super::error::{ParseError, Parsed, Place, TraceError};
use super::odd_lines::OddLines;
use super::packing::{MEMORY_MIB, Packing, unpack};
use super::stopping;
use super::tar::{ArchiveError, Untar};

/// Bytes of the longest line or record, with some room.
pub(super) const PIECE_BYTES_MAX: usize = 66 << 10;
/// Bytes of the buffer: more than the longest piece, and small enough for the processor's cache.
const BUFFER_BYTES: usize = 256 << 10;

/// The content of a trace's file, read once from the beginning to the end.
pub struct Input<'a> {
    bytes: Box<dyn Read + 'a>,
    packing: Packing,
    pub(super) buffer: Vec<u8>,
    /// The bytes that have not been handed out are in the buffer from here to `filled`.
    pub(super) start: usize,
    pub(super) filled: usize,
    pub(super) ended: bool,
    /// Place of the line or record that was handed out last.
    pub(super) place: Place,
    /// The odd lines or records so far.
    pub(super) odd: OddLines,
    /// Set in a trial of a format on the beginning of a file.
    pub(super) trial: Option<Trial>,
}

/// Counts how well the beginning of a file fits a format. A trial does not end at the first error.
#[derive(Clone, Copy, Default)]
pub(super) struct Trial {
    /// Number of lines or records that are not blank.
    pub(super) pieces: usize,
    /// Number of those that are not of the format.
    pub(super) wrong: usize,
    /// Whether a heading proves the format, whatever follows.
    pub(super) headed: bool,
}

impl<'a> Input<'a> {
    /// Creates an input of the content of `input`, which is unpacked if it is packed.
    ///
    /// # Errors
    /// If its first bytes cannot be read.
    pub fn new(input: impl Read + 'a) -> Result<Self, TraceError> {
        let unpacked = unpack(input);
        let (packing, bytes) =
            unpacked.map_err(|source| TraceError::Input { place: Place::Line(1), source })?;
        Ok(Self::with_bytes(packing, Box::new(Untar::new(bytes))))
    }

    /// Creates an input for a trial of a format on `head`, the unpacked beginning of a file.
    pub(super) fn trial(head: &'a [u8]) -> Self {
        let input = Self::with_bytes(Packing::Plain, Box::new(head));
        Self { trial: Some(Trial::default()), ..input }
    }

    fn with_bytes(packing: Packing, bytes: Box<dyn Read + 'a>) -> Self {
        let buffer = vec![0; BUFFER_BYTES];
        Self {
            bytes,
            packing,
            buffer,
            start: 0,
            filled: 0,
            ended: false,
            place: Place::Line(0),
            odd: OddLines::default(),
            trial: None,
        }
    }

    /// Returns the next bytes without consuming them: at least one line or record, unless the file
    /// ends before.
    pub(super) fn peek(&mut self) -> Result<&[u8], TraceError> {
        while !self.ended && self.waiting().len() < PIECE_BYTES_MAX {
            self.fill()?;
        }
        Ok(self.waiting())
    }

    /// Counts a line or a record, of which `parsed` says whether it is of the format. An error in it
    /// is at `place`, and `hint` may explain it.
    ///
    /// # Errors
    /// If the line or record is wrong, and this is not a trial.
    #[inline]
    pub(super) fn count(
        &mut self,
        parsed: Parsed<()>,
        place: Place,
        hint: Option<&str>,
    ) -> Result<(), TraceError> {
        if let Some(trial) = &mut self.trial {
            trial.pieces += 1;
        }
        parsed.or_else(|error| self.count_mistake(error, place, hint))
    }

    #[cold]
    fn count_mistake(
        &mut self,
        error: ParseError,
        place: Place,
        hint: Option<&str>,
    ) -> Result<(), TraceError> {
        let oddity = error.oddity();
        let error = error.at(place, hint);
        match (oddity, &mut self.trial) {
            (Some(oddity), _) => self.odd.add(oddity, error),
            (None, Some(trial)) => trial.wrong += 1,
            (None, None) => return Err(error),
        }
        Ok(())
    }

    /// The bytes in the buffer that have not been handed out.
    pub(super) fn waiting(&self) -> &[u8] {
        &self.buffer[self.start..self.filled]
    }

    /// Moves the waiting bytes to the front of the buffer and reads more behind them.
    pub(super) fn fill(&mut self) -> Result<(), TraceError> {
        self.buffer.copy_within(self.start..self.filled, 0);
        self.filled -= self.start;
        self.start = 0;
        match stopping::check().and_then(|()| self.bytes.read(&mut self.buffer[self.filled..])) {
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
        // An error with an OS error number comes from the machine, one without from the unpacking.
        if self.packing == Packing::Plain || source.raw_os_error().is_some() {
            return TraceError::Input { place, source };
        }
        let packing = self.packing;
        let (what, hint) = if source.kind() == io::ErrorKind::OutOfMemory {
            let what = format!("needs more than {MEMORY_MIB} MiB of memory to be unpacked");
            // `zstd` has a limit of its own, the others unpack whatever they wrote.
            let long = if packing == Packing::Zstd { " --long=31" } else { "" };
            (what, format!("unpack the file with `{packing} -d{long}` and name the result"))
        } else if is_cut(&source) {
            let hint = "the file is cut off: copy or download it again";
            ("ends before its end".into(), hint.into())
        } else {
            (format!("is damaged: {source}"), "copy or download the file again".into())
        };
        TraceError::Packed { place, packing, what, hint: Some(hint) }
    }
}

/// Whether this error or one of its causes means that the data ends too early.
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

/// Returns a hint if a file that begins with `head` is not text; `None` if it is.
#[cold]
pub(super) fn not_text(head: &[u8]) -> Option<&'static str> {
    // In UTF-16, one of the two bytes of a Latin letter is zero.
    if let [0xff, 0xfe, _, 0, ..] | [0xfe, 0xff, 0, ..] = head {
        return Some("this is text in UTF-16: `iconv -f UTF-16 -t UTF-8` turns it into UTF-8");
    }
    let head = &head[..head.len().min(256)];
    // A character cut at the end of `head` is not an error.
    let utf8 = std::str::from_utf8(head).map_or_else(|e| e.error_len().is_none(), |_| true);
    if utf8 && !head.iter().any(|&byte| byte < b' ' && !byte.is_ascii_whitespace()) {
        return None;
    }
    Some(
        "this is neither text nor the records of a known program; gzip, xz, zstd and tar are \
         unpacked, other archives are not",
    )
}
