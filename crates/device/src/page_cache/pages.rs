//! The pages of the cache, their lists, and the choice of the page that is replaced next.
//!
//! A page is clean (in one of two lists), dirty (in a list of its file, in the order in which pages
//! became dirty), being read, or being written. A page may be dirty and being written at the same
//! time, if it was changed after the write began. Only clean pages are replaced.
//!
//! Replacement uses two lists, as in Unix page caches: a page that was used once is in the inactive
//! list, a page that was used again in the active list, which has at most two thirds of the memory.
//! The least recently used inactive page goes first. So pages that are read once do not displace
//! pages that are used repeatedly, unless the former need more than a third of the memory.

use penstock_core::{ClassId, Io, Prio, ReqId, StreamId, Time};

use super::index::Index;

const NIL: u32 = u32::MAX;
/// Number of a free slot, which has no page.
const NONE: u64 = u64::MAX;

/// A read is under way: the page has no content yet.
const READING: u8 = 1;
/// The content is newer than that on the device.
const DIRTY: u8 = 2;
/// A write is under way.
const WRITING: u8 = 4;
/// The page belongs to the active list when it is clean.
const ACTIVE: u8 = 8;
/// The page was used.
const USED: u8 = 16;
/// The content being read is out of date.
const STALE: u8 = 32;
/// The page is clean, and in the list that its bits name.
const RESTING: u8 = 64;

const INACTIVE_LIST: usize = 0;
const ACTIVE_LIST: usize = 1;
/// The dirty list of the first extent; those of the others follow.
const DIRTY_LISTS: usize = 2;

/// A page.
#[derive(Clone, Copy, Debug)]
pub(super) struct CachedPage {
    /// Number of the page: its first byte divided by the length of a page.
    pub(super) number: u64,
    /// Order in which pages became dirty: a later page has a larger stamp.
    pub(super) stamp: u64,
    /// Time at which it became dirty.
    pub(super) dirtied: Time,
    /// The command that reads or writes it.
    pub(super) command: ReqId,
    prev: u32,
    next: u32,
    /// The extent that it belongs to.
    pub(super) extent: u32,
    /// Its last writer.
    pub(super) writer: Writer,
    bits: u8,
}

/// Stream and class of a page's writer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Writer {
    pub(super) stream: StreamId,
    pub(super) class: ClassId,
    pub(super) prio: Prio,
}

impl Writer {
    pub(super) fn of(io: &Io) -> Self {
        Self { stream: io.stream, class: io.class, prio: io.prio }
    }
}

impl CachedPage {
    pub(super) fn reading(&self) -> bool {
        self.bits & READING != 0
    }

    pub(super) fn writing(&self) -> bool {
        self.bits & WRITING != 0
    }

    /// Whether the whole page has content that is newer than that on the device.
    pub(super) fn dirty(&self) -> bool {
        self.bits & (DIRTY | READING) == DIRTY
    }

    /// Whether it counts as dirty: the device does not have its content, or may not have it yet.
    pub(super) fn unclean(&self) -> bool {
        self.bits & (DIRTY | WRITING) != 0
    }

    /// Whether the content being read is out of date; it is then dropped on arrival.
    pub(super) fn stale(&self) -> bool {
        self.bits & STALE != 0
    }
}

/// Numbers of pages that count as dirty, in all and on each device.
#[derive(Debug)]
pub(super) struct DirtyCount {
    devices: Box<[u32]>,
    unclean: u32,
    /// Returns the same sum, counting at least the reserve for each device.
    claimed: u32,
    reserve: u32,
}

impl DirtyCount {
    /// Creates zero counts for `devices` devices with a `reserve` each.
    pub(super) fn new(devices: u32, reserve: u32) -> Self {
        let claimed = devices * reserve;
        Self { devices: vec![0; devices as usize].into(), unclean: 0, claimed, reserve }
    }

    pub(super) fn add(&mut self, device: usize) {
        let own = &mut self.devices[device];
        *own += 1;
        self.unclean += 1;
        self.claimed += u32::from(*own > self.reserve);
    }

    fn remove(&mut self, device: usize) {
        let own = &mut self.devices[device];
        self.claimed -= u32::from(*own > self.reserve);
        self.unclean -= 1;
        *own -= 1;
    }

    /// Returns the number of pages that count as dirty on all devices.
    pub(super) fn unclean(&self) -> u32 {
        self.unclean
    }

    /// Returns the number of pages that count as dirty on `device`.
    pub(super) fn unclean_on(&self, device: usize) -> u32 {
        self.devices[device]
    }

    /// Returns the number of pages that count as dirty or are reserved.
    pub(super) fn claimed(&self) -> u32 {
        self.claimed
    }
}

#[derive(Clone, Copy, Debug)]
struct List {
    head: u32,
    tail: u32,
    len: u32,
}

