//! Reads from a capture what the scheduler of a device had, and what it chose.

use std::path::Path;

use penstock_core::{IoClass, IoPrio, Op, Time};
use penstock_workload::trace::capture::{Action, CapturedEvent};
use penstock_workload::trace::{TraceError, captured};

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
    /// The event of a scheduler that gets requests by the action `inserted`. `None` for events that
    /// are none of its steps, and for commands without data.
    fn of(event: &CapturedEvent<'_>, inserted: Action) -> Option<Self> {
        let step = match event.action {
            action if action == inserted => QueueStep::Inserted,
            Action::MergedBehind => QueueStep::MergedBehind,
            Action::MergedBefore => QueueStep::MergedBefore,
            Action::Issued => QueueStep::Issued,
            Action::Completed => QueueStep::Completed,
            _ => return None,
        };
        // A leading F asks for a flush before the data.
        let letters = event.letters.strip_prefix(b"F").unwrap_or(event.letters);
        let op = match letters.first()? {
            b'R' => Op::Read,
            b'W' => Op::Write,
            b'D' => Op::Discard,
            _ => return None,
        };
        let class = match event.ioprio.map(IoPrio::class) {
            Some(IoClass::RealTime) => 0,
            Some(IoClass::BestEffort) | None => 1,
            Some(IoClass::Idle) => 2,
        };
        let at = Time::from_ns(event.at_ns);
        let start = event.sector.checked_mul(SECTOR)?;
        let len = event.sectors.checked_mul(SECTOR)?.try_into().ok().filter(|&len| len > 0)?;
        Some(Self { at, step, op, start, len, class })
    }
}

/// Reads the events of the capture at `path`, in order of time. Under `none` nothing is inserted: a
/// request is known to the queue when it gets its place there.
///
/// # Errors
/// It cannot be read, or is no capture.
pub(super) fn read(path: &Path, scheduler: &str) -> Result<Vec<QueueEvent>, TraceError> {
    let inserted = if scheduler == "none" { Action::Admitted } else { Action::Inserted };
    let mut events = Vec::new();
    captured(path, |event| events.extend(QueueEvent::of(event, inserted)))?;
    Ok(events)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(action: Action, letters: &'static [u8]) -> CapturedEvent<'static> {
        CapturedEvent {
            at_ns: 7,
            action,
            device: b"7,0",
            letters,
            sector: 8,
            sectors: 8,
            cpu: 0,
            pid: 1,
            process: b"fio",
            ioprio: None,
        }
    }

    #[test]
    fn the_steps_at_a_scheduler_are_events_of_it() {
        let of = |event: &CapturedEvent<'_>| QueueEvent::of(event, Action::Inserted);
        let read = of(&event(Action::Inserted, b"RS")).unwrap();
        let expected = QueueEvent {
            at: Time::from_ns(7),
            step: QueueStep::Inserted,
            op: Op::Read,
            start: 4096,
            len: 4096,
            class: 1,
        };
        assert_eq!(read, expected);
        let flushed = CapturedEvent { ioprio: Some(IoPrio::IDLE), ..event(Action::Issued, b"FWS") };
        let write = of(&flushed).unwrap();
        assert_eq!((write.op, write.step, write.class), (Op::Write, QueueStep::Issued, 2));
        assert_eq!(of(&event(Action::Queued, b"R")), None);
        assert_eq!(of(&event(Action::Admitted, b"R")), None);
        assert_eq!(of(&CapturedEvent { sectors: 0, ..event(Action::Inserted, b"FF") }), None);
        let admitted = QueueEvent::of(&event(Action::Admitted, b"R"), Action::Admitted).unwrap();
        assert_eq!(admitted.step, QueueStep::Inserted);
    }
}
