//! Packed files: gzip, xz and zstd are unpacked while they are read. The packing is detected from
//! the first bytes, not from the file's name.

use std::fmt;
use std::io::{self, BufRead, BufReader, Read};

use flate2::bufread::GzDecoder;
use lzma_rust2::XzReader;
use ruzstd::decoding::errors::{FrameDecoderError, FrameHeaderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

/// The packing of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Packing {
    /// Not packed.
    Plain,
    /// Packed by `gzip`; several members are concatenated, and zeros behind the last are ignored.
    Gzip,
    /// Packed by `xz`; several streams are concatenated.
    Xz,
    /// Packed by `zstd`; several frames are concatenated.
    Zstd,
}

const GZIP: &[u8] = &[0x1f, 0x8b];
const XZ: &[u8] = &[0xfd, b'7', b'z', b'X', b'Z', 0];
const ZSTD: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];
/// Bytes 1 to 3 of a skippable frame, which holds notes of other programs. A file may begin with
/// one.
const ZSTD_SKIPPABLE: &[u8] = &[0x2a, 0x4d, 0x18];

impl fmt::Display for Packing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Plain => "plain",
            Self::Gzip => "gzip",
            Self::Xz => "xz",
            Self::Zstd => "zstd",
        })
    }
}

/// Memory limit for unpacking, so that a small file cannot exhaust memory: `xz -9` needs 65 MiB, and
/// `zstd --ultra -22` a window of 128 MiB. A file that needs more ends in an error of the kind
/// [`OutOfMemory`](io::ErrorKind::OutOfMemory).
pub(super) const MEMORY_MIB: u32 = 128;

/// Detects the packing of `input` and returns a reader of the unpacked content.
pub(super) fn unpack<'a>(mut input: impl Read + 'a) -> io::Result<(Packing, Box<dyn Read + 'a>)> {
    let mut head = Vec::with_capacity(XZ.len());
    input.by_ref().take(XZ.len() as u64).read_to_end(&mut head)?;
    let packing = if head.starts_with(GZIP) {
        Packing::Gzip
    } else if head.starts_with(XZ) {
        Packing::Xz
    } else if head.starts_with(ZSTD) || head.get(1..4) == Some(ZSTD_SKIPPABLE) {
        Packing::Zstd
    } else {
        Packing::Plain
    };
    let input = io::Cursor::new(head).chain(input);
    let text: Box<dyn Read + 'a> = match packing {
        Packing::Plain => Box::new(input),
        Packing::Gzip => Box::new(Gzip::new(BufReader::new(input))),
        // `lzma-rust2` keeps to a memory limit and unpacks while it is read, without unsafe code in
        // the features used here; `lzma-rs` unpacks xz only as a whole.
        Packing::Xz => Box::new(XzReader::new_mem_limit(input, true, MEMORY_MIB << 10)),
        Packing::Zstd => Box::new(Zstd::new(BufReader::new(input))),
    };
    Ok((packing, text))
}

/// Reads all members of a gzip file, one after the other. As in `gzip`, only zeros may follow the
/// last: tapes and devices of whole blocks leave them.
struct Gzip<R> {
    /// The member that is being read; `None` at the end of the file.
    member: Option<GzDecoder<R>>,
}

impl<R: BufRead> Gzip<R> {
    fn new(packed: R) -> Self {
        Self { member: Some(GzDecoder::new(packed)) }
    }

    /// The member that begins with the next byte of `packed`; `None` at the end of the file.
    fn next_member(mut packed: R) -> io::Result<Option<GzDecoder<R>>> {
        let mut in_zeros = false;
        loop {
            let bytes = packed.fill_buf()?;
            let Some(&first) = bytes.first() else { return Ok(None) };
            let zeros = bytes.iter().take_while(|&&byte| byte == 0).count();
            if first != 0 && !in_zeros {
                return Ok(Some(GzDecoder::new(packed)));
            }
            if zeros < bytes.len() {
                let found = "something else follows the zeros at its end";
                return Err(io::Error::new(io::ErrorKind::InvalidData, found));
            }
            in_zeros = true;
            packed.consume(zeros);
        }
    }
}

impl<R: BufRead> Read for Gzip<R> {
    fn read(&mut self, text: &mut [u8]) -> io::Result<usize> {
        while let Some(member) = &mut self.member {
            let read = member.read(text)?;
            if read > 0 || text.is_empty() {
                return Ok(read);
            }
            let packed = self.member.take().map(GzDecoder::into_inner);
            self.member = packed.map(Self::next_member).transpose()?.flatten();
        }
        Ok(0)
    }
}

/// Reads all frames of a zstd file, one after the other.
///
/// Uses `ruzstd`, not the bindings to the C library: it is slower, but a trace is read only once,
/// no C code processes files of unknown origin, and only a Rust compiler is needed.
struct Zstd<R> {
    packed: R,
    decoder: FrameDecoder,
    in_frame: bool,
}

impl<R: BufRead> Zstd<R> {
    fn new(packed: R) -> Self {
        let mut decoder = FrameDecoder::new();
        decoder.set_max_window_size(u64::from(MEMORY_MIB) << 20);
        Self { packed, decoder, in_frame: false }
    }

    /// Begins the next frame. Returns `false` at the end of the file.
    fn next_frame(&mut self) -> io::Result<bool> {
        while !self.packed.fill_buf()?.is_empty() {
            match self.decoder.init(&mut self.packed) {
                Ok(()) => return Ok(true),
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                    length,
                    ..
                })) => {
                    let mut note = self.packed.by_ref().take(u64::from(length));
                    io::copy(&mut note, &mut io::sink())?;
                }
                Err(error) => return Err(not_decoded(error)),
            }
        }
        Ok(false)
    }
}

fn not_decoded(error: FrameDecoderError) -> io::Error {
    let kind = match error {
        FrameDecoderError::WindowSizeTooBig { .. }
        | FrameDecoderError::FrameHeaderError(FrameHeaderError::WindowTooBig { .. }) => {
            io::ErrorKind::OutOfMemory
        }
        _ => io::ErrorKind::InvalidData,
    };
    io::Error::new(kind, error)
}

impl<R: BufRead> Read for Zstd<R> {
    fn read(&mut self, text: &mut [u8]) -> io::Result<usize> {
        loop {
            if !self.in_frame {
                self.in_frame = self.next_frame()?;
                if !self.in_frame {
                    return Ok(0);
                }
            }
            while self.decoder.can_collect() == 0 && !self.decoder.is_finished() {
                let strategy = BlockDecodingStrategy::UptoBytes(text.len());
                self.decoder.decode_blocks(&mut self.packed, strategy).map_err(not_decoded)?;
            }
            match self.decoder.read(text)? {
                0 => self.in_frame = false,
                read => return Ok(read),
            }
            let written = self.decoder.get_checksum_from_data();
            if written.is_some() && written != self.decoder.get_calculated_checksum() {
                return Err(io::Error::new(io::ErrorKind::InvalidData, "the checksum differs"));
            }
        }
    }
}
