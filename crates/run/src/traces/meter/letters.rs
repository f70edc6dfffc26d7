//! The kernel's letters of a request, as `FWFS`.
//!
//! Source: the kernel's documentation, "Event Tracing", and blkparse(1), "RWBS".

/// The work that a request asks for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Direction {
    Read,
    Write,
    /// A flush of the disk's cache, without data.
    Flush,
    /// A discard, or zeros that the disk writes by itself: a range without data.
    Discard,
}

impl Direction {
    pub(super) const ALL: [Self; 4] = [Self::Read, Self::Write, Self::Flush, Self::Discard];
}

/// The letters, parsed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Letters {
    /// `None` for none of these, as a command of a zone.
    pub(super) direction: Option<Direction>,
    /// Whether a flush comes before the data.
    pub(super) flush_first: bool,
    /// Whether the data is to be durable when the request completes.
    pub(super) durable: bool,
}

impl Letters {
    pub(super) fn parse(letters: &[u8]) -> Self {
        let flush_first = letters.len() > 1 && letters[0] == b'F';
        let (direction, flags) = match &letters[usize::from(flush_first)..] {
            [b'R', flags @ ..] => (Some(Direction::Read), flags),
            [b'W', b'Z', flags @ ..] | [b'D', flags @ ..] => (Some(Direction::Discard), flags),
            [b'W', flags @ ..] => (Some(Direction::Write), flags),
            [b'F', flags @ ..] => (Some(Direction::Flush), flags),
            flags => (None, flags),
        };
        Self { direction, flush_first, durable: flags.contains(&b'F') }
    }
}