/// All pages of a cache.
#[derive(Debug)]
pub(super) struct Pages {
    arena: Vec<CachedPage>,
    /// Most pages.
    capacity: u32,
    free: u32,
    index: Index,
    /// The inactive list, the active list, and the dirty list of each extent.
    lists: Box<[List]>,
    /// The device of each extent.
    devices: Box<[usize]>,
    /// Counts of dirty pages, pages being written, and pages that became dirty while they were
    /// read.
    unclean: DirtyCount,
    /// Number of pages in the dirty lists of each device.
    dirty: Box<[u32]>,
    /// The last stamp that was given.
    stamp: u64,
}

impl Pages {
    /// Creates room for `capacity` pages of extents on these `devices`; `unclean` counts dirty
    /// pages.
    pub(super) fn new(
        capacity: u32,
        devices: impl Iterator<Item = usize>,
        unclean: DirtyCount,
    ) -> Self {
        let none = List { head: NIL, tail: NIL, len: 0 };
        let devices: Box<[usize]> = devices.collect();
        Self {
            arena: Vec::new(),
            capacity,
            free: NIL,
            index: Index::new(capacity),
            lists: vec![none; DIRTY_LISTS + devices.len()].into(),
            dirty: vec![0; unclean.devices.len()].into(),
            devices,
            unclean,
            stamp: 0,
        }
    }

    /// Returns the slot of the page `number`, if it is in memory.
    pub(super) fn find(&self, number: u64) -> Option<u32> {
        self.index.get(number)
    }

    /// Returns the page at `slot`.
    pub(super) fn page(&self, slot: u32) -> &CachedPage {
        &self.arena[slot as usize]
    }

    /// Returns the counts of dirty pages.
    pub(super) fn unclean(&self) -> &DirtyCount {
        &self.unclean
    }

    /// Returns the number of pages that wait to be written to `device`.
    pub(super) fn dirty_on(&self, device: usize) -> u32 {
        self.dirty[device]
    }

    /// Returns the last stamp that a page got.
    pub(super) fn stamp(&self) -> u64 {
        self.stamp
    }

    /// Returns the slots of the dirty pages of `extent`, the oldest first.
    pub(super) fn oldest(&self, extent: usize) -> impl Iterator<Item = u32> {
        let first = self.lists[DIRTY_LISTS + extent].head;
        let some = |slot| (slot != NIL).then_some(slot);
        std::iter::successors(some(first), move |&slot| some(self.page(slot).next))
    }

    /// Takes a slot for the page `number` of `extent`, which is not in memory: a free slot, or that
    /// of the clean page that is replaced. Returns `None` if no page is clean. The page is in no
    /// list until the caller reads or writes it.
    pub(super) fn take(&mut self, number: u64, extent: usize) -> Option<u32> {
        let slot = if self.free != NIL {
            let slot = self.free;
            self.free = self.arena[slot as usize].next;
            slot
        } else if (self.arena.len() as u32) < self.capacity {
            self.arena.push(CachedPage::default());
            self.arena.len() as u32 - 1
        } else {
            let list = usize::from(self.lists[INACTIVE_LIST].len == 0);
            let slot = self.lists[list].tail;
            if slot == NIL {
                return None;
            }
            self.unlink(list, slot);
            self.index.remove(self.arena[slot as usize].number);
            slot
        };
        self.arena[slot as usize] =
            CachedPage { number, extent: extent as u32, ..CachedPage::default() };
        self.index.insert(number, slot);
        Some(slot)
    }

    /// Marks the page as used: by a read that found it or brought it, or by a write.
    pub(super) fn touch(&mut self, slot: u32) {
        let rested = self.wake(slot);
        let page = &mut self.arena[slot as usize];
        page.bits |= if page.bits & USED != 0 { ACTIVE } else { USED };
        if rested {
            self.rest(slot);
        }
    }

    /// Puts a page that has its content and is idle at the front of its list.
    fn rest(&mut self, slot: u32) {
        let page = &mut self.arena[slot as usize];
        page.bits |= RESTING;
        let list = list_of(page.bits);
        self.push_front(list, slot);
        while self.lists[ACTIVE_LIST].len > self.capacity / 3 * 2 {
            let last = self.lists[ACTIVE_LIST].tail;
            self.unlink(ACTIVE_LIST, last);
            self.arena[last as usize].bits &= !ACTIVE;
            self.push_front(INACTIVE_LIST, last);
        }
    }

    /// Removes a clean page from its list. Returns whether it was clean.
    fn wake(&mut self, slot: u32) -> bool {
        let page = &mut self.arena[slot as usize];
        let bits = page.bits;
        page.bits &= !RESTING;
        if bits & RESTING != 0 {
            self.unlink(list_of(bits), slot);
        }
        bits & RESTING != 0
    }

    /// Marks the page as being read by `command`.
    pub(super) fn read(&mut self, slot: u32, command: ReqId) {
        let page = &mut self.arena[slot as usize];
        page.bits |= READING;
        page.command = command;
    }

