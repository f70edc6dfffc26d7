//! Tar archives: the one file in an archive is read as if it stood alone.
//!
//! An archive is a row of members, each a header of 512 bytes and its content, padded to 512 bytes;
//! a block of zeros ends it. Folders and the attributes of members are passed over. An archive of
//! several files is an error that names two of them. Source: POSIX.1-2017, pax, "ustar Interchange
//! Format".

use std::io::{self, Read};

use thiserror::Error;

/// Headers and contents begin at multiples of this.
const BLOCK: usize = 512;
/// Where the header has the name, its kind, its length and the mark of the format.
const NAME: std::ops::Range<usize> = 0..100;
const LENGTH: std::ops::Range<usize> = 124..136;
const KIND: usize = 156;
const MARK: std::ops::Range<usize> = 257..262;

/// Why an archive cannot be read as one file.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum ArchiveError {
    /// It holds more than one file.
    #[error(
        "found a tar archive of several files, `{first}` and `{second}` among them, expected one \
         file\nhint: unpack it with `tar -xf` and name one of them"
    )]
    Several {
        /// The first file in it.
        first: String,
        /// The second.
        second: String,
    },
    /// It holds no file.
    #[error("found a tar archive without a file, expected one file in it")]
    None,
    /// It ends too early.
    #[error(
        "found a tar archive that ends before its end\nhint: the file is cut off: copy or download \
         it again"
    )]
    Cut,
    /// What stands between its members is no header.
    #[error(
        "found a tar archive whose header at byte {byte} is damaged\nhint: copy or download the \
         file again"
    )]
    Damaged {
        /// Where.
        byte: u64,
    },
}

impl From<ArchiveError> for io::Error {
    fn from(error: ArchiveError) -> Self {
        Self::new(io::ErrorKind::InvalidData, error)
    }
}

/// The one file in an archive, or the same bytes if they are none.
pub(super) struct Untar<R> {
    inner: R,
    state: Untarring,
}

enum Untarring {
    /// Nothing has been read.
    Begin,
    /// No archive: these bytes were read to find that out, and perhaps an error behind them.
    Plain(io::Cursor<Vec<u8>>, Option<io::Error>),
    /// In the content of the file.
    Content { file: Member, left: u64 },
    /// Behind the file.
    End,
}

impl<R: Read> Untar<R> {
    pub(super) fn new(inner: R) -> Self {
        Self { inner, state: Untarring::Begin }
    }

    /// The next block, or what there is of it and why there is no more.
    fn block(&mut self) -> (Vec<u8>, io::Result<()>) {
        let mut block = Vec::with_capacity(BLOCK);
        let read = self.inner.by_ref().take(BLOCK as u64).read_to_end(&mut block);
        (block, read.map(drop))
    }

    /// Begins to read the bytes: those of the first file if they are an archive.
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

    /// The first file from the header `block` on, which begins at `byte`. What is no file is passed
    /// over.
    fn file(&mut self, mut block: Vec<u8>, mut byte: u64) -> io::Result<Option<Member>> {
        // An archive ends in blocks of zeros, or with its last member.
        while block.iter().any(|&byte| byte != 0) {
            if block.len() < BLOCK {
                return Err(ArchiveError::Cut.into());
            }
            let member = Member::of(&block, byte).ok_or(ArchiveError::Damaged { byte })?;
            if matches!(block[KIND], b'0' | 0 | b'7') {
                return Ok(Some(member));
            }
            self.pass(member.next - byte - BLOCK as u64)?;
            byte = member.next;
            block = self.next_block()?;
        }
        Ok(None)
    }

    fn next_block(&mut self) -> io::Result<Vec<u8>> {
        let (block, read) = self.block();
        read.map(|()| block)
    }

    /// Passes over `bytes` bytes.
    fn pass(&mut self, bytes: u64) -> io::Result<()> {
        let passed = io::copy(&mut self.inner.by_ref().take(bytes), &mut io::sink())?;
        if passed < bytes { Err(ArchiveError::Cut.into()) } else { Ok(()) }
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
                    let most = buffer.len().min(usize::try_from(*left).unwrap_or(usize::MAX));
                    let read = self.inner.read(&mut buffer[..most])?;
                    *left -= read as u64;
                    let cut = read == 0 && most > 0;
                    return if cut { Err(ArchiveError::Cut.into()) } else { Ok(read) };
                }
                Untarring::Content { file: first, .. } => {
                    let first = std::mem::take(first);
                    self.state = Untarring::End;
                    self.pass(first.padding())?;
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
    /// Where the next header begins.
    next: u64,
}

impl Member {
    /// The member whose header `block` begins at `byte`; `None` if that is no header.
    fn of(block: &[u8], byte: u64) -> Option<Self> {
        let length = octal(&block[LENGTH]).filter(|_| block[MARK] == *b"ustar")?;
        let padded = length.checked_next_multiple_of(BLOCK as u64)?;
        let next = padded.checked_add(byte)?.checked_add(BLOCK as u64)?;
        let name = block[NAME].split(|&byte| byte == 0).next().unwrap_or_default();
        Some(Self { name: String::from_utf8_lossy(name).into_owned(), length, next })
    }

    /// The bytes between the end of its content and the next header.
    fn padding(&self) -> u64 {
        self.length.next_multiple_of(BLOCK as u64) - self.length
    }
}

/// A number in octal digits, between blanks or zeros.
fn octal(field: &[u8]) -> Option<u64> {
    let digits = field.trim_ascii().split(|&byte| byte == 0 || byte == b' ').next()?;
    let digits = std::str::from_utf8(digits).ok()?;
    u64::from_str_radix(digits, 8).ok()
}
