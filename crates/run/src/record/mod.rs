//! Records of a run: what came from outside, and, apart from it, what the policy decided.
//!
//! A record holds the turns of the loop, the arrivals and the completions of the bottom device, each
//! in the turn in which the loop saw it; never a dispatch. Of a model it also holds what the device
//! answered when it was asked and a replay could not know (`recorded.rs`). The same
//! policy makes the same decisions from it. These are in a second file, only to compare with.
//!
//! Both files begin with a line that names the format and a line of JSON; what follows is binary,
//! little-endian, a tag byte before each event.

pub(crate) mod recorded;
pub mod replay;

use std::cell::RefCell;
use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use penstock_core::{
    ClassId, ClassInfo, Decision, Done, Errno, Flags, Go, Io, Op, Prio, ReqId, Served, Span,
    StreamId, Time,
};
use serde::{Deserialize, Serialize};

const RECORD: &str = "penstock-record 1\n";
const DECISIONS: &str = "penstock-decisions 1\n";

const TURN: u8 = b'T';
const ARRIVAL: u8 = b'A';
const COMPLETION: u8 = b'D';
const ADVANCE: u8 = b'V';
const ROOM: u8 = b'R';
const REFUSED: u8 = b'F';
const POSITION: u8 = b'S';
const END: u8 = b'E';
const DECISION: u8 = b'P';

/// A buffer so large that the loop seldom waits for the file.
const BUFFER: usize = 1 << 20;

/// What a replay needs to know in addition to the events.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Header {
    /// Version of Penstock that recorded.
    pub penstock: String,
    /// Name of the policy.
    pub policy: String,
    /// Name of the job file.
    pub job: String,
    /// The whole job with every default in place, the policy's parameters among them.
    pub text: String,
    /// Commands that the device takes at once.
    pub room: u32,
    /// Bytes of the device.
    pub capacity: u64,
    /// Block of the device in bytes.
    pub block: u32,
    /// The device finishes by itself, as real ones do; records that do not say are of such.
    #[serde(default = "yes")]
    pub polled: bool,
    /// What the policy served; older records do not say.
    pub served: Option<RecordedServed>,
}

/// A [`Served`] in a header.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct RecordedServed {
    disks: NonZeroU32,
    classes: Vec<RecordedClass>,
}

/// A [`ClassInfo`] in a header.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
struct RecordedClass {
    name: String,
    weight: NonZeroU32,
    prio: u8,
}

impl RecordedServed {
    pub(crate) fn new(served: &Served<'_>) -> Self {
        let class = |class: &ClassInfo| {
            let ClassInfo { name, weight, prio } = class.clone();
            RecordedClass { name, weight, prio: prio.0 }
        };
        Self { disks: served.disks, classes: served.classes.iter().map(class).collect() }
    }

    /// The classes and the disks of a [`Served`].
    pub(crate) fn parts(&self) -> (Vec<ClassInfo>, NonZeroU32) {
        let class = |class: &RecordedClass| {
            let RecordedClass { name, weight, prio } = class.clone();
            ClassInfo { name, weight, prio: Prio(prio) }
        };
        (self.classes.iter().map(class).collect(), self.disks)
    }
}

fn yes() -> bool {
    true
}

/// One thing that came from outside.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Event {
    /// The loop began a turn.
    Turn(Time),
    /// A request was taken from the source.
    Arrival(Io),
    /// A command came back.
    Completion {
        /// The ticket of its request.
        id: ReqId,
        /// Device time that it cost.
        service: Span,
        /// Bytes that it carried.
        len: u32,
        /// Why it failed, if it did.
        error: Option<Errno>,
    },
    /// The bottom device was advanced. Recorded if it is a device that is not polled.
    Advance,
    /// From here on the bottom device has another room than what was started and finished makes it.
    Room {
        /// How often it was started and advanced since, and had that room.
        after: u32,
        /// For so many commands.
        room: u32,
    },
    /// The bottom device was asked whether it takes a command, and did not.
    Refused {
        /// How often it did since it last did not.
        after: u32,
    },
    /// The bottom device was asked how long it would take to reach a place, and it takes time.
    Position {
        /// How often it said since then that it takes none.
        after: u32,
        /// How long.
        takes: Span,
    },
    /// The run ended here.
    End,
}

/// Whether a new file can be made at `path`: makes it and removes it, since permissions say nothing
/// of a file system that is full or takes no files.
pub(crate) fn check_new(path: &Path) -> io::Result<()> {
    File::create_new(path)?;
    std::fs::remove_file(path)
}