    /// Ends the read of the page at `now`; `ok` tells whether it succeeded.
    pub(super) fn filled(&mut self, slot: u32, now: Time, ok: bool) {
        let page = &mut self.arena[slot as usize];
        page.bits &= !READING;
        let bits = page.bits;
        if !ok || bits & STALE != 0 {
            if bits & DIRTY != 0 {
                self.unclean.remove(self.devices[page.extent as usize]);
            }
            self.release(slot);
        } else if bits & DIRTY != 0 {
            self.queue(slot, now);
        } else {
            self.rest(slot);
        }
    }

    /// Marks the page as written into by `writer`. The page is new, clean or dirty, but not stale.
    pub(super) fn write(&mut self, slot: u32, now: Time, writer: Writer) {
        self.wake(slot);
        let page = &mut self.arena[slot as usize];
        let before = page.bits;
        page.writer = writer;
        page.bits |= DIRTY;
        if before & (DIRTY | WRITING) == 0 {
            self.unclean.add(self.devices[page.extent as usize]);
        }
        if before & (DIRTY | READING) == 0 {
            self.queue(slot, now);
        }
    }

    /// Adds the page to the dirty list.
    fn queue(&mut self, slot: u32, now: Time) {
        self.stamp += 1;
        let page = &mut self.arena[slot as usize];
        (page.stamp, page.dirtied) = (self.stamp, now);
        let extent = page.extent as usize;
        self.dirty[self.devices[extent]] += 1;
        self.push_back(DIRTY_LISTS + extent, slot);
    }

    /// Marks the dirty page as being written by `command` with its current content.
    pub(super) fn send(&mut self, slot: u32, command: ReqId) {
        let extent = self.arena[slot as usize].extent as usize;
        self.dirty[self.devices[extent]] -= 1;
        self.unlink(DIRTY_LISTS + extent, slot);
        let page = &mut self.arena[slot as usize];
        page.bits = page.bits & !DIRTY | WRITING;
        page.command = command;
    }

    /// Ends the write of the page; it may have become dirty again.
    pub(super) fn written(&mut self, slot: u32) {
        let page = &mut self.arena[slot as usize];
        page.bits &= !WRITING;
        if page.bits & DIRTY == 0 {
            self.unclean.remove(self.devices[page.extent as usize]);
            self.rest(slot);
        }
    }

    /// Marks the content of the page as out of date. A dirty page stays: its writer came later.
    pub(super) fn outdate(&mut self, slot: u32) {
        let page = &mut self.arena[slot as usize];
        match page.bits & (READING | DIRTY | WRITING) {
            READING => page.bits |= STALE,
            0 => {
                self.wake(slot);
                self.release(slot);
            }
            _ => {}
        }
    }

    /// Frees the slot of a page that is in no list.
    fn release(&mut self, slot: u32) {
        let page = &mut self.arena[slot as usize];
        self.index.remove(page.number);
        *page = CachedPage { next: self.free, ..CachedPage::default() };
        self.free = slot;
    }

    fn push_front(&mut self, list: usize, slot: u32) {
        let next = self.lists[list].head;
        (self.arena[slot as usize].prev, self.arena[slot as usize].next) = (NIL, next);
        match next {
            NIL => self.lists[list].tail = slot,
            next => self.arena[next as usize].prev = slot,
        }
        self.lists[list].head = slot;
        self.lists[list].len += 1;
    }

    fn push_back(&mut self, list: usize, slot: u32) {
        let prev = self.lists[list].tail;
        (self.arena[slot as usize].prev, self.arena[slot as usize].next) = (prev, NIL);
        match prev {
            NIL => self.lists[list].head = slot,
            prev => self.arena[prev as usize].next = slot,
        }
        self.lists[list].tail = slot;
        self.lists[list].len += 1;
    }

    fn unlink(&mut self, list: usize, slot: u32) {
        let CachedPage { prev, next, .. } = self.arena[slot as usize];
        match prev {
            NIL => self.lists[list].head = next,
            prev => self.arena[prev as usize].next = next,
        }
        match next {
            NIL => self.lists[list].tail = prev,
            next => self.arena[next as usize].prev = prev,
        }
        self.lists[list].len -= 1;
    }
}

impl Default for CachedPage {
    fn default() -> Self {
        let none = ReqId::new(NIL, 0);
        let writer = Writer { stream: StreamId(0), class: ClassId(0), prio: Prio(0) };
        let dirtied = Time::NEVER;
        Self {
            number: NONE,
            stamp: 0,
            dirtied,
            command: none,
            prev: NIL,
            next: NIL,
            extent: 0,
            writer,
            bits: 0,
        }
    }
}

/// Returns the list of a clean page.
fn list_of(bits: u8) -> usize {
    usize::from(bits & ACTIVE != 0)
}
