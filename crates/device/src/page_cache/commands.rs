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
    /// Commands that wait for room below, in order.
    queue: VecDeque<Request>,
}

impl Default for Commands {
    fn default() -> Self {
        Self {
            table: Table::new(),
            waits: Vec::new(),
            free: NIL,
            writes: Vec::new(),
            queue: VecDeque::new(),
        }
    }
}

impl Commands {
    /// A command whose first page is `first`, of no pages yet.
    pub(super) fn begin(&mut self, kind: Kind, first: u64, payer: Option<ReqId>) -> ReqId {
        let place = self.writes.len() as u32;
        let command = CacheCommand { kind, first, pages: 0, payer, waits: NIL, place };
        let id = self.table.insert_with(|_| command);
        if kind.writes() {
            self.writes.push(id);
        }
        id
    }

    /// The command `id` is `io`, of `pages` pages: it goes below when there is room.
    pub(super) fn queue(&mut self, id: ReqId, pages: u32, io: Io) {
        self.table.get_mut(id).expect("it has begun").pages = pages;
        self.queue.push_back(io.with(id));
    }

    /// Drops the command `id`.
    pub(super) fn forget(&mut self, id: ReqId) {
        self.end(id);
    }

    /// The next command to go below.
    pub(super) fn next(&self) -> Option<&Request> {
        self.queue.front()
    }

    /// The next command was sent.
    pub(super) fn sent(&mut self) {
        self.queue.pop_front();
    }

    /// Writes of pages that have not come back.
    pub(super) fn writes(&self) -> &[ReqId] {
        &self.writes
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
