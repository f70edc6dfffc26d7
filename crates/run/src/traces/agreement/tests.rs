//! The comparison on events that are made by hand.

use penstock_core::{Op, Time};
use penstock_policy::find;

use super::*;

fn event(step: QueueStep, at_us: u64, sector: u64, sectors: u32) -> QueueEvent {
    let (at, op) = (Time::from_ns(at_us * 1000), Op::Read);
    QueueEvent { at, step, op, start: sector * 512, len: sectors * 512, class: 1 }
}

/// A request that the kernel splits, and two that it merged without an event.
#[test]
fn what_is_split_or_merged_unseen_is_followed() {
    use QueueStep::{Completed, Inserted, Issued};
    let events = [
        event(Inserted, 1, 0, 64),
        event(Inserted, 2, 1000, 8),
        event(Inserted, 3, 1008, 8),
        event(Issued, 40, 0, 32),
        event(Issued, 80, 1000, 16),
        event(Completed, 90, 0, 32),
        event(Issued, 100, 32, 32),
        event(Completed, 110, 1000, 16),
        event(Completed, 120, 32, 32),
    ];
    let noop = find("noop").unwrap();
    let result = compared(noop, &noop.defaults(), &events);
    assert_eq!((result.decisions, result.agreed, result.without_insertion), (2, 2, 1));
    assert_eq!(result.classes[0].completed, 2);
}
