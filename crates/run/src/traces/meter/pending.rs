//! Requests that were queued and have not completed.
//!
//! The kernel's events have no number that connects a completion to what was queued. A request is a
//! range of sectors here. A completion of exactly this range ends the oldest such request. Any other
//! is of a request that the kernel merged, split or completed in parts: each of its sectors counts for
//! one pending request that has this sector, and a request ends with its last sector.
//!
//! A write that needs flushes of the disk's cache completes twice: first its data, under letters
//! without the flush, then with no sectors. The second ends it.
//!
//! Invariants: memory is bounded; nothing is allocated per event once the tables have grown.

use penstock_policy::queue::Sorted;

use super::letters::{Direction, Letters};

/// Pending requests at most: no disk has more in its queues.
const REQUESTS_MOST: usize = 1 << 16;
/// Pieces of pending requests at most.
const PIECES_MOST: usize = 4 * REQUESTS_MOST;
/// Pieces that are compared to find one at a sector, at most. More of them than a queue usually holds.
const COMPARED_MOST: usize = 1 << 10;

/// A request that was queued.
#[derive(Clone, Copy, Debug)]
pub(super) struct PendingRequest {
    pub(super) at_ns: u64,
    /// The thread that queued it.
    pub(super) thread: u32,
    pub(super) class: u16,
    pub(super) direction: Direction,
    pub(super) sectors: u64,
    /// Sectors that are not complete, 1 of a flush that is not; 0 for a place in the table that is free.
    left: u64,
    flush_first: bool,
    durable: bool,
    /// Whether events were lost since: it may have completed.
    doubtful: bool,
}

impl PendingRequest {
    /// Whether it writes data after a flush of the disk's cache.
    pub(super) fn writes_and_flushes(&self) -> bool {
        self.flush_first && self.direction == Direction::Write
    }
}

/// Sectors of a request that are not complete.
#[derive(Clone, Copy)]
struct Piece {
    request: u32,
    end: u64,
}

/// The lists of pieces.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Group {
    /// The data is to be moved.
    Data(Direction),
    /// The data is written, and the flush that ends the request is not over.
    Written,
}

/// The list of a piece, its first sector, and its number, which rises with the age of requests.
type Key = (Group, u64, u64);

/// The pending requests of a disk.
pub(super) struct Pending {
    requests: Vec<PendingRequest>,
    free_requests: Vec<u32>,
    pieces: Vec<Piece>,
    free_pieces: Vec<u32>,
    sorted: Sorted<Key>,
    /// Requests and pieces at most.
    room: (usize, usize),
    /// Number of the next request.
    next: u64,
    /// Sectors of the longest piece of each direction since nothing was pending.
    longest: [u64; Direction::ALL.len()],
}

impl Pending {
    pub(super) fn new() -> Self {
        Self::with_room(REQUESTS_MOST, PIECES_MOST)
    }

    fn with_room(requests: usize, pieces: usize) -> Self {
        Self {
            room: (requests, pieces),
            requests: Vec::new(),
            free_requests: Vec::new(),
            pieces: Vec::new(),
            free_pieces: Vec::new(),
            sorted: Sorted::default(),
            next: 0,
            longest: [0; Direction::ALL.len()],
        }
    }

    /// Adds a request; returns `false` if there is no room for it.
    pub(super) fn queued(
        &mut self,
        at_ns: u64,
        (thread, class): (u32, u16),
        letters: Letters,
        (sector, sectors): (u64, u64),
    ) -> bool {
        let Letters { direction, flush_first, durable } = letters;
        let (direction, range) = match (direction, sectors) {
            (Some(direction), 1..) if direction != Direction::Flush => (direction, sector),
            _ if flush_first || direction == Some(Direction::Flush) => (Direction::Flush, 0),
            _ => return true,
        };
        let left = sectors.max(1);
        let (doubtful, sectors) = (false, if direction == Direction::Flush { 0 } else { sectors });
        let request = PendingRequest {
            at_ns,
            thread,
            class,
            direction,
            sectors,
            left,
            flush_first,
            durable,
            doubtful,
        };
        if self.sorted.is_empty() {
            self.longest = [0; Direction::ALL.len()];
        }
        let Some(slot) = place(&mut self.requests, &mut self.free_requests, self.room.0, request)
        else {
            return false;
        };
        let number = self.next;
        self.next += 1;
        let group = Group::Data(direction);
        let is_held = self.insert(slot, (group, range, number), range.saturating_add(left));
        if !is_held {
            self.free(slot);
        }
        is_held
    }

