//! The kernel's counters of a disk's requests: `/sys/block/DISK/stat`, as described in its documentation
//! (`Documentation/block/stat.rst`).

use std::time::Duration;

/// The size of a sector in these counters in bytes, whatever the disk's sectors are.
const SECTOR: u64 = 512;

/// The kernel's counters of a disk's requests since the disk was added.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// Reads.
    pub reads: Moved,
    /// Writes.
    pub writes: Moved,
    /// The sum of the times that requests have spent in the queue and at the disk.
    pub queued: Duration,
}

/// Counters of reads or writes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Moved {
    /// Requests that the disk has completed.
    pub requests: u64,
    /// Requests that were merged into others before they got to the disk.
    pub merged: u64,
    /// Bytes read or written.
    pub bytes: u64,
}

impl Counters {
    /// Parses `text`, the attribute `stat`.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let fields: Vec<u64> =
            text.split_whitespace().map(str::parse).collect::<Result<_, _>>().ok()?;
        let moved = |at: usize| {
            let [requests, merged, sectors] = fields.get(at..at + 3)?.try_into().ok()?;
            Some(Moved { requests, merged, bytes: SECTOR.saturating_mul(sectors) })
        };
        let queued = Duration::from_millis(*fields.get(10)?);
        Some(Self { reads: moved(0)?, writes: moved(4)?, queued })
    }

    /// Returns what was counted since `before`; 0 for counters that have wrapped around.
    #[must_use]
    pub fn since(self, before: Self) -> Self {
        let moved = |now: Moved, then: Moved| Moved {
            requests: now.requests.saturating_sub(then.requests),
            merged: now.merged.saturating_sub(then.merged),
            bytes: now.bytes.saturating_sub(then.bytes),
        };
        Self {
            reads: moved(self.reads, before.reads),
            writes: moved(self.writes, before.writes),
            queued: self.queued.saturating_sub(before.queued),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_the_kernel_is_read() {
        let text = "  8201 17 655360 1200   310 4 20480 90    0 1100 1290 0 0 0 0 5 6\n";
        let found = Counters::parse(text).unwrap();
        assert_eq!(found.reads, Moved { requests: 8201, merged: 17, bytes: 655_360 * 512 });
        assert_eq!(found.writes, Moved { requests: 310, merged: 4, bytes: 20480 * 512 });
        assert_eq!(found.queued, Duration::from_millis(1290));
        let later = Counters { queued: Duration::from_millis(1300), ..found };
        assert_eq!(later.since(found).queued, Duration::from_millis(10));
        assert_eq!(found.since(later), Counters::default());
    }

    #[test]
    fn what_is_no_such_line_is_nothing() {
        for text in ["", "1 2 3", "a b c d e f g h i j k", "1 2 3 4 5 6 7 8 9 10"] {
            assert_eq!(Counters::parse(text), None, "{text}");
        }
    }
}
