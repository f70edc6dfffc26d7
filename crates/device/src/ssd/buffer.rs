//! The write buffer: data from the host that is not yet in the cells.
//!
//! Bytes fill an open page; a full one goes to the next die in turn. Pages are counted by epochs,
//! which flushes close. A flush is done when all pages of its epoch and of earlier ones are
//! programmed.

use std::collections::VecDeque;

use penstock_core::ReqId;

use super::die::BufferedPage;

/// Ends of streams that are remembered: more than most loads have.
const STREAMS: usize = 32;

#[derive(Debug)]
pub(super) struct WriteBuffer {
    free: u64,
    /// Bytes of a full page.
    full: u32,
    open: BufferedPage,
    dies: u32,
    next_die: u32,
    epochs: VecDeque<Epoch>,
    /// Number of the first of `epochs`.
    first: u64,
    streams: WriteStreams,
}

/// Pages between two flushes.
#[derive(Debug, Default)]
struct Epoch {
    /// Not yet in the cells.
    pages: u32,
    /// The flush that closed it.
    flush: Option<ReqId>,
}

impl WriteBuffer {
    pub(super) fn new(bytes: u64, program_bytes: u32, dies: u32) -> Self {
        assert!(bytes >= u64::from(program_bytes), "a buffer holds what one program writes");
        Self {
            free: bytes,
            full: program_bytes,
            open: BufferedPage::default(),
            dies,
            next_die: 0,
            epochs: VecDeque::from([Epoch::default()]),
            first: 0,
            streams: WriteStreams::default(),
        }
    }

    /// Whether a write goes on where an earlier one ended.
    pub(super) fn continues(&mut self, start: u64, end: u64) -> bool {
        self.streams.continues(start, end)
    }

    /// Reserves room for `bytes`, or for as many as there are.
    pub(super) fn reserve(&mut self, bytes: u32) -> u32 {
        let taken = u64::from(bytes).min(self.free);
        self.free -= taken;
        taken as u32
    }

    /// Puts up to `bytes` into the open page. Returns how many remain, and the page with its die if
    /// it is now full.
    pub(super) fn fill(&mut self, bytes: u32, random: bool) -> (u32, Option<(u32, BufferedPage)>) {
        let taken = bytes.min(self.full - self.open.bytes);
        self.open.bytes += taken;
        self.open.random += if random { taken } else { 0 };
        let closed = (self.open.bytes == self.full).then(|| self.close());
        (bytes - taken, closed)
    }

    fn close(&mut self) -> (u32, BufferedPage) {
        let epoch = self.first + self.epochs.len() as u64 - 1;
        let page = BufferedPage { epoch, ..core::mem::take(&mut self.open) };
        self.epochs.back_mut().expect("an epoch is open").pages += 1;
        let die = self.next_die;
        self.next_die = (die + 1) % self.dies;
        (die, page)
    }

    /// Closes the epoch for `flush`. Returns whether the flush must wait, and the page that it
    /// closed early.
    pub(super) fn flush(&mut self, flush: ReqId) -> (bool, Option<(u32, BufferedPage)>) {
        let cut = (self.open.bytes > 0).then(|| self.close());
        if self.epochs.iter().all(|epoch| epoch.pages == 0) {
            return (false, cut);
        }
        self.epochs.back_mut().expect("an epoch is open").flush = Some(flush);
        self.epochs.push_back(Epoch::default());
        (true, cut)
    }

    /// A page is in the cells: its room is free again.
    pub(super) fn programmed(&mut self, page: &BufferedPage) {
        self.free += u64::from(page.bytes);
        self.epochs[(page.epoch - self.first) as usize].pages -= 1;
    }

    /// A flush with all its pages in the cells, once.
    pub(super) fn flushed(&mut self) -> Option<ReqId> {
        let flush = self.epochs.front().filter(|epoch| epoch.pages == 0)?.flush?;
        self.epochs.pop_front();
        self.first += 1;
        Some(flush)
    }
}

/// The ends of the last writes, to recognise writes that go on from there.
#[derive(Debug)]
struct WriteStreams {
    ends: [u64; STREAMS],
    oldest: usize,
}

impl Default for WriteStreams {
    fn default() -> Self {
        Self { ends: [u64::MAX; STREAMS], oldest: 0 }
    }
}

impl WriteStreams {
    fn continues(&mut self, start: u64, end: u64) -> bool {
        if let Some(known) = self.ends.iter_mut().find(|known| **known == start) {
            *known = end;
            return true;
        }
        self.ends[self.oldest] = end;
        self.oldest = (self.oldest + 1) % STREAMS;
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flush(slot: u32) -> ReqId {
        ReqId { slot, age: 0 }
    }

    #[test]
    fn full_pages_go_to_the_dies_in_turn() {
        let mut buffer = WriteBuffer::new(64, 16, 2);
        assert_eq!(buffer.fill(10, false), (0, None));
        let page = BufferedPage { bytes: 16, random: 6, epoch: 0 };
        assert_eq!(buffer.fill(20, true), (14, Some((0, page))));
        assert_eq!(buffer.fill(14, true), (0, None));
        let (rest, closed) = buffer.fill(2, true);
        assert_eq!((rest, closed.expect("a full page").0), (0, 1));
    }

    #[test]
    fn room_is_what_there_is() {
        let mut buffer = WriteBuffer::new(64, 16, 2);
        assert_eq!([40, 40, 40].map(|bytes| buffer.reserve(bytes)), [40, 24, 0]);
    }

    #[test]
    fn a_flush_waits_for_what_came_before_it() {
        let mut buffer = WriteBuffer::new(64, 16, 2);
        assert_eq!(buffer.flush(flush(0)), (false, None), "nothing to write back");
        let (_, first) = buffer.fill(16, false);
        buffer.fill(4, false);
        let (waits, cut) = buffer.flush(flush(1));
        assert!(waits);
        let (_, later) = buffer.fill(16, false);
        let [first, cut, later] = [first, cut, later].map(|closed| closed.expect("a page").1);
        assert_eq!((cut.bytes, later.epoch), (4, 1));
        let (waits, _) = buffer.flush(flush(2));
        assert!(waits);
        buffer.programmed(&later);
        buffer.programmed(&first);
        assert_eq!(buffer.flushed(), None);
        buffer.programmed(&cut);
        let done = [(); 3].map(|()| buffer.flushed());
        assert_eq!(done, [Some(flush(1)), Some(flush(2)), None]);
    }

    #[test]
    fn streams_are_separated_from_random_writes() {
        let mut buffer = WriteBuffer::new(64, 16, 2);
        let continues = [(0, 8), (100, 108), (8, 16), (108, 116), (50, 58), (16, 24), (16, 24)];
        let continues = continues.map(|(start, end)| buffer.continues(start, end));
        assert_eq!(continues, [false, false, true, true, false, true, false]);
    }
}
