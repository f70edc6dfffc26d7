//! The commands of a cache, and the requests that wait for each.

use std::collections::VecDeque;

use penstock_core::{Io, ReqId, Request, Table};

const NIL: u32 = u32::MAX;

/// Kinds of commands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    /// Reads pages.
    Read,
    /// Writes back pages because a request waits for it.
    Write,
    /// Writes back pages because there are too many or they are too old.
    Background,
    /// A direct request or a flush, without pages.
    Whole,
}

impl Kind {
    pub(super) fn writes(self) -> bool {
        matches!(self, Self::Write | Self::Background)
    }
}

/// A command of the cache.
#[derive(Clone, Copy, Debug)]
pub(super) struct CacheCommand {
    pub(super) kind: Kind,
    /// The extent whose pages it carries, or on whose device it is.
    pub(super) extent: usize,
    pub(super) first: u64,
    pub(super) pages: u32,
    /// The request to which its device time is charged.
    pub(super) payer: Option<ReqId>,
    /// Index of the latest request that waits for it.
    waits: u32,
    /// Its index among the writes.
    place: u32,
}

/// A request that waits for a command.
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
    /// Writes of pages that have not completed.
    writes: Vec<ReqId>,
    /// Commands that wait for room, in order, for each device.
    queues: Box<[VecDeque<Request>]>,
}

impl Commands {
    /// Creates the commands for `devices` devices.
    pub(super) fn new(devices: u32) -> Self {
        Self {
            table: Table::new(),
            waits: Vec::new(),
            free: NIL,
            writes: Vec::new(),
            queues: vec![VecDeque::new(); devices as usize].into(),
        }
    }

    /// Begins a command whose first page is `first` of `extent`; its length is not known yet.
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

    /// Queues the command `id` of `pages` pages: it goes to `device` when there is room.
    pub(super) fn queue(&mut self, device: usize, id: ReqId, pages: u32, io: Io) {
        self.table.get_mut(id).expect("it has begun").pages = pages;
        self.queues[device].push_back(io.with(id));
    }

    /// Drops the command `id`.
    pub(super) fn forget(&mut self, id: ReqId) {
        self.end(id);
    }

    /// Returns the next command for `device`.
    pub(super) fn next(&self, device: usize) -> Option<&Request> {
        self.queues[device].front()
    }

    /// Removes the next command for `device`, which was sent.
    pub(super) fn sent(&mut self, device: usize) {
        self.queues[device].pop_front();
    }

    /// Returns the writes of pages that have not completed.
    pub(super) fn writes(&self) -> &[ReqId] {
        &self.writes
    }

    /// Returns the extent whose pages `command` carries.
    pub(super) fn extent(&self, command: ReqId) -> usize {
        self.table.get(command).expect("it is below").extent
    }

    /// Makes `request` wait for `command`; returns `false` if it already was the latest to wait.
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

    /// Removes a command that completed.
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

    /// Removes and returns a request that waited for `command`, the latest first.
    pub(super) fn waiter(&mut self, command: &mut CacheCommand) -> Option<ReqId> {
        let at = command.waits;
        let Wait { request, next } = *self.waits.get(at as usize)?;
        command.waits = next;
        self.waits[at as usize].next = self.free;
        self.free = at;
        Some(request)
    }
}
