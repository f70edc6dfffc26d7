//! Reads the events of a block device that say what its scheduler had and what it chose.
//!
//! ```text
//! I 4488688324000 0 158104 8 2
//! |    time in ns | |      | class of I/O priority: 0 real-time, 1 best-effort, 2 idle
//! |               | |      sectors
//! |               | first sector
//! |               0 read, 1 write, 2 discard
//! I inserted, M and F merged behind or before a queued request, D issued, C completed
//! ```

use penstock_core::{Op, Time};

/// Bytes of a sector.
const SECTOR: u64 = 512;

/// A step of a request at the scheduler.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum QueueStep {
    /// It came to the scheduler.
    Inserted,
    /// It was merged behind a queued request.
    MergedBehind,
    /// It was merged before a queued request.
    MergedBefore,
    /// The scheduler's choice reached the driver.
    Issued,
    /// The device completed it.
    Completed,
}

/// An event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct QueueEvent {
    pub(super) at: Time,
    pub(super) step: QueueStep,
    pub(super) op: Op,
    pub(super) start: u64,
    pub(super) len: u32,
    /// Number of its class of I/O priority.
    pub(super) class: u16,
}

impl QueueEvent {
    /// Reads a line. Returns `None` if it has another form.
    fn read(line: &str) -> Option<Self> {
        let mut words = line.split_ascii_whitespace();
        let step = match words.next()? {
            "I" => QueueStep::Inserted,
            "M" => QueueStep::MergedBehind,
            "F" => QueueStep::MergedBefore,
            "D" => QueueStep::Issued,
            "C" => QueueStep::Completed,
            _ => return None,
        };
        let at = Time::from_ns(words.next()?.parse().ok()?);
        let op = match words.next()? {
            "0" => Op::Read,
            "1" => Op::Write,
            "2" => Op::Discard,
            _ => return None,
        };
        let start = words.next()?.parse::<u64>().ok()?.checked_mul(SECTOR)?;
        let len = words.next()?.parse::<u64>().ok()?.checked_mul(SECTOR)?.try_into().ok()?;
        let class = words.next()?.parse().ok().filter(|&class| class < 3)?;
        words.next().is_none().then_some(Self { at, step, op, start, len, class })
    }
}

/// Reads events in order of time, a line each.
///
/// # Errors
/// The number of a line of another form.
pub(super) fn read(text: &str) -> Result<Vec<QueueEvent>, usize> {
    let mut last = Time::ZERO;
    let events = text.lines().enumerate().map(|(number, line)| {
        let mut event = QueueEvent::read(line).ok_or(number + 1)?;
        // The kernel's clocks of two processors differ by less than it prints.
        last = last.max(event.at);
        event.at = last;
        Ok(event)
    });
    events.collect()
}
