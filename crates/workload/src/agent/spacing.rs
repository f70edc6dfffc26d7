//! Distances between the requests of an agent, and the growth of distances and sizes.

/// Alignment and distances of requests, and their growth.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Spacing {
    /// Requests begin at multiples of this many bytes, counted from the region's first byte.
    /// Without it, random requests begin at multiples of the smallest size, and sequential ones
    /// anywhere.
    pub align: Option<u32>,
    /// Bytes from the beginning of the region to the first request of a sequential pattern.
    pub first: u64,
    /// Bytes skipped behind a sequential request, or before it if the pattern goes backwards.
    pub gap: u32,
    /// Bytes from the beginning of a sequential request to that of the next, whatever their size.
    /// It replaces the gap.
    pub stride: Option<u64>,
    /// Bytes by which each pass of a strided pattern through the region begins behind the pass
    /// before, until it would begin a stride behind the first byte.
    pub shift: u64,
    /// Growth of sizes and gaps, if any.
    pub growth: Option<Growth>,
}

/// Growth of sizes and gaps after a number of requests.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Growth {
    /// Number of successive requests of the same size and gap.
    pub every: u32,
    /// Bytes by which the size then grows.
    pub size: u32,
    /// Bytes by which the gap then grows.
    pub gap: u32,
}

impl Spacing {
    /// Bytes of the request numbered `number`, from 0, if the first has `first` bytes.
    pub(super) fn size(&self, first: u32, number: u64) -> u32 {
        self.grown(first, number, |growth| growth.size)
    }

    /// The value of `first` after its growth up to the request numbered `number`. `by` selects the
    /// step.
    fn grown(&self, first: u32, number: u64, by: impl Fn(&Growth) -> u32) -> u32 {
        let Some(growth) = &self.growth else { return first };
        let grown = (number / u64::from(growth.every.max(1))).saturating_mul(by(growth).into());
        first.saturating_add(u32::try_from(grown).unwrap_or(u32::MAX))
    }

    /// Rounds `at` up to a multiple of the alignment.
    fn aligned(&self, at: u64) -> u64 {
        self.align.map_or(at, |align| at.next_multiple_of(u64::from(align.max(1))))
    }

    /// Number of requests of `len` bytes in the first pass through a region of `bytes`, and in each
    /// later pass.
    pub(super) fn passes(&self, len: u32, bytes: u64, backwards: bool) -> (u64, u64) {
        let len = u64::from(len);
        let step = self.aligned(self.stride.unwrap_or(len + u64::from(self.gap))).max(1);
        let last = bytes - len;
        let last = if backwards { self.below(last, len as u32) } else { last };
        let from = |first: u64| (last - first) / step + 1;
        let first = if backwards { 0 } else { self.aligned(self.first) };
        (if first <= last { from(first) } else { from(0) }, from(0))
    }

    /// Rounds `at` down to a multiple of the alignment, or of `size` if none is set: a place where
    /// a request of a backwards pattern may begin.
    fn below(&self, at: u64, size: u32) -> u64 {
        at - at % u64::from(self.align.unwrap_or(size).max(1))
    }
}

/// The position of a sequential pattern in its region.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Position {
    /// Bytes from the beginning of the region to the next request, or to the previous one if the
    /// pattern goes backwards.
    at: u64,
    /// Bytes from the beginning of the region to the first request of this pass; of the first pass
    /// zero.
    pass: u64,
    /// Whether a backwards pattern has begun.
    begun: bool,
}

impl Position {
    /// The position before the first request.
    pub(super) fn new(spacing: &Spacing) -> Self {
        Self { at: spacing.first, pass: 0, begun: false }
    }

    /// The place of the request numbered `number`, of `len` bytes, in a region of `bytes` that is
    /// large enough for it.
    pub(super) fn next(&mut self, spacing: &Spacing, len: u32, number: u64, bytes: u64) -> u64 {
        let aligned = spacing.aligned(self.at);
        let from = if aligned + u64::from(len) <= bytes {
            aligned
        } else {
            let (next, end) = (self.pass + spacing.shift, spacing.stride.unwrap_or(0));
            self.pass = if next < end && next + u64::from(len) <= bytes { next } else { 0 };
            self.pass
        };
        self.at = from + distance(spacing, len, number);
        from
    }

    /// The place of the request numbered `number` of a backwards pattern whose smallest request has
    /// `smallest` bytes: from the end of the region down, and again from the end after its
    /// beginning.
    pub(super) fn previous(
        &mut self,
        spacing: &Spacing,
        (len, smallest): (u32, u32),
        number: u64,
        bytes: u64,
    ) -> u64 {
        let before = self.at.checked_sub(distance(spacing, len, number)).filter(|_| self.begun);
        self.begun = true;
        self.at = match before {
            Some(at) => spacing.below(at, 1),
            None => spacing.below(bytes - u64::from(len), smallest),
        };
        self.at
    }
}

/// Returns the bytes between the beginnings of two successive requests. The lower one of them has
/// `len` bytes and is numbered `number`.
fn distance(spacing: &Spacing, len: u32, number: u64) -> u64 {
    let gap = spacing.grown(spacing.gap, number, |growth| growth.gap);
    spacing.stride.unwrap_or(u64::from(len) + u64::from(gap))
}
