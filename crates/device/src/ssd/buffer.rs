//! The write buffer: data from the host that is not yet in the cells.
//!
//! Bytes fill an open page; a full page goes to the next die in turn. Pages are counted by epochs,
//! which flushes close. A flush ends when all pages of its epoch and of earlier ones are
//! programmed.

use std::collections::VecDeque;

use penstock_core::ReqId;

use super::die::BufferedPage;

/// Number of remembered runs of writes, short and grown ones each: more than most loads have.
const RUNS: usize = 32;

/// Bytes from which a run has grown. Short runs do not displace a grown one, and a small gap does
/// not end it, since the gap may have been written a little earlier.
const GROWN: u64 = 1 << 20;

/// Largest such gap in bytes: the length that programs and operating systems write at once.
const GAP: u64 = 128 << 10;

/// Bytes from which a run frees whole blocks; a shorter one costs as much as random writes.
///
/// On three drives the rate of random writes rose with their size and reached that of sequential
/// ones at 4 to 32 MiB (the "clustered block" of Min et al., SFS, FAST 2012, section 2.3).
pub(super) const CLUSTERED: u64 = 32 << 20;

/// The state of a write buffer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Buffered {
    /// Bytes taken since the begin of the run.
    pub taken: u64,
    /// Bytes that are not yet in the cells.
    pub held: u64,
    /// Capacity in bytes.
    pub size: u64,
}

#[derive(Debug)]
pub(super) struct WriteBuffer {
    free: u64,
    /// Capacity in bytes.
    size: u64,
    /// Bytes taken since the begin of the run.
    taken: u64,
    /// Bytes of a full page.
    full: u32,
    open: BufferedPage,
    dies: u32,
    next_die: u32,
    epochs: VecDeque<Epoch>,
    /// Number of the first of `epochs`.
    first: u64,
    runs: WriteRuns,
}

/// Pages between two flushes.
#[derive(Debug, Default)]
struct Epoch {
    /// Pages that are not yet in the cells.
    pages: u32,
    /// The flush that closed it.
    flush: Option<ReqId>,
}

/// The effect of a write on its run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Part {
    /// Bytes of the write that count as random.
    pub(super) random: u32,
    /// Earlier bytes that counted as random and no longer do.
    pub(super) no_longer_random: u64,
}

impl WriteBuffer {
    pub(super) fn new(bytes: u64, program_bytes: u32, dies: u32) -> Self {
        assert!(bytes >= u64::from(program_bytes), "a buffer holds what one program writes");
        Self {
            free: bytes,
            size: bytes,
            taken: 0,
            full: program_bytes,
            open: BufferedPage::default(),
            dies,
            next_die: 0,
            epochs: VecDeque::from([Epoch::default()]),
            first: 0,
            runs: WriteRuns::new(),
        }
    }

    /// Adds a write to the runs, in order of arrival.
    pub(super) fn run(&mut self, start: u64, len: u32) -> Part {
        self.runs.add(start, len)
    }

    /// Whether there is any room.
    pub(super) fn has_room(&self) -> bool {
        self.free > 0
    }

    /// Reserves room for `bytes`, or for as many as fit.
    pub(super) fn reserve(&mut self, bytes: u32) -> u32 {
        let taken = u64::from(bytes).min(self.free);
        self.free -= taken;
        self.taken += taken;
        taken as u32
    }

    /// Returns the state of the buffer.
    pub(super) fn gauge(&self) -> Buffered {
        Buffered { taken: self.taken, held: self.size - self.free, size: self.size }
    }

    /// Puts up to `bytes` into the open page, the `random` ones first. Returns how many of both
    /// remain, and the page with its die if it is now full.
    pub(super) fn fill(
        &mut self,
        bytes: u32,
        random: u32,
    ) -> (u32, u32, Option<(u32, BufferedPage)>) {
        let taken = bytes.min(self.full - self.open.bytes);
        let random_taken = random.min(taken);
        self.open.bytes += taken;
        self.open.random += random_taken;
        let closed = (self.open.bytes == self.full).then(|| self.close());
        (bytes - taken, random - random_taken, closed)
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

    /// Frees the room of a page that is in the cells.
    pub(super) fn programmed(&mut self, page: &BufferedPage) {
        self.free += u64::from(page.bytes);
        self.epochs[(page.epoch - self.first) as usize].pages -= 1;
    }

    /// Removes and returns a flush whose pages are all in the cells.
    pub(super) fn flushed(&mut self) -> Option<ReqId> {
        let flush = self.epochs.front().filter(|epoch| epoch.pages == 0)?.flush?;
        self.epochs.pop_front();
        self.first += 1;
        Some(flush)
    }
}

/// The last runs: writes that each lie next to others of their run, in any order, or begin it
/// again.
#[derive(Debug)]
struct WriteRuns {
    /// Short and grown runs, each in the order of their last write.
    runs: [Vec<WriteRun>; 2],
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct WriteRun {
    start: u64,
    end: u64,
    /// Bytes so far.
    bytes: u64,
    /// Bytes that count as random.
    random: u64,
}

impl WriteRuns {
    fn new() -> Self {
        Self { runs: [Vec::with_capacity(RUNS), Vec::with_capacity(RUNS)] }
    }

