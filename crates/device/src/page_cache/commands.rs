//! The commands below a cache, and the requests that wait for each.

use std::collections::VecDeque;

use penstock_core::{Io, ReqId, Request, Table};

const NIL: u32 = u32::MAX;

/// The kinds of commands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    /// Pages are filled.
    Read,
    /// Pages are written back because a request waits for it.
    Write,
    /// Pages are written back because they are many or old.
    Background,
    /// A direct request, or a flush: no pages.
    Whole,
}

impl Kind {
    pub(super) fn writes(self) -> bool {
        matches!(self, Self::Write | Self::Background)
    }
}

/// A command below.
#[derive(Clone, Copy, Debug)]
pub(super) struct CacheCommand {
    pub(super) kind: Kind,
    /// The extent whose pages it carries, or on whose device it is.
    pub(super) extent: usize,
    pub(super) first: u64,
    pub(super) pages: u32,
    /// The request that pays for its device time.
    pub(super) payer: Option<ReqId>,
    /// The first of the requests that wait for it.
    waits: u32,
    /// Its place among the writes.
    place: u32,
}

/// A request waits for a command.
#[derive(Clone, Copy, Debug)]
struct Wait {
    request: ReqId,
    next: u32,
}

/// All commands of a cache.
#[derive(Debug)]
pub(super) struct Commands {
    table: Table<CacheCommand>,
    waits: Vec<Wait>,
    free: u32,
    /// Writes of pages that have not come back.
    writes: Vec<ReqId>,
    /// Commands that wait for room below, in order, for each device.
    queues: Box<[VecDeque<Request>]>,
}

impl Commands {
    /// None yet, for so many `devices`.
    pub(super) fn new(devices: u32) -> Self {
        Self {
            table: Table::new(),
            waits: Vec::new(),
            free: NIL,
            writes: Vec::new(),
            queues: vec![VecDeque::new(); devices as usize].into(),
        }
    }

    /// A command whose first page is `first` of `extent`, of no pages yet.
    pub(super) fn begin(
        &mut self,
        kind: Kind,
        extent: usize,
        first: u64,
        payer: Option<ReqId>,
    ) -> ReqId {
        let place = self.writes.len() as u32;
        let command = CacheCommand { kind, extent, first, pages: 0, payer, waits: NIL, place };
        let id = self.table.insert_with(|_| command);
        if kind.writes() {
            self.writes.push(id);
        }
        id
    }

    /// The command `id` is `io`, of `pages` pages: it goes to `device` when there is room.
    pub(super) fn queue(&mut self, device: usize, id: ReqId, pages: u32, io: Io) {
        self.table.get_mut(id).expect("it has begun").pages = pages;
        self.queues[device].push_back(io.with(id));
    }

    /// Drops the command `id`.
    pub(super) fn forget(&mut self, id: ReqId) {
        self.end(id);
    }

    /// The next command to go to `device`.
    pub(super) fn next(&self, device: usize) -> Option<&Request> {
        self.queues[device].front()
    }

    /// The next command was sent to `device`.
    pub(super) fn sent(&mut self, device: usize) {
        self.queues[device].pop_front();
    }

    /// Writes of pages that have not come back.
    pub(super) fn writes(&self) -> &[ReqId] {
        &self.writes
    }

    /// The extent whose pages `command` carries.
    pub(super) fn extent(&self, command: ReqId) -> usize {
        self.table.get(command).expect("it is below").extent
    }

    /// `request` waits for `command`; `false` if it was the last to do so already.
    pub(super) fn wait(&mut self, command: ReqId, request: ReqId) -> bool {
        let command = self.table.get_mut(command).expect("a page names a command below");
        if self.waits.get(command.waits as usize).is_some_and(|wait| wait.request == request) {
            return false;
        }
        let wait = Wait { request, next: command.waits };
        if self.free == NIL {
            command.waits = self.waits.len() as u32;
            self.waits.push(wait);
        } else {
            command.waits = self.free;
            self.free = std::mem::replace(&mut self.waits[command.waits as usize], wait).next;
        }
        true
    }

    /// The command came back.
    pub(super) fn end(&mut self, id: ReqId) -> CacheCommand {
        let command = self.table.remove(id);
        if command.kind.writes() {
            self.writes.swap_remove(command.place as usize);
            if let Some(&moved) = self.writes.get(command.place as usize) {
                self.table.get_mut(moved).expect("it is below").place = command.place;
            }
        }
        command
    }

    /// Takes out a request that waited for `command`, the latest first.
    pub(super) fn waiter(&mut self, command: &mut CacheCommand) -> Option<ReqId> {
        let at = command.waits;
        let Wait { request, next } = *self.waits.get(at as usize)?;
        command.waits = next;
        self.waits[at as usize].next = self.free;
        self.free = at;
        Some(request)
    }
}
