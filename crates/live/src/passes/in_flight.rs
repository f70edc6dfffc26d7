//! Asynchronous calls of POSIX (`aio_read`, `aio_write`) with a number of records in flight.

use std::fs::File;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use crate::engine::buffers::SlotBuffers;
use crate::engine::driver::{Action, Command, Driver, Outcome};
use crate::engine::posix_aio::PosixAio;
use crate::passes::data::PassData;
use crate::passes::error::RecordFailed;
use crate::passes::form::{Form, RecordBuffers};

/// The longest wait for a record, after which the engine looks again.
const LOOK: Duration = Duration::from_millis(100);

/// Records in flight on a file.
pub(crate) struct RecordsInFlight {
    driver: PosixAio,
    file: Arc<File>,
    buffers: SlotBuffers,
    len: usize,
    /// Each slot's record: whether it is read, and its offset.
    records: Box<[(Action, u64)]>,
    free: Vec<u32>,
    ended: Vec<Outcome>,
    /// The memory of the program, from and to which records are copied; `None` if the calls use it directly.
    memory: Option<Box<[u8]>>,
}

impl RecordsInFlight {
    /// Keeps as many records of `file` in flight as there are `buffers`, `depth`. With `copies`, records are copied
    /// from and to other memory.
    pub(crate) fn new(file: File, mut buffers: RecordBuffers, depth: u32, copies: bool) -> Self {
        let memory = copies.then(|| Box::from(&*buffers.bytes(0)));
        let RecordBuffers { area, len } = buffers;
        let (file, (area, buffers)) = (Arc::new(file), area.split());
        Self {
            driver: PosixAio::new(&[Arc::clone(&file)], depth, &area),
            file,
            buffers,
            len,
            records: vec![(Action::Read, 0); depth as usize].into(),
            free: (0..depth).collect(),
            ended: Vec::with_capacity(depth as usize),
            memory,
        }
    }

    /// Returns a slot without a record; waits for one if there is none.
    fn slot(&mut self, data: &mut PassData) -> Result<u32, RecordFailed> {
        loop {
            if let Some(slot) = self.free.pop() {
                return Ok(slot);
            }
            self.end_some(data)?;
        }
    }

    /// Waits until some records have ended.
    fn end_some(&mut self, data: &mut PassData) -> Result<(), RecordFailed> {
        self.driver.submit();
        self.driver.wait(LOOK);
        self.driver.reap(&mut self.ended);
        let Self { buffers, len, records, free, ended, memory, .. } = self;
        for Outcome { slot, result } in ended.drain(..) {
            buffers.take_back(slot);
            free.push(slot);
            let (action, at) = records[slot as usize];
            let doing = if action == Action::Read { "read" } else { "write" };
            let source = match usize::try_from(result) {
                Ok(count) if count == *len => None,
                Ok(count) => Some(io::Error::other(format!("{count} bytes were moved"))),
                Err(_) => Some(io::Error::from_raw_os_error(-result)),
            };
            if let Some(source) = source {
                return Err(RecordFailed::Call { doing, at, source });
            }
            if action == Action::Read {
                let bytes = buffers.bytes(slot, 0, *len);
                if let Some(memory) = memory {
                    memory.copy_from_slice(bytes);
                }
                data.check(at, bytes)?;
            }
        }
        Ok(())
    }

    fn queue(&mut self, slot: u32, action: Action, at: u64) {
        self.records[slot as usize] = (action, at);
        let (buffer, len) = (self.buffers.lend(slot), self.len as u32);
        self.driver.queue(slot, &Command { action, file: 0, start: at, len, buffer });
    }
}

impl Form for RecordsInFlight {
    fn read(&mut self, at: u64, data: &mut PassData) -> Result<(), RecordFailed> {
        let slot = self.slot(data)?;
        self.queue(slot, Action::Read, at);
        Ok(())
    }

    fn write(&mut self, at: u64, data: &mut PassData) -> Result<(), RecordFailed> {
        let slot = self.slot(data)?;
        let bytes = self.buffers.bytes(slot, 0, self.len);
        if let Some(memory) = &self.memory {
            bytes.copy_from_slice(memory);
        }
        data.prepare(at, bytes);
        self.queue(slot, Action::Write, at);
        Ok(())
    }

    fn settle(&mut self, data: &mut PassData) -> Result<(), RecordFailed> {
        while self.free.len() < self.records.len() {
            self.end_some(data)?;
        }
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.sync_all()
    }
}