    /// Adds a write to the runs that it lies next to, which become one, or begins a run.
    fn add(&mut self, start: u64, len: u32) -> Part {
        let mut run = WriteRun { start, end: start + u64::from(len), bytes: len.into(), random: 0 };
        for (runs, gap) in self.runs.iter_mut().zip([0, GAP]) {
            while let Some(nth) = runs.iter().rposition(|neighbour| neighbour.is_next_to(&run, gap))
            {
                let neighbour = runs.remove(nth);
                if neighbour.start != run.start {
                    (run.start, run.end) =
                        (run.start.min(neighbour.start), run.end.max(neighbour.end));
                }
                (run.bytes, run.random) =
                    (run.bytes + neighbour.bytes, run.random + neighbour.random);
            }
        }
        let part = if run.bytes >= CLUSTERED {
            Part { random: 0, no_longer_random: core::mem::take(&mut run.random) }
        } else {
            run.random += u64::from(len);
            Part { random: len, no_longer_random: 0 }
        };
        let runs = &mut self.runs[usize::from(run.bytes >= GROWN)];
        if runs.len() == RUNS {
            runs.remove(0);
        }
        runs.push(run);
        part
    }
}

impl WriteRun {
    /// Whether a write lies before or behind the run, or begins it again.
    fn is_next_to(&self, write: &Self, gap: u64) -> bool {
        self.start == write.start
            || (self.end..=self.end.saturating_add(gap)).contains(&write.start)
            || (write.end..=write.end.saturating_add(gap)).contains(&self.start)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flush(slot: u32) -> ReqId {
        ReqId::new(slot, 0)
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

    const MIB: u64 = 1 << 20;

    fn add(runs: &mut WriteRuns, start: u64, mib: u32) -> (u64, u64) {
        let part = runs.add(start * MIB, mib << 20);
        (u64::from(part.random) / MIB, part.no_longer_random / MIB)
    }

    #[test]
    fn long_runs_are_told_from_random_writes() {
        let mut runs = WriteRuns::new();
        // Two runs and a place of its own; then the first run is long.
        for start in [0, 100, 10, 110, 50] {
            assert_eq!(add(&mut runs, start, 10), (10, 0));
        }
        assert_eq!(add(&mut runs, 20, 15), (0, 20));
        assert_eq!(add(&mut runs, 35, 1), (0, 0));
        assert_eq!(add(&mut runs, 200, 1), (1, 0));
        // The run begins again.
        assert_eq!(add(&mut runs, 0, 1), (0, 0));
        assert_eq!(add(&mut runs, 1, 1), (0, 0));
    }

    #[test]
    fn the_order_within_a_run_makes_no_difference() {
        let mut runs = WriteRuns::new();
        let parts = [8, 16, 0].map(|start| add(&mut runs, start, 8));
        assert_eq!(parts, [(8, 0), (8, 0), (8, 0)]);
        // The write is next to the run but for a gap; then the gap is written.
        assert_eq!(add(&mut runs, 32, 4), (4, 0));
        assert_eq!(add(&mut runs, 24, 8), (0, 28));
    }

    #[test]
    fn short_writes_between_do_not_end_a_run() {
        let mut runs = WriteRuns::new();
        assert_eq!(add(&mut runs, 0, 20), (20, 0));
        for nth in 1..1_000 {
            runs.add(nth << 30, 4096);
        }
        // The gap between the two was written a little earlier.
        let part = runs.add(20 * MIB + 65_536, 20 << 20);
        assert_eq!(part, Part { random: 0, no_longer_random: 20 * MIB });
    }

    #[test]
    fn what_a_run_costs_does_not_depend_on_its_pieces() {
        let cost = |len: u32| {
            let mut runs = WriteRuns::new();
            let parts = (0..100 * MIB).step_by(len as usize).map(|start| runs.add(start, len));
            parts
                .map(|part| i64::from(part.random) - part.no_longer_random.cast_signed())
                .sum::<i64>()
        };
        assert_eq!([4 << 10, 64 << 10, 1 << 20, 20 << 20].map(cost), [0; 4]);
    }
}
