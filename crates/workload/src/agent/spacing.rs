//! How far the requests of an agent lie apart, and how that and their size grow.

/// Where requests may begin, what lies between sequential ones, and what grows.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Spacing {
    /// Requests begin at multiples of this, counted from the region's first byte. If not given,
    /// random ones at multiples of the first one's size, of several sizes the smallest, and sequential
    /// ones anywhere.
    pub align: Option<u32>,
    /// Bytes from the beginning of the region to the first request of a sequential pattern.
    pub first: u64,
    /// Bytes that are left out behind a sequential request, before it if the pattern goes backwards.
    pub gap: u32,
    /// Bytes from the beginning of a sequential request to that of the next, whatever their size. If
    /// given, there is no gap.
    pub stride: Option<u64>,
    /// What grows, if something does.
    pub growth: Option<Growth>,
}

/// What grows after every so many requests.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Growth {
    /// Requests of one size and gap.
    pub every: u32,
    /// Bytes by which the size then grows.
    pub size: u32,
    /// Bytes by which the gap grows.
    pub gap: u32,
}

impl Spacing {
    /// Bytes of the request numbered `number`, from 0, if the first has `first`.
    pub(super) fn size(&self, first: u32, number: u64) -> u32 {
        self.grown(first, number, |growth| growth.size)
    }

    /// `first`, grown until the request numbered `number`.
    fn grown(&self, first: u32, number: u64, by: impl Fn(&Growth) -> u32) -> u32 {
        let Some(growth) = &self.growth else { return first };
        let grown = (number / u64::from(growth.every.max(1))).saturating_mul(by(growth).into());
        first.saturating_add(u32::try_from(grown).unwrap_or(u32::MAX))
    }

    /// `at`, or the next multiple of the alignment.
    fn aligned(&self, at: u64) -> u64 {
        self.align.map_or(at, |align| at.next_multiple_of(u64::from(align.max(1))))
    }

    /// Requests of `len` bytes, each of one size, that the pattern has from the first until it begins again in a
    /// region of `bytes`, and from then on each time.
    pub(super) fn passes(&self, len: u32, bytes: u64, backwards: bool) -> (u64, u64) {
        let len = u64::from(len);
        let step = self.aligned(self.stride.unwrap_or(len + u64::from(self.gap))).max(1);
        let last = bytes - len;
        let last = if backwards { self.below(last, len as u32) } else { last };
        let from = |first: u64| (last - first) / step + 1;
        let first = if backwards { 0 } else { self.aligned(self.first) };
        (if first <= last { from(first) } else { from(0) }, from(0))
    }

    /// The last place at or below `at` where a request of a pattern that goes backwards may begin, whose
    /// smallest has `size` bytes.
    fn below(&self, at: u64, size: u32) -> u64 {
        at - at % u64::from(self.align.unwrap_or(size).max(1))
    }
}

/// The way of a sequential pattern through its region.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Position {
    /// Forwards, bytes from the beginning of the region to the next request; backwards, to the one
    /// before.
    at: u64,
    /// A pattern that goes backwards has begun.
    begun: bool,
}

impl Position {
    /// That of the first request.
    pub(super) fn new(spacing: &Spacing) -> Self {
        Self { at: spacing.first, begun: false }
    }

    /// Where the request numbered `number` begins, which has `len` bytes, in a region of `bytes`
    /// that holds them.
    pub(super) fn next(&mut self, spacing: &Spacing, len: u32, number: u64, bytes: u64) -> u64 {
        let aligned = spacing.aligned(self.at);
        let from = if aligned + u64::from(len) <= bytes { aligned } else { 0 };
        self.at = from + distance(spacing, len, number);
        from
    }

    /// The same of a pattern that goes backwards, and whose smallest request has `least` bytes: from the
    /// end of the region, and behind its beginning again from there.
    pub(super) fn previous(
        &mut self,
        spacing: &Spacing,
        (len, least): (u32, u32),
        number: u64,
        bytes: u64,
    ) -> u64 {
        let before = self.at.checked_sub(distance(spacing, len, number)).filter(|_| self.begun);
        self.begun = true;
        self.at = match before {
            Some(at) => spacing.below(at, 1),
            None => spacing.below(bytes - u64::from(len), least),
        };
        self.at
    }
}

/// Bytes between the beginnings of two requests, of which the first, or backwards the second, has `len` and is
/// numbered `number`.
fn distance(spacing: &Spacing, len: u32, number: u64) -> u64 {
    let gap = spacing.grown(spacing.gap, number, |growth| growth.gap);
    spacing.stride.unwrap_or(u64::from(len) + u64::from(gap))
}