    /// Completes sectors. Calls `ended` for each request that ends with them.
    pub(super) fn completed(
        &mut self,
        letters: Letters,
        (sector, sectors): (u64, u64),
        mut ended: impl FnMut(&PendingRequest),
    ) {
        match letters.direction {
            // A flush of the kernel's own, for one or many requests that want it.
            Some(Direction::Flush) if sectors == 0 => {}
            Some(Direction::Read | Direction::Write) if sectors == 0 => {
                if let Some(piece) = self.flushed(sector) {
                    let end = self.pieces[piece as usize].end;
                    let start = self.sorted.key(piece).1;
                    self.complete(piece, (start, end), None, &mut ended);
                }
            }
            Some(direction) => {
                self.moved(direction, letters, (sector, sectors), &mut ended);
            }
            None => {}
        }
    }

    /// Marks all requests as perhaps completed: events are lost.
    pub(super) fn doubt(&mut self) {
        self.requests.iter_mut().for_each(|request| request.doubtful = true);
    }

    /// Drops doubtful requests that were queued before `before_ns`.
    pub(super) fn drop_doubtful(&mut self, before_ns: u64) {
        let is_old = |request: &PendingRequest| request.doubtful && request.at_ns < before_ns;
        let mut next = self.sorted.at_or_after((Group::Data(Direction::Read), 0, 0));
        while let Some(piece) = next {
            let (group, start, number) = self.sorted.key(piece);
            if is_old(&self.requests[self.pieces[piece as usize].request as usize]) {
                self.sorted.remove(piece);
                self.free_pieces.push(piece);
            }
            next = self.sorted.at_or_after((group, start, number + 1));
        }
        for slot in 0..self.requests.len() as u32 {
            let request = &self.requests[slot as usize];
            if request.left > 0 && is_old(request) {
                self.free(slot);
            }
        }
    }

    /// Requests that have certainly not completed.
    pub(super) fn waiting(&self) -> impl Iterator<Item = &PendingRequest> {
        self.requests.iter().filter(|request| request.left > 0 && !request.doubtful)
    }

    /// Lets `class` choose the class of each request anew.
    pub(super) fn classify(&mut self, class: impl Fn(&PendingRequest) -> u16) {
        for request in &mut self.requests {
            request.class = class(request);
        }
    }

    /// The piece that ends when a command without data completes at `sector`: a write whose data is
    /// written, or else the oldest flush.
    fn flushed(&self, sector: u64) -> Option<u32> {
        let first = |key| self.sorted.at_or_after(key);
        let is_in = |piece: &u32, group| self.sorted.key(*piece).0 == group;
        let written = first((Group::Written, sector, 0));
        let written_here = written.filter(|&piece| {
            let (group, start, _) = self.sorted.key(piece);
            group == Group::Written && start == sector
        });
        let flush = Group::Data(Direction::Flush);
        written_here
            .or_else(|| first((flush, 0, 0)).filter(|piece| is_in(piece, flush)))
            .or_else(|| first((Group::Written, 0, 0)))
    }

    /// Completes sectors with data.
    fn moved(
        &mut self,
        direction: Direction,
        letters: Letters,
        (sector, sectors): (u64, u64),
        ended: &mut impl FnMut(&PendingRequest),
    ) {
        let group = Group::Data(direction);
        let end = sector.saturating_add(sectors);
        if let Some(piece) = self.at(direction, sector, false, |piece_end| piece_end == end) {
            return self.complete(piece, (sector, end), Some(letters), ended);
        }
        let mut at = sector;
        while at < end {
            let mut pieces = [false, true].into_iter().filter_map(|doubtful| {
                let inside = self.at(direction, at, doubtful, |piece_end| piece_end <= end);
                inside.or_else(|| self.around(direction, at, doubtful))
            });
            let Some(piece) = pieces.next() else {
                // Queued before the first event, or lost.
                match self.sorted.at_or_after((group, at + 1, 0)).map(|next| self.sorted.key(next))
                {
                    Some((next_group, start, _)) if next_group == group && start < end => {
                        at = start;
                    }
                    _ => break,
                }
                continue;
            };
            let upto = self.pieces[piece as usize].end.min(end);
            self.complete(piece, (at, upto), Some(letters), ended);
            at = upto;
        }
        if direction == Direction::Discard {
            self.discarded(end - at, ended);
        }
    }

