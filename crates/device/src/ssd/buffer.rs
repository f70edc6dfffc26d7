//! The write buffer: data from the host that is not yet in the cells.
//!
//! Bytes fill an open page; a full one goes to the next die in turn. Pages are counted by epochs,
//! which flushes close. A flush is done when all pages of its epoch and of earlier ones are
//! programmed.

use std::collections::VecDeque;

use penstock_core::ReqId;

use super::die::BufferedPage;

/// Runs of writes that are remembered: more than most loads have.
const RUNS: usize = 32;

/// A run of at least so many bytes frees whole blocks; a shorter one costs what random writes do.
///
/// On three drives the rate of random writes rose with their size and met that of sequential ones
/// at 4 to 32 MiB (the "clustered block" of Min et al., SFS, FAST 2012, section 2.3).
pub(super) const CLUSTERED: u64 = 32 << 20;

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
    runs: Runs,
}

/// Pages between two flushes.
#[derive(Debug, Default)]
struct Epoch {
    /// Not yet in the cells.
    pages: u32,
    /// The flush that closed it.
    flush: Option<ReqId>,
}

/// What a write is to its run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Part {
    /// How many of its bytes, from its start on, count as random.
    pub(super) random: u32,
    /// Whether its run is now long, so that the bytes which counted as random do not.
    pub(super) long: bool,
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
            runs: Runs::default(),
        }
    }

    /// Whether a write is part of a long run, in order of arrival.
    pub(super) fn run(&mut self, start: u64, len: u32) -> Part {
        let before = self.runs.go_on(start, len);
        let random = u64::from(len).min(CLUSTERED.saturating_sub(before)) as u32;
        let long = before < CLUSTERED && before + u64::from(len) >= CLUSTERED;
        Part { random, long }
    }

    /// Whether there is any room.
    pub(super) fn has_room(&self) -> bool {
        self.free > 0
    }

    /// Reserves room for `bytes`, or for as many as there are.
    pub(super) fn reserve(&mut self, bytes: u32) -> u32 {
        let taken = u64::from(bytes).min(self.free);
        self.free -= taken;
        taken as u32
    }

    /// Puts up to `bytes` into the open page, the `random` ones first. Returns how many of both
    /// remain, and the page with its die if it is now full.
    pub(super) fn fill(
        &mut self,
        bytes: u32,
        random: u32,
    ) -> (u32, u32, Option<(u32, BufferedPage)>) {
        let taken = bytes.min(self.full - self.open.bytes);
        let of_them = random.min(taken);
        self.open.bytes += taken;
        self.open.random += of_them;
        let closed = (self.open.bytes == self.full).then(|| self.close());
        (bytes - taken, random - of_them, closed)
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

/// The last runs: writes that each began where the one before ended, or where their run began.
#[derive(Debug)]
struct Runs {
    runs: [Run; RUNS],
    oldest: usize,
}

#[derive(Clone, Copy, Debug)]
struct Run {
    start: u64,
    end: u64,
    /// Bytes so far.
    bytes: u64,
}

impl Default for Runs {
    fn default() -> Self {
        Self { runs: [Run { start: u64::MAX, end: u64::MAX, bytes: 0 }; RUNS], oldest: 0 }
    }
}

impl Runs {
    /// Adds a write to the run that it continues, or begins one. Returns the run's bytes before.
    fn go_on(&mut self, start: u64, len: u32) -> u64 {
        let end = start + u64::from(len);
        if let Some(run) = self.runs.iter_mut().find(|run| run.end == start || run.start == start) {
            run.end = end;
            run.bytes += u64::from(len);
            return run.bytes - u64::from(len);
        }
        self.runs[self.oldest] = Run { start, end, bytes: u64::from(len) };
        self.oldest = (self.oldest + 1) % RUNS;
        0
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
        assert_eq!(buffer.fill(10, 0), (0, 0, None));
        let page = BufferedPage { bytes: 16, random: 6, epoch: 0 };
        assert_eq!(buffer.fill(20, 8), (14, 2, Some((0, page))));
        assert_eq!(buffer.fill(14, 2), (0, 0, None));
        let (rest, _, closed) = buffer.fill(2, 2);
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
        let (_, _, first) = buffer.fill(16, 0);
        buffer.fill(4, 0);
        let (waits, cut) = buffer.flush(flush(1));
        assert!(waits);
        let (_, _, later) = buffer.fill(16, 0);
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
    fn runs_are_told_from_random_writes() {
        let mut runs = Runs::default();
        let before = [(0, 8), (100, 4), (8, 8), (104, 4), (50, 8), (16, 8), (16, 8), (0, 8)];
        let before = before.map(|(start, len)| runs.go_on(start, len));
        // The last one begins its run again.
        assert_eq!(before, [0, 0, 8, 4, 0, 16, 0, 24]);
    }

    #[test]
    fn what_a_run_costs_does_not_depend_on_its_pieces() {
        let cost = |len: u32| {
            let mut buffer = WriteBuffer::new(64, 16, 2);
            let starts = (0..100 << 20).step_by(len as usize);
            let parts = starts.map(|start| buffer.run(start, len));
            parts.fold((0, 0), |(random, long), part| {
                (random + u64::from(part.random), long + u32::from(part.long))
            })
        };
        assert_eq!([4 << 10, 64 << 10, 1 << 20, 20 << 20].map(cost), [(CLUSTERED, 1); 4]);
    }
}
