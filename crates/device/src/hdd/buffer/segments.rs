//! The content of the buffer: one run of sectors in each segment.

/// The segments of a buffer, in the order of their use.
#[derive(Debug)]
pub(super) struct Segments {
    all: Box<[Segment]>,
    sectors: u64,
    /// Whether the first segment is for writes only, and the others for reads.
    write_segment: bool,
    uses: u64,
}

/// A segment. It is empty if it holds no sector.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Segment {
    /// First sector.
    pub(super) start: u64,
    /// The sector behind the last one.
    pub(super) end: u64,
    used: u64,
}

impl Segment {
    fn holds(&self, sector: u64) -> bool {
        (self.start..self.end).contains(&sector)
    }

    fn overlaps(&self, first: u64, end: u64) -> bool {
        self.start < end && first < self.end
    }
}

impl Segments {
    pub(super) fn new(count: u32, sectors: u32, write_segment: bool) -> Self {
        let all = vec![Segment::default(); count as usize].into();
        Self { all, sectors: sectors.into(), write_segment, uses: 0 }
    }

    /// Number of sectors of a segment.
    pub(super) fn sectors(&self) -> u64 {
        self.sectors
    }

    /// Returns the segment that holds `first`. A segment that holds everything up to `end` is
    /// preferred, then `active`, the one being filled, then the least recently used one.
    pub(super) fn find(&self, first: u64, end: u64, active: Option<usize>) -> Option<usize> {
        let holds = self.readable().filter(|&at| self.all[at].holds(first));
        holds.min_by_key(|&at| (self.all[at].end < end, Some(at) != active, self.all[at].used))
    }

    /// Whether a segment holds `sector`. `filled` is the segment being filled, and the sector up to
    /// which it is filled by now.
    pub(super) fn holds(&self, sector: u64, filled: Option<(usize, u64)>) -> bool {
        self.readable().any(|at| match filled {
            Some((active, end)) if at == active => {
                let start = self.all[at].start.max(end.saturating_sub(self.sectors));
                (start..end).contains(&sector)
            }
            _ => self.all[at].holds(sector),
        })
    }

    /// Returns the segment for sectors that no segment holds: an empty one, or the least recently
    /// used one. `active`, the one being filled, is taken only if there is no other.
    pub(super) fn for_read(&self, active: Option<usize>) -> usize {
        // A single number, so that no branch depends on the content of the segments.
        let key = |&at: &usize| {
            let (active, held) = (u64::from(Some(at) == active), u64::from(!self.is_empty(at)));
            active << 63 | held << 62 | self.all[at].used
        };
        self.readable().min_by_key(key).expect("a segment for reads")
    }

    /// Returns the segment for a write: one that the write empties, or as for a read.
    pub(super) fn for_write(&self, first: u64, end: u64, active: Option<usize>) -> usize {
        if self.write_segment {
            return 0;
        }
        let void = |&at: &usize| self.all[at].overlaps(first, end);
        self.readable().find(void).unwrap_or_else(|| self.for_read(active))
    }

    /// Restarts a segment at `start` without any sector.
    pub(super) fn begin(&mut self, at: usize, start: u64) {
        (self.all[at].start, self.all[at].end) = (start, start);
        self.touch(at);
    }

    /// Marks a segment as the most recently used one.
    pub(super) fn touch(&mut self, at: usize) {
        self.uses += 1;
        self.all[at].used = self.uses;
    }

    /// Extends a segment to the sectors before `end`. If it becomes too long, its first sectors are
    /// dropped.
    pub(super) fn extend(&mut self, at: usize, end: u64) {
        let segment = &mut self.all[at];
        segment.end = end;
        segment.start = segment.start.max(end.saturating_sub(self.sectors));
    }

    /// Drops the sectors of a segment before `end`.
    pub(super) fn drop_before(&mut self, at: usize, end: u64) {
        let segment = &mut self.all[at];
        (segment.start, segment.end) = (segment.start.max(end), segment.end.max(end));
    }

    pub(super) fn get(&self, at: usize) -> &Segment {
        &self.all[at]
    }

    /// Empties a segment.
    pub(super) fn clear(&mut self, at: usize) {
        self.all[at].end = self.all[at].start;
    }

    /// Empties every segment that holds some of these sectors.
    pub(super) fn void(&mut self, first: u64, end: u64) {
        for segment in self.all.iter_mut().filter(|segment| segment.overlaps(first, end)) {
            segment.end = segment.start;
        }
    }

    fn is_empty(&self, at: usize) -> bool {
        self.all[at].start == self.all[at].end
    }

    fn readable(&self) -> std::ops::Range<usize> {
        usize::from(self.write_segment)..self.all.len()
    }
}
