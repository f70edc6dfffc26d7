//! Writes a record while its run goes on.

use std::cell::RefCell;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::rc::Rc;

use penstock_core::{Done, Errno, Go, Io, Policy, ReqId, Span, Time, Witness};
use penstock_live::NewFile;

use super::format::{
    ADVANCE, ARRIVAL, BUFFER, COMPLETION, DECISION, DECISIONS, END, POSITION, QUEUE, RECORD,
    REFUSED, ROOM, TURN, decisions_of,
};
use super::header::Header;

/// Writes both files while a run goes on. Clones write to the same files.
#[derive(Clone)]
pub struct Recorder {
    files: Rc<RefCell<RecordFiles>>,
    /// The queue whose device and decisions it records.
    queue: u16,
}

struct RecordFiles {
    record: MarkedFile,
    decisions: MarkedFile,
    /// Both files, until they are finished.
    new: Vec<NewFile>,
    /// The first failure; nothing was written after it.
    failed: Option<io::Error>,
}

/// A file with entries of several queues.
struct MarkedFile {
    file: BufWriter<File>,
    /// Queue of the last mark.
    queue: u16,
}

impl MarkedFile {
    /// Returns the file for an entry of `queue`, after a mark if the queue changes.
    fn for_queue(&mut self, queue: u16) -> io::Result<&mut BufWriter<File>> {
        if queue != self.queue {
            self.queue = queue;
            self.file.write_all(&[QUEUE])?;
            self.file.write_all(&queue.to_le_bytes())?;
        }
        Ok(&mut self.file)
    }
}

impl Recorder {
    /// Creates both files; neither may exist.
    ///
    /// # Errors
    /// When one exists or cannot be made; then neither is left behind.
    pub fn create(path: &Path, header: &Header) -> io::Result<Self> {
        let open = |path: &Path, format: &str| {
            let new = NewFile::create(path)?;
            let mut file = BufWriter::with_capacity(BUFFER, new.file().try_clone()?);
            file.write_all(format.as_bytes())?;
            serde_json::to_writer(&mut file, header)?;
            file.write_all(b"\n")?;
            Ok::<_, io::Error>((MarkedFile { file, queue: 0 }, new))
        };
        let (record, new) = open(path, RECORD)?;
        let (decisions, new_too) = open(&decisions_of(path), DECISIONS)?;
        let files = RecordFiles { record, decisions, new: vec![new, new_too], failed: None };
        Ok(Self { files: Rc::new(RefCell::new(files)), queue: 0 })
    }

    /// Returns a recorder to the same files for the device and the decisions of the queue numbered
    /// `queue`.
    #[must_use]
    pub fn for_queue(&self, queue: u16) -> Self {
        Self { files: Rc::clone(&self.files), queue }
    }

    /// Checks that [`create`](Self::create) could make its two files.
    ///
    /// # Errors
    /// When a file exists already, or none can be created there.
    pub fn check(path: &Path) -> io::Result<()> {
        NewFile::check(path)?;
        NewFile::check(&decisions_of(path))
    }

    fn write(&self, write: impl FnOnce(&mut RecordFiles) -> io::Result<()>) {
        let files = &mut *self.files.borrow_mut();
        if files.failed.is_none()
            && let Err(error) = write(files)
        {
            files.failed = Some(error);
        }
    }

    /// Returns whether everything could be written so far; a record with a gap is useless.
    pub fn sound(&self) -> bool {
        self.files.borrow().failed.is_none()
    }

    /// Records that the loop begins a turn.
    pub fn turn(&self, now: Time) {
        self.write(|files| {
            let mut bytes = [TURN; 9];
            bytes[1..].copy_from_slice(&now.ns().to_le_bytes());
            files.record.file.write_all(&bytes)
        });
    }

    /// Records that a request was taken from the source.
    pub fn arrived(&self, io: &Io) {
        self.write(|files| {
            let out = &mut files.record.file;
            out.write_all(&[ARRIVAL])?;
            out.write_all(&io.due.ns().to_le_bytes())?;
            out.write_all(&io.start.to_le_bytes())?;
            out.write_all(&io.len.to_le_bytes())?;
            out.write_all(&io.stream.0.to_le_bytes())?;
            out.write_all(&io.class.0.to_le_bytes())?;
            out.write_all(&[io.op as u8, io.prio.0, io.flags.bits()])
        });
    }

    /// Records that a command came back from the bottom device.
    pub fn completed(&self, done: &Done) {
        self.write(|files| {
            let out = files.record.for_queue(self.queue)?;
            out.write_all(&[COMPLETION])?;
            out.write_all(&done.id.slot().to_le_bytes())?;
            out.write_all(&done.id.age().to_le_bytes())?;
            out.write_all(&done.service.ns().to_le_bytes())?;
            out.write_all(&done.len.to_le_bytes())?;
            out.write_all(&done.error.map_or(0, Errno::code).to_le_bytes())
        });
    }

    /// Records that the bottom device is advanced.
    pub fn advanced(&self) {
        self.write(|files| files.record.for_queue(self.queue)?.write_all(&[ADVANCE]));
    }

    /// Records that the bottom device has room for `room` commands, after it had `after` times the
    /// room that a replay computes.
    pub fn room(&self, after: u32, room: u32) {
        self.write(|files| {
            let out = files.record.for_queue(self.queue)?;
            out.write_all(&[ROOM])?;
            out.write_all(&after.to_le_bytes())?;
            out.write_all(&room.to_le_bytes())
        });
    }

    /// Records that the bottom device refused a command, after it had taken `after` of them.
    pub fn refused(&self, after: u32) {
        self.write(|files| {
            let out = files.record.for_queue(self.queue)?;
            out.write_all(&[REFUSED])?;
            out.write_all(&after.to_le_bytes())
        });
    }

    /// Records that the bottom device `takes` this long to reach a place, after `after` places that
    /// cost nothing.
    pub fn position(&self, after: u32, takes: Span) {
        self.write(|files| {
            let out = files.record.for_queue(self.queue)?;
            out.write_all(&[POSITION])?;
            out.write_all(&after.to_le_bytes())?;
            out.write_all(&takes.ns().to_le_bytes())
        });
    }

    /// Returns `policy`, whose decisions are recorded.
    pub(crate) fn of_policy<P: Policy>(
        &self,
        policy: P,
    ) -> Witness<P, impl FnMut(Time, Go, &[ReqId]) + use<P>> {
        let this = self.clone();
        Witness::new(policy, move |at, go, chain: &[ReqId]| this.decided(at, go, chain))
    }

    /// Records a decision of a policy.
    pub fn decided(&self, at: Time, go: Go, chain: &[ReqId]) {
        self.write(|files| {
            let out = files.decisions.for_queue(self.queue)?;
            out.write_all(&[DECISION])?;
            out.write_all(&at.ns().to_le_bytes())?;
            out.write_all(&go.len.to_le_bytes())?;
            out.write_all(&(chain.len() as u32).to_le_bytes())?;
            for id in std::iter::once(&go.id).chain(chain) {
                out.write_all(&id.slot().to_le_bytes())?;
                out.write_all(&id.age().to_le_bytes())?;
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
            let RecordFiles { record, decisions, .. } = files;
            for out in [&mut record.file, &mut decisions.file] {
                out.write_all(&[END])?;
                out.flush()?;
            }
            // The decisions first: a record without them is no record.
            files.new.drain(..).rev().try_for_each(NewFile::finish)
        });
        let files = &mut *self.files.borrow_mut();
        files.new.clear();
        files.failed.take().map_or(Ok(()), Err)
    }
}
