//! How far the requests of an agent lie apart, and how that and their size grow.

/// Where requests may begin, what lies between sequential ones, and what grows.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Spacing {
    /// Requests begin at multiples of this, counted from the region's first byte. If not given,
    /// random ones at multiples of the first one's size, and sequential ones anywhere.
    pub align: Option<u32>,
    /// Bytes from the beginning of the region to the first sequential request.
    pub first: u64,
    /// Bytes that are left out behind a sequential request.
    pub gap: u32,
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
}

/// Bytes from the beginning of a region to the next sequential request.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Position(u64);

impl Position {
    /// That of the first request.
    pub(super) fn new(spacing: &Spacing) -> Self {
        Self(spacing.first)
    }

    /// Where the request numbered `number` begins, which has `len` bytes, in a region of `bytes`
    /// that holds them.
    pub(super) fn next(&mut self, spacing: &Spacing, len: u32, number: u64, bytes: u64) -> u64 {
        let aligned = match spacing.align {
            Some(align) => self.0.next_multiple_of(u64::from(align.max(1))),
            None => self.0,
        };
        let from = if aligned + u64::from(len) <= bytes { aligned } else { 0 };
        let gap = spacing.grown(spacing.gap, number, |growth| growth.gap);
        self.0 = from + u64::from(len) + u64::from(gap);
        from
    }
}
