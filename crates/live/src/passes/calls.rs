//! Blocking calls: `lseek` with `read` and `write`, `pread` and `pwrite`, `preadv` and `pwritev`.

use std::fs::File;
use std::io::{self, IoSlice, IoSliceMut};

use rustix::fs::{SeekFrom, seek};
use rustix::io::{Errno, pread, preadv, pwrite, pwritev, read, write};

use crate::passes::data::PassData;
use crate::passes::error::RecordFailed;
use crate::passes::file_test::CallKind;
use crate::passes::form::{Form, RecordBuffers};

/// A file and the calls that are made on it.
pub(crate) struct BlockingCalls {
    file: File,
    kind: CallKind,
    buffers: RecordBuffers,
    /// The position of the open file.
    position: u64,
}

impl BlockingCalls {
    /// Makes calls of this kind on `file`, whose position is its beginning.
    pub(crate) fn new(file: File, kind: CallKind, buffers: RecordBuffers) -> Self {
        Self { file, kind, buffers, position: 0 }
    }
}

/// Sets the position of `file` to `at`, unless it is there.
#[inline]
fn seek_to(file: &File, position: &mut u64, at: u64) -> Result<(), Errno> {
    if *position != at {
        seek(file, SeekFrom::Start(at))?;
        *position = at;
    }
    Ok(())
}

/// Repeats `call`, which gets the number of bytes that were moved and moves some more, until it has moved `len`.
#[inline]
fn moved_all(
    len: usize,
    end: io::ErrorKind,
    mut call: impl FnMut(usize) -> Result<usize, Errno>,
) -> io::Result<()> {
    let mut moved = 0;
    while moved < len {
        match call(moved) {
            Ok(0) => return Err(end.into()),
            Ok(count) => moved += count,
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
    Ok(())
}

impl Form for BlockingCalls {
    #[inline]
    fn read(&mut self, at: u64, data: &mut PassData) -> Result<(), RecordFailed> {
        let Self { file, kind, buffers, position } = self;
        let bytes = buffers.bytes(0);
        let result = moved_all(bytes.len(), io::ErrorKind::UnexpectedEof, |moved| {
            let (rest, from) = (&mut bytes[moved..], at + moved as u64);
            match kind {
                CallKind::Positioned => pread(&*file, rest, from),
                CallKind::Vectored => preadv(&*file, &mut [IoSliceMut::new(rest)], from),
                CallKind::Plain | CallKind::Stream => {
                    seek_to(file, position, from)?;
                    let count = read(&*file, rest)?;
                    *position += count as u64;
                    Ok(count)
                }
            }
        });
        result.map_err(|source| RecordFailed::Call { doing: "read", at, source })?;
        Ok(data.check(at, bytes)?)
    }

    #[inline]
    fn write(&mut self, at: u64, data: &mut PassData) -> Result<(), RecordFailed> {
        let Self { file, kind, buffers, position } = self;
        let bytes = buffers.bytes(0);
        data.prepare(at, bytes);
        let result = moved_all(bytes.len(), io::ErrorKind::WriteZero, |moved| {
            let (rest, from) = (&bytes[moved..], at + moved as u64);
            match kind {
                CallKind::Positioned => pwrite(&*file, rest, from),
                CallKind::Vectored => pwritev(&*file, &[IoSlice::new(rest)], from),
                CallKind::Plain | CallKind::Stream => {
                    seek_to(file, position, from)?;
                    let count = write(&*file, rest)?;
                    *position += count as u64;
                    Ok(count)
                }
            }
        });
        result.map_err(|source| RecordFailed::Call { doing: "write", at, source })
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.sync_all()
    }
}
