//! Tar archives: the single file in an archive is read as if it were not in one.
//!
//! An archive is a sequence of members, each a header of 512 bytes and its content, padded to 512
//! bytes; a block of zeros ends it. Folders and the attributes of members are skipped. An archive
//! of several files is an error that names two of them. Source: POSIX.1-2017, pax, "ustar
//! Interchange Format".

use std::io::{self, Read};

use thiserror::Error;

/// Bytes of which the beginnings of headers and contents are multiples.
const BLOCK: usize = 512;
/// Places of the name, the length, the kind and the mark of the format in a header.
const NAME: std::ops::Range<usize> = 0..100;
const LENGTH: std::ops::Range<usize> = 124..136;
const KIND: usize = 156;
const MARK: std::ops::Range<usize> = 257..262;

/// The reason why an archive cannot be read as a single file.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum ArchiveError {
    /// It contains more than one file.
    #[error(
        "found a tar archive of several files, `{first}` and `{second}` among them, expected one \
         file\nhint: unpack it with `tar -xf` and name one of them"
    )]
    Several {
        /// Name of the first file.
        first: String,
        /// Name of the second file.
        second: String,
    },
    /// It contains no file.
    #[error("found a tar archive without a file, expected one file in it")]
    None,
    /// It ends too early.
    #[error(
        "found a tar archive that ends before its end\nhint: the file is cut off: copy or download \
         it again"
    )]
    Cut,
    /// A header is damaged.
    #[error(
        "found a tar archive whose header at byte {byte} is damaged\nhint: copy or download the \
         file again"
    )]
    Damaged {
        /// First byte of the header.
        byte: u64,
    },
}

impl From<ArchiveError> for io::Error {
    fn from(error: ArchiveError) -> Self {
        Self::new(io::ErrorKind::InvalidData, error)
    }
}

/// Reads the single file in an archive; reads input that is not an archive unchanged.
pub(super) struct Untar<R> {
    inner: R,
    state: Untarring,
}

enum Untarring {
    /// Nothing has been read.
    Begin,
    /// The input is not an archive: the bytes read to find that out, and an error behind them, if
    /// any.
    Plain(io::Cursor<Vec<u8>>, Option<io::Error>),
    /// The content of the file is being read.
    Content { file: Member, left: u64 },
    /// The file was read.
    End,
}

impl<R: Read> Untar<R> {
    pub(super) fn new(inner: R) -> Self {
        Self { inner, state: Untarring::Begin }
    }

    /// Reads the next block. Returns the bytes that could be read, and the error behind them, if
    /// any.
    fn block(&mut self) -> (Vec<u8>, io::Result<()>) {
        let mut block = Vec::with_capacity(BLOCK);
        let read = self.inner.by_ref().take(BLOCK as u64).read_to_end(&mut block);
        (block, read.map(drop))
    }

    /// Reads the first block, and finds the first file if the input is an archive.
    fn begin(&mut self) -> io::Result<()> {
        let (block, read) = self.block();
        self.state = if block.len() == BLOCK && block[MARK] == *b"ustar" {
            let file = self.file(block, 0)?.ok_or(ArchiveError::None)?;
            Untarring::Content { left: file.length, file }
        } else {
            Untarring::Plain(io::Cursor::new(block), read.err())
        };
        Ok(())
    }

    /// Finds the first file from the header `block` on, which begins at `byte`. Skips members that
    /// are not files.
    fn file(&mut self, mut block: Vec<u8>, mut byte: u64) -> io::Result<Option<Member>> {
        // An archive ends in blocks of zeros, or with its last member.
        while block.iter().any(|&byte| byte != 0) {
            if block.len() < BLOCK {
                return Err(ArchiveError::Cut.into());
            }
            let member = Member::parse(&block, byte).ok_or(ArchiveError::Damaged { byte })?;
            if matches!(block[KIND], b'0' | 0 | b'7') {
                return Ok(Some(member));
            }
            self.skip(member.next - byte - BLOCK as u64)?;
            byte = member.next;
            block = self.next_block()?;
        }
        Ok(None)
    }

    fn next_block(&mut self) -> io::Result<Vec<u8>> {
        let (block, read) = self.block();
        read.map(|()| block)
    }

    /// Skips `bytes` bytes.
    fn skip(&mut self, bytes: u64) -> io::Result<()> {
        let skipped = io::copy(&mut self.inner.by_ref().take(bytes), &mut io::sink())?;
        if skipped < bytes { Err(ArchiveError::Cut.into()) } else { Ok(()) }
    }
}

impl<R: Read> Read for Untar<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match &mut self.state {
                Untarring::Begin => self.begin()?,
                Untarring::Plain(head, error) => {
                    let read = head.read(buffer)?;
                    return match error.take_if(|_| read == 0) {
                        Some(error) => Err(error),
                        None if read == 0 => self.inner.read(buffer),
                        None => Ok(read),
                    };
                }
                Untarring::Content { left, .. } if *left > 0 => {
                    let limit = buffer.len().min(usize::try_from(*left).unwrap_or(usize::MAX));
                    let read = self.inner.read(&mut buffer[..limit])?;
                    *left -= read as u64;
                    let cut = read == 0 && limit > 0;
                    return if cut { Err(ArchiveError::Cut.into()) } else { Ok(read) };
                }
                Untarring::Content { file: first, .. } => {
                    let first = std::mem::take(first);
                    self.state = Untarring::End;
                    self.skip(first.padding())?;
                    let block = self.next_block()?;
                    if let Some(second) = self.file(block, first.next)? {
                        let (first, second) = (first.name, second.name);
                        return Err(ArchiveError::Several { first, second }.into());
                    }
                }
                Untarring::End => return Ok(0),
            }
        }
    }
}

/// A member of an archive.
#[derive(Default)]
struct Member {
    name: String,
    length: u64,
    /// First byte of the next header.
    next: u64,
}

impl Member {
    /// Parses the header `block`, which begins at `byte`; `None` if it is not a header.
    fn parse(block: &[u8], byte: u64) -> Option<Self> {
        let length = octal(&block[LENGTH]).filter(|_| block[MARK] == *b"ustar")?;
        let padded = length.checked_next_multiple_of(BLOCK as u64)?;
        let next = padded.checked_add(byte)?.checked_add(BLOCK as u64)?;
        let name = block[NAME].split(|&byte| byte == 0).next().unwrap_or_default();
        Some(Self { name: String::from_utf8_lossy(name).into_owned(), length, next })
    }

    /// Number of bytes between the end of its content and the next header.
    fn padding(&self) -> u64 {
        self.length.next_multiple_of(BLOCK as u64) - self.length
    }
}

/// Parses a number in octal digits, which blanks and zero bytes may surround.
fn octal(field: &[u8]) -> Option<u64> {
    let digits = field.trim_ascii().split(|&byte| byte == 0 || byte == b' ').next()?;
    let digits = std::str::from_utf8(digits).ok()?;
    u64::from_str_radix(digits, 8).ok()
}
