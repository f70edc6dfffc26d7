//! Tar archives: the single file in an archive is read as if it were not in one.
//!
//! Folders and the attributes of members are skipped. An archive of several files is an error that names
//! two of them. The crate `tar` reads the headers. Its archives lend their reader to one member at a time,
//! so each member is read from an archive of its own, which begins where the member before it ends.

use std::io::{self, Cursor, Read};
use std::ops::Range;

use tar::Archive;
use thiserror::Error;

/// Bytes of a header. Headers and contents begin at multiples of it.
const BLOCK: u64 = 512;
/// Place of the mark `ustar` in a header, in every version of the format that has one.
const MARK: Range<usize> = 257..262;

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
    bytes: Watched<R>,
    state: Untarring,
}

enum Untarring {
    /// The state before the first read.
    Begin,
    /// The input is not an archive.
    Plain,
    /// The content of the file is being read, and `left` bytes of it are still to be read.
    Content { file: MemberFile, left: u64 },
    /// The file was read.
    End,
}

/// A file in an archive.
#[derive(Default)]
struct MemberFile {
    name: String,
    length: u64,
}

impl<R: Read> Untar<R> {
    pub(super) fn new(inner: R) -> Self {
        Self { bytes: Watched::new(inner), state: Untarring::Begin }
    }

    /// Finds out whether the input is an archive, and goes to the content of its first file.
    fn begin(&mut self) -> io::Result<()> {
        self.state = if self.bytes.look_ahead().get(MARK) == Some(b"ustar") {
            let file = self.next_file()?.ok_or(ArchiveError::None)?;
            Untarring::Content { left: file.length, file }
        } else {
            Untarring::Plain
        };
        Ok(())
    }

    /// Goes to the content of the next file from a header on; `None` at the end of the archive.
    fn next_file(&mut self) -> io::Result<Option<MemberFile>> {
        let found = first_file(&mut self.bytes);
        found.map_err(|error| match &self.bytes {
            Watched { failed: true, .. } => error,
            Watched { ended: true, .. } => ArchiveError::Cut.into(),
            Watched { position, .. } => ArchiveError::Damaged { byte: position - BLOCK }.into(),
        })
    }

    /// Skips the bytes between the end of the content of `file` and the next header.
    fn skip_padding(&mut self, file: &MemberFile) -> io::Result<()> {
        let padding = file.length.next_multiple_of(BLOCK) - file.length;
        let skipped = io::copy(&mut self.bytes.by_ref().take(padding), &mut io::sink())?;
        if skipped < padding { Err(ArchiveError::Cut.into()) } else { Ok(()) }
    }
}

impl<R: Read> Read for Untar<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match &mut self.state {
                Untarring::Begin => self.begin()?,
                Untarring::Plain => return self.bytes.read(buffer),
                Untarring::Content { left, .. } if *left > 0 => {
                    let limit = buffer.len().min(usize::try_from(*left).unwrap_or(usize::MAX));
                    let read = self.bytes.read(&mut buffer[..limit])?;
                    *left -= read as u64;
                    let cut = read == 0 && limit > 0;
                    return if cut { Err(ArchiveError::Cut.into()) } else { Ok(read) };
                }
                Untarring::Content { file: first, .. } => {
                    let first = std::mem::take(first);
                    self.state = Untarring::End;
                    self.skip_padding(&first)?;
                    if let Some(second) = self.next_file()? {
                        let (first, second) = (first.name, second.name);
                        return Err(ArchiveError::Several { first, second }.into());
                    }
                }
                Untarring::End => return Ok(0),
            }
        }
    }
}

/// Reads `bytes` up to the content of the first member that is a file.
fn first_file(bytes: impl Read) -> io::Result<Option<MemberFile>> {
    for member in Archive::new(bytes).entries()? {
        let member = member?;
        let kind = member.header().entry_type();
        if kind.is_file() || kind.is_contiguous() {
            let name = String::from_utf8_lossy(&member.path_bytes()).into_owned();
            return Ok(Some(MemberFile { name, length: member.size() }));
        }
    }
    Ok(None)
}

/// A reader that remembers how its last read ended, which explains why an archive cannot be read.
struct Watched<R> {
    /// Bytes that were read ahead.
    head: Cursor<Vec<u8>>,
    /// The error behind the bytes that were read ahead.
    error: Option<io::Error>,
    inner: R,
    /// Bytes that have been read.
    position: u64,
    /// The last read found the end.
    ended: bool,
    /// The last read failed.
    failed: bool,
}

impl<R: Read> Watched<R> {
    fn new(inner: R) -> Self {
        let head = Cursor::new(Vec::new());
        Self { head, error: None, inner, position: 0, ended: false, failed: false }
    }

    /// Returns the first header, or as much of it as there is. It is still to be read.
    fn look_ahead(&mut self) -> &[u8] {
        let head = self.head.get_mut();
        self.error = self.inner.by_ref().take(BLOCK).read_to_end(head).err();
        head
    }

    fn read_on(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.head.read(buffer)?;
        match self.error.take_if(|_| read == 0) {
            Some(error) => Err(error),
            None if read == 0 => self.inner.read(buffer),
            None => Ok(read),
        }
    }
}

impl<R: Read> Read for Watched<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.read_on(buffer) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    self.failed = true;
                    return Err(error);
                }
                Ok(read) => {
                    self.position += read as u64;
                    self.ended = read == 0 && !buffer.is_empty();
                    return Ok(read);
                }
            }
        }
    }
}
