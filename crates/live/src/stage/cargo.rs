//! Cargo: the data of an application that requests carry.
//!
//! Runs generate the data that they write and discard the data that they read. A gate carries data: the
//! stream of a request names its [`Load`], and each piece of the request carries the part of the load in
//! its range. A write that begins or ends inside a block reads that block first, because a disk takes only
//! whole blocks: exactly the bytes of the request change.
//!
//! Invariants, for which the caller is responsible: a load is stored under its stream from before its
//! request is started until after it has finished; two commands in flight share no block, or one could
//! undo the other.

use std::cell::RefCell;
use std::rc::Rc;

use penstock_core::{Io, Op, Request, StreamId};

use crate::engine::buffers::SlotBuffers;
use crate::engine::driver::{Action, Command};

/// The data of a request.
#[derive(Debug)]
pub struct Load {
    /// The offset of its first byte in the target.
    pub start: u64,
    /// The data to be written, or space for the data to be read.
    pub bytes: Vec<u8>,
}

/// Loads by stream. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct Cargo(Rc<RefCell<Vec<Option<Load>>>>);

impl Cargo {
    /// Stores `load`. Returns the stream that its request must have.
    pub fn put(&self, load: Load) -> StreamId {
        let mut loads = self.0.borrow_mut();
        let free = loads.iter().position(Option::is_none);
        let index = free.unwrap_or_else(|| {
            loads.push(None);
            loads.len() - 1
        });
        loads[index] = Some(load);
        StreamId(index as u32)
    }

    /// Removes and returns the load of `stream`.
    pub fn take(&self, stream: StreamId) -> Load {
        self.0.borrow_mut()[stream.0 as usize].take().expect("a request has its load")
    }

    /// Calls `access` with the part of a load that `transfer` carries.
    fn with(&self, transfer: &LoadTransfer, access: impl FnOnce(&mut [u8])) {
        let mut loads = self.0.borrow_mut();
        let load = loads[transfer.stream.0 as usize].as_mut().expect("a request has its load");
        let from = (transfer.start - load.start) as usize;
        access(&mut load.bytes[from..from + transfer.len as usize]);
    }
}

/// Copies loads to the buffers of an engine and back.
pub(crate) struct LoadCopier {
    cargo: Cargo,
    buffers: SlotBuffers,
}

/// The transfer of one piece of a request: its commands, one after the other.
#[derive(Clone, Copy)]
pub(crate) struct LoadTransfer {
    stream: StreamId,
    start: u64,
    len: u32,
    slot: u32,
    /// The offset of its first byte in the buffer of the slot.
    from: usize,
    /// The transfer of the whole range, in whole blocks.
    command: Command,
    /// Reads of the first and last block, before a write that covers them in part.
    edges: [Option<Command>; 2],
    /// Whether `command`, the last command, was begun.
    command_begun: bool,
}

impl LoadTransfer {
    /// Creates the transfer for `req` in `slot`. `command` is its command, in whole blocks of `unit`. Returns `None` if it
    /// carries no data.
    fn new(req: &Request, command: Command, unit: u32, slot: u32, buffer: usize) -> Option<Self> {
        if !matches!(req.op, Op::Read | Op::Write) {
            return None;
        }
        let command = Command { buffer, ..command };
        let block = u64::from(unit);
        let (head, tail) = (req.start % block, req.end() % block);
        let last = command.len - unit;
        let edge = |from: u32| Command {
            action: Action::Read,
            start: command.start + u64::from(from),
            len: unit,
            buffer: buffer + from as usize,
            ..command
        };
        let writes = req.op == Op::Write;
        let edges = [
            (writes && head != 0).then(|| edge(0)),
            (writes && tail != 0 && (last > 0 || head == 0)).then(|| edge(last)),
        ];
        let (from, command_begun) = (head as usize, false);
        let Io { stream, start, len, .. } = req.io;
        Some(Self { stream, start, len, slot, from, command, edges, command_begun })
    }
}

impl LoadCopier {
    pub(crate) fn new(cargo: Cargo, buffers: SlotBuffers) -> Self {
        Self { cargo, buffers }
    }

    /// Creates the transfer for `req` in `slot`. `command` is its command, in whole blocks of `unit`. Returns `None` if it
    /// carries no data.
    pub(crate) fn transfer(
        &self,
        req: &Request,
        command: Command,
        unit: u32,
        slot: u32,
    ) -> Option<LoadTransfer> {
        LoadTransfer::new(req, command, unit, slot, self.buffers.area().layout().slot(slot))
    }

    /// Returns the first command of `transfer`, or the next one after a command succeeded; `None` at the end of
    /// the transfer.
    pub(crate) fn next(&mut self, transfer: &mut LoadTransfer) -> Option<Command> {
        self.buffers.take_back(transfer.slot);
        if transfer.command_begun {
            if transfer.command.action == Action::Read {
                let LoadTransfer { slot, from, len, .. } = *transfer;
                let buffer = self.buffers.bytes(slot, from, len as usize);
                self.cargo.with(transfer, |bytes| bytes.copy_from_slice(buffer));
            }
            return None;
        }
        let edge = transfer.edges.iter_mut().find_map(Option::take);
        let command = edge.unwrap_or_else(|| {
            transfer.command_begun = true;
            if transfer.command.action != Action::Read {
                let LoadTransfer { slot, from, len, .. } = *transfer;
                let buffer = self.buffers.bytes(slot, from, len as usize);
                self.cargo.with(transfer, |bytes| buffer.copy_from_slice(bytes));
            }
            transfer.command
        });
        self.buffers.lend(transfer.slot);
        Some(command)
    }
}