/// The path of the decisions that belong to a record.
pub fn decisions_of(record: &Path) -> PathBuf {
    let mut path = record.as_os_str().to_owned();
    path.push(".decisions");
    path.into()
}

/// Writes both files while a run goes on. Clones write to the same files.
#[derive(Clone)]
pub struct Recorder(Rc<RefCell<RecordFiles>>);

struct RecordFiles {
    path: PathBuf,
    record: BufWriter<File>,
    decisions: BufWriter<File>,
    /// The first failure; what came after it was not written.
    failed: Option<io::Error>,
}

impl Recorder {
    /// Makes both files; neither may exist.
    ///
    /// # Errors
    /// When one exists or cannot be made; then neither is left behind.
    pub fn create(path: &Path, header: &Header) -> io::Result<Self> {
        let open = |path: &Path, format: &str| {
            let mut file = BufWriter::with_capacity(BUFFER, File::create_new(path)?);
            file.write_all(format.as_bytes())?;
            serde_json::to_writer(&mut file, header)?;
            file.write_all(b"\n")?;
            Ok(file)
        };
        let record = open(path, RECORD)?;
        let decisions = open(&decisions_of(path), DECISIONS).inspect_err(|_: &io::Error| {
            // The record is ours, made above; an error here changes nothing about the first one.
            let _ = std::fs::remove_file(path);
        })?;
        Ok(Self(Rc::new(RefCell::new(RecordFiles {
            path: path.to_owned(),
            record,
            decisions,
            failed: None,
        }))))
    }

    /// Whether [`create`](Self::create) could make its two files.
    ///
    /// # Errors
    /// When something is there already, or no file can be made there.
    pub fn check(path: &Path) -> io::Result<()> {
        check_new(path)?;
        check_new(&decisions_of(path))
    }

    fn write(&self, write: impl FnOnce(&mut RecordFiles) -> io::Result<()>) {
        let files = &mut *self.0.borrow_mut();
        if files.failed.is_none()
            && let Err(error) = write(files)
        {
            files.failed = Some(error);
        }
    }

    /// Whether everything could be written so far; a record with a gap is worth nothing.
    pub fn sound(&self) -> bool {
        self.0.borrow().failed.is_none()
    }

    /// The loop begins a turn.
    pub fn turn(&self, now: Time) {
        self.write(|files| {
            let mut bytes = [TURN; 9];
            bytes[1..].copy_from_slice(&now.ns().to_le_bytes());
            files.record.write_all(&bytes)
        });
    }

    /// A request was taken.
    pub fn arrived(&self, io: &Io) {
        self.write(|files| {
            let out = &mut files.record;
            out.write_all(&[ARRIVAL])?;
            out.write_all(&io.due.ns().to_le_bytes())?;
            out.write_all(&io.start.to_le_bytes())?;
            out.write_all(&io.len.to_le_bytes())?;
            out.write_all(&io.stream.0.to_le_bytes())?;
            out.write_all(&io.class.0.to_le_bytes())?;
            out.write_all(&[io.op as u8, io.prio.0, io.flags.bits()])
        });
    }

    /// A command came back from the bottom device.
    pub fn completed(&self, done: &Done) {
        self.write(|files| {
            let out = &mut files.record;
            out.write_all(&[COMPLETION])?;
            out.write_all(&done.id.slot.to_le_bytes())?;
            out.write_all(&done.id.age.to_le_bytes())?;
            out.write_all(&done.service.ns().to_le_bytes())?;
            out.write_all(&done.len.to_le_bytes())?;
            out.write_all(&done.error.map_or(0, Errno::code).to_le_bytes())
        });
    }

    /// The bottom device is advanced.
    pub fn advanced(&self) {
        self.write(|files| files.record.write_all(&[ADVANCE]));
    }

    /// The bottom device has room for `room` commands, after it had `after` times as many as counted.
    pub fn room(&self, after: u32, room: u32) {
        self.write(|files| {
            files.record.write_all(&[ROOM])?;
            files.record.write_all(&after.to_le_bytes())?;
            files.record.write_all(&room.to_le_bytes())
        });
    }

    /// The bottom device did not take a command, after it had taken `after` of them.
    pub fn refused(&self, after: u32) {
        self.write(|files| {
            files.record.write_all(&[REFUSED])?;
            files.record.write_all(&after.to_le_bytes())
        });
    }

    /// The bottom device `takes` so long to reach a place, after `after` that cost nothing.
    pub fn position(&self, after: u32, takes: Span) {
        self.write(|files| {
            files.record.write_all(&[POSITION])?;
            files.record.write_all(&after.to_le_bytes())?;
            files.record.write_all(&takes.ns().to_le_bytes())
        });
    }

