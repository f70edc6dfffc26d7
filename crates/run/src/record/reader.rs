//! Reads a record: its events and its decisions, each in order.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use penstock_core::{
    ClassId, Decision, Errno, Flags, Go, Io, Op, Prio, ReqId, Span, StreamId, Time,
};

use super::format::{
    ADVANCE, ARRIVAL, BUFFER, COMPLETION, DECISION, DECISIONS, END, Event, POSITION, QUEUE, RECORD,
    REFUSED, ROOM, TURN, decisions_of,
};
use super::header::Header;

/// Reads one of the two files.
struct Reader {
    file: BufReader<File>,
    /// Number of bytes read.
    bytes: u64,
    place: EntryPlace,
}

/// The position of the event or decision that is being read.
#[derive(Clone, Copy, Default)]
struct EntryPlace {
    /// Its number, from 1.
    entry: u64,
    /// The byte at which it begins.
    byte: u64,
}

impl EntryPlace {
    /// Adds this position to `error`.
    fn locate(self, error: io::Error) -> io::Error {
        match error.kind() {
            io::ErrorKind::InvalidData => {
                let Self { entry, byte } = self;
                foreign(&format!("{error} (entry {entry}, at byte {byte})"))
            }
            _ => error,
        }
    }
}

impl Reader {
    fn open(path: &Path, format: &str) -> io::Result<(Self, Header)> {
        let mut file = BufReader::with_capacity(BUFFER, File::open(path)?);
        // Bounded: a foreign file may have no line at all.
        let mut line = Vec::new();
        file.by_ref().take(64).read_until(b'\n', &mut line)?;
        if line != format.as_bytes() {
            return Err(foreign(&format!("it does not begin with \"{}\"", format.trim_end())));
        }
        let mut line = Vec::new();
        file.by_ref().take(16 << 20).read_until(b'\n', &mut line)?;
        let header = serde_json::from_slice(&line)
            .map_err(|error| foreign(&format!("its header cannot be read: {error}")))?;
        let bytes = (format.len() + line.len()) as u64;
        Ok((Self { file, bytes, place: EntryPlace::default() }, header))
    }

    /// The tag of the next entry.
    fn tag(&mut self) -> io::Result<u8> {
        self.place = EntryPlace { entry: self.place.entry + 1, byte: self.bytes };
        self.byte()
    }

    fn array<const N: usize>(&mut self) -> io::Result<[u8; N]> {
        let mut bytes = [0; N];
        self.file.read_exact(&mut bytes).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => foreign("it ends in the middle: the run was killed"),
            _ => error,
        })?;
        self.bytes += N as u64;
        Ok(bytes)
    }

    fn byte(&mut self) -> io::Result<u8> {
        Ok(self.array::<1>()?[0])
    }

    fn u32(&mut self) -> io::Result<u32> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    fn u16(&mut self) -> io::Result<u16> {
        Ok(u16::from_le_bytes(self.array()?))
    }

    fn u64(&mut self) -> io::Result<u64> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    fn id(&mut self) -> io::Result<ReqId> {
        Ok(ReqId::new(self.u32()?, self.u32()?))
    }
}

/// Returns `io` if a source can have made it, and otherwise an error: the file is damaged.
fn sound(io: Io) -> io::Result<Io> {
    let ends = io.start.checked_add(u64::from(io.len)).is_some();
    if !ends || (io.len == 0) != (io.op == Op::Flush) {
        return Err(foreign(&format!("it holds a request of {} bytes at {}", io.len, io.start)));
    }
    Ok(io)
}

fn foreign(reason: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, reason)
}

/// The events of a record, in order.
pub struct Events(Reader);

impl Events {
    /// Opens a record.
    ///
    /// # Errors
    /// When it cannot be read or is no record.
    pub fn open(path: &Path) -> io::Result<(Self, Header)> {
        Reader::open(path, RECORD).map(|(reader, header)| (Self(reader), header))
    }

    /// Reads the next event; after the end, the end again.
    ///
    /// # Errors
    /// When the file is cut off or damaged.
    pub fn read(&mut self) -> io::Result<Event> {
        self.event().map_err(|error| self.0.place.locate(error))
    }

    /// Returns the error that the last event cannot be right; `reason` says why.
    pub(super) fn wrong(&self, reason: &str) -> io::Error {
        self.0.place.locate(foreign(reason))
    }

    fn event(&mut self) -> io::Result<Event> {
        let file = &mut self.0;
        Ok(match file.tag()? {
            TURN => Event::Turn(Time::from_ns(file.u64()?)),
            ARRIVAL => Event::Arrival(sound(Io {
                due: Time::from_ns(file.u64()?),
                start: file.u64()?,
                len: file.u32()?,
                stream: StreamId(file.u32()?),
                class: ClassId(file.u16()?),
                op: {
                    let byte = file.byte()?;
                    let unknown = || foreign(&format!("it names an operation {byte}"));
                    Op::from_byte(byte).ok_or_else(unknown)?
                },
                prio: Prio(file.byte()?),
                flags: Flags::from_bits(file.byte()?),
            })?),
            COMPLETION => Event::Completion {
                id: file.id()?,
                service: Span::from_ns(file.u64()?),
                len: file.u32()?,
                error: Errno::new(file.u32()?.cast_signed()),
            },
            ADVANCE => Event::Advance,
            ROOM => Event::Room { after: file.u32()?, room: file.u32()? },
            REFUSED => Event::Refused { after: file.u32()? },
            POSITION => Event::Position { after: file.u32()?, takes: Span::from_ns(file.u64()?) },
            QUEUE => Event::Queue(file.u16()?),
            END => Event::End,
            other => return Err(foreign(&format!("it holds an event of kind {other}"))),
        })
    }
}

/// The decisions of a record, in order.
pub struct Decisions {
    reader: Reader,
    queue: u16,
}

impl Decisions {
    /// Opens the decisions that belong to the record at `record`.
    ///
    /// # Errors
    /// When they cannot be read or are no decisions.
    pub fn open(record: &Path) -> io::Result<Self> {
        let (reader, _) = Reader::open(&decisions_of(record), DECISIONS)?;
        Ok(Self { reader, queue: 0 })
    }

    /// Reads the next decision; `None` at the end.
    ///
    /// # Errors
    /// When the file is cut off or damaged.
    pub fn read(&mut self) -> io::Result<Option<Decision>> {
        self.decision().map_err(|error| self.reader.place.locate(error))
    }

    /// Returns the queue of the decision that was read last.
    pub fn queue(&self) -> u16 {
        self.queue
    }

    fn decision(&mut self) -> io::Result<Option<Decision>> {
        let file = &mut self.reader;
        loop {
            match file.tag()? {
                DECISION => break,
                QUEUE => self.queue = file.u16()?,
                END => return Ok(None),
                other => return Err(foreign(&format!("it holds an entry of kind {other}"))),
            }
        }
        let (at, len, chained) = (Time::from_ns(file.u64()?), file.u32()?, file.u32()?);
        let go = Go { id: file.id()?, len };
        let chain = (0..chained).map(|_| file.id()).collect::<io::Result<_>>()?;
        Ok(Some(Decision { at, go, chain }))
    }
}