    /// Completes discards of `left` sectors in other places: the kernel merges discards that are not
    /// neighbours, and names the first only.
    fn discarded(&mut self, mut left: u64, ended: &mut impl FnMut(&PendingRequest)) {
        let group = Group::Data(Direction::Discard);
        while left > 0
            && let Some(piece) = self.sorted.at_or_after((group, 0, 0))
            && let (found_group, start, _) = self.sorted.key(piece)
            && found_group == group
        {
            let upto = self.pieces[piece as usize].end.min(start.saturating_add(left));
            self.complete(piece, (start, upto), None, ended);
            left -= upto - start;
        }
    }

    /// The oldest piece that begins at `start` and whose end `fits`, of requests that are `doubtful` or of
    /// those that are not.
    fn at(
        &self,
        direction: Direction,
        start: u64,
        doubtful: bool,
        fits: impl Fn(u64) -> bool,
    ) -> Option<u32> {
        let group = Group::Data(direction);
        let mut next = self.sorted.at_or_after((group, start, 0));
        for _ in 0..COMPARED_MOST {
            let piece = next?;
            let key = self.sorted.key(piece);
            if (key.0, key.1) != (group, start) {
                return None;
            }
            if fits(self.pieces[piece as usize].end) && self.is_doubtful(piece) == doubtful {
                return Some(piece);
            }
            next = self.sorted.at_or_after((group, start, key.2 + 1));
        }
        None
    }

    /// The oldest piece that has the sector `at`, of requests that are `doubtful` or of those that are not.
    fn around(&self, direction: Direction, at: u64, doubtful: bool) -> Option<u32> {
        let group = Group::Data(direction);
        let mut oldest: Option<(u64, u32)> = None;
        let mut next = self.sorted.before((group, at.saturating_add(1), 0));
        for _ in 0..COMPARED_MOST {
            let Some(piece) = next else { break };
            let key = self.sorted.key(piece);
            if key.0 != group || key.1.saturating_add(self.longest[direction as usize]) <= at {
                break;
            }
            if self.pieces[piece as usize].end > at && self.is_doubtful(piece) == doubtful {
                oldest = Some(oldest.map_or((key.2, piece), |oldest| oldest.min((key.2, piece))));
            }
            next = self.sorted.before(key);
        }
        oldest.map(|(_, piece)| piece)
    }

    fn is_doubtful(&self, piece: u32) -> bool {
        self.requests[self.pieces[piece as usize].request as usize].doubtful
    }

    /// Completes the sectors `from` to `upto` of a piece; with the `letters` of a completion of data.
    fn complete(
        &mut self,
        piece: u32,
        (from, upto): (u64, u64),
        letters: Option<Letters>,
        ended: &mut impl FnMut(&PendingRequest),
    ) {
        let (group, start, number) = self.sorted.key(piece);
        let Piece { request: slot, end } = self.pieces[piece as usize];
        self.sorted.remove(piece);
        self.free_pieces.push(piece);
        let request = self.requests[slot as usize];
        let is_flush_due = letters.is_some_and(|letters| {
            request.flush_first && !letters.flush_first || request.durable && !letters.durable
        });
        let mut done = 0;
        for (first, last, group) in [
            (start, from, Some(group)),
            (upto, end, Some(group)),
            (from, upto, is_flush_due.then_some(Group::Written)),
        ] {
            let is_held = first < last
                && group.is_some_and(|group| self.insert(slot, (group, first, number), last));
            done += if is_held { 0 } else { last.saturating_sub(first) };
        }
        let request = &mut self.requests[slot as usize];
        request.left -= done;
        if request.left == 0 {
            ended(request);
            self.free(slot);
        }
    }

    /// Inserts a piece; returns `false` if there is no room for it.
    fn insert(&mut self, request: u32, key: Key, end: u64) -> bool {
        let piece = Piece { request, end };
        let slot = place(&mut self.pieces, &mut self.free_pieces, self.room.1, piece);
        if let Some(slot) = slot {
            let direction = self.requests[request as usize].direction;
            let longest = &mut self.longest[direction as usize];
            *longest = (*longest).max(end - key.1);
            self.sorted.insert(slot, key);
        }
        slot.is_some()
    }

    /// Frees the place of a request without pieces.
    fn free(&mut self, slot: u32) {
        self.requests[slot as usize].left = 0;
        self.free_requests.push(slot);
    }
}

/// Puts `entry` in a free place of a table, which grows to `most` entries.
fn place<T>(table: &mut Vec<T>, free: &mut Vec<u32>, most: usize, entry: T) -> Option<u32> {
    if let Some(slot) = free.pop() {
        table[slot as usize] = entry;
        return Some(slot);
    }
    (table.len() < most).then(|| {
        table.push(entry);
        table.len() as u32 - 1
    })
}

#[cfg(test)]
mod tests;