    /// A policy has decided.
    pub fn decided(&self, at: Time, go: Go, chain: &[ReqId]) {
        self.write(|files| {
            let out = &mut files.decisions;
            out.write_all(&[DECISION])?;
            out.write_all(&at.ns().to_le_bytes())?;
            out.write_all(&go.len.to_le_bytes())?;
            out.write_all(&(chain.len() as u32).to_le_bytes())?;
            for id in std::iter::once(&go.id).chain(chain) {
                out.write_all(&id.slot.to_le_bytes())?;
                out.write_all(&id.age.to_le_bytes())?;
            }
            Ok(())
        });
    }

    /// Writes the end marks and whatever is buffered.
    ///
    /// # Errors
    /// The first failure of any write: the files are then useless, and removed.
    pub fn finish(&self) -> io::Result<()> {
        self.write(|files| {
            files.record.write_all(&[END])?;
            files.decisions.write_all(&[END])?;
            files.record.flush()?;
            files.decisions.flush()
        });
        let files = &mut *self.0.borrow_mut();
        files.failed.take().map_or(Ok(()), |error| {
            for useless in [files.path.clone(), decisions_of(&files.path)] {
                let _ = std::fs::remove_file(useless);
            }
            Err(error)
        })
    }
}

/// Reads one of the two files.
struct Reader {
    file: BufReader<File>,
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
        Ok((Self { file }, header))
    }

    fn array<const N: usize>(&mut self) -> io::Result<[u8; N]> {
        let mut bytes = [0; N];
        self.file.read_exact(&mut bytes).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => foreign("it ends in the middle: the run was killed"),
            _ => error,
        })?;
        Ok(bytes)
    }

    fn byte(&mut self) -> io::Result<u8> {
        Ok(self.array::<1>()?[0])
    }

    fn u32(&mut self) -> io::Result<u32> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    fn u64(&mut self) -> io::Result<u64> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    fn id(&mut self) -> io::Result<ReqId> {
        Ok(ReqId { slot: self.u32()?, age: self.u32()? })
    }
}

/// An arrival that a source can have made: anything else is a damaged file.
fn sound(io: Io) -> io::Result<Io> {
    let ends = io.start.checked_add(u64::from(io.len)).is_some();
    if !ends || (io.len == 0) != (io.op == Op::Flush) {
        return Err(foreign(&format!("it holds a request of {} bytes at {}", io.len, io.start)));
    }
    Ok(io)
}

fn foreign(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
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

    /// The next event; behind the end, the end again.
    ///
    /// # Errors
    /// When the file is cut off or damaged.
    pub fn read(&mut self) -> io::Result<Event> {
        let file = &mut self.0;
        Ok(match file.byte()? {
            TURN => Event::Turn(Time::from_ns(file.u64()?)),
            ARRIVAL => Event::Arrival(sound(Io {
                due: Time::from_ns(file.u64()?),
                start: file.u64()?,
                len: file.u32()?,
                stream: StreamId(file.u32()?),
                class: ClassId(u16::from_le_bytes(file.array()?)),
                op: match file.byte()? {
                    0 => Op::Read,
                    1 => Op::Write,
                    2 => Op::Flush,
                    3 => Op::Discard,
                    other => return Err(foreign(&format!("it names an operation {other}"))),
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
            END => Event::End,
            other => return Err(foreign(&format!("it holds an event of kind {other}"))),
        })
    }
}

/// The decisions of a record, in order.
pub struct Decisions(Reader);

impl Decisions {
    /// Opens the decisions that belong to the record at `record`.
    ///
    /// # Errors
    /// When they cannot be read or are no decisions.
    pub fn open(record: &Path) -> io::Result<Self> {
        Reader::open(&decisions_of(record), DECISIONS).map(|(reader, _)| Self(reader))
    }

    /// The next decision; `None` at the end.
    ///
    /// # Errors
    /// When the file is cut off or damaged.
    pub fn read(&mut self) -> io::Result<Option<Decision>> {
        let file = &mut self.0;
        match file.byte()? {
            DECISION => {}
            END => return Ok(None),
            other => return Err(foreign(&format!("it holds an entry of kind {other}"))),
        }
        let (at, len, chained) = (Time::from_ns(file.u64()?), file.u32()?, file.u32()?);
        let go = Go { id: file.id()?, len };
        let chain = (0..chained).map(|_| file.id()).collect::<io::Result<_>>()?;
        Ok(Some(Decision { at, go, chain }))
    }
}
