use penstock_core::{Op, Span, Time};
use proptest::prelude::*;

use super::{Finder, GENERATIONS, Pair, Races, TrackedRequest};

/// The blocked and the blocking class.
const READER: u32 = 0;
const WRITER: u32 = 1;

/// Bytes of every write.
const BYTES: u32 = 4096;

fn ms(ms: u64) -> Time {
    Time::from_ns(ms * 1_000_000)
}

fn read(class: u32, disk: u32) -> TrackedRequest {
    TrackedRequest { class, disk, op: Op::Read, bytes: 512 }
}

fn write(disk: u32) -> TrackedRequest {
    TrackedRequest { class: WRITER, disk, op: Op::Write, bytes: BYTES }
}

/// Runs a reader that waits at disk 0 behind a write from 2 ms on. Meanwhile the writer reads
/// `reads` times from disk 1, one after the other, and each read leads to two writes, of which the
/// disk completes one.
fn run(reads: u64) -> Races {
    let mut finder = Finder::default();
    let mut queue = vec![finder.arrived(ms(1), write(0))];
    let waits = finder.arrived(ms(2), read(READER, 0));
    let mut now = 2;
    for _ in 0..reads {
        let number = finder.arrived(ms(now), read(WRITER, 1));
        now += 10;
        finder.completed(ms(now), number);
        queue.extend([finder.arrived(ms(now), write(0)), finder.arrived(ms(now), write(0))]);
        if queue.len() > 3 {
            // Not the first write: it is in flight for as long as the reader waits.
            finder.completed(ms(now), queue.remove(1));
        }
    }
    finder.completed(ms(now), queue.remove(0));
    finder.completed(ms(now + 5), waits);
    for number in queue {
        now += 10;
        finder.completed(ms(now), number);
    }
    finder.finish(ms(now))
}

#[test]
fn a_stall_is_a_race_once_the_blocking_class_has_renewed_its_reads() {
    // It has one read outstanding.
    assert_eq!(run(GENERATIONS).races, []);
    let result = run(GENERATIONS + 1);
    let [race] = result.races.as_slice() else { panic!("one race: {result:?}") };
    assert_eq!(race.pair, Pair { disk: 0, blocked: READER, by: WRITER });
    assert_eq!((race.from, race.to, race.lost), (ms(2), ms(32), Span::from_ms(30)));
    assert_eq!((race.went_on, race.queued_most), (3, 6));
    // Six writes were queued up to the longest queue, and one was done.
    assert_eq!(race.growth, Some(6.0));
    assert_eq!(result.time(), Span::from_ms(30));
    assert_eq!(result.reads_most, [1, 1]);
}

#[test]
fn stalls_without_a_race_are_reported_too() {
    let result = run(1);
    let stalls = result.pairs[&Pair { disk: 0, blocked: READER, by: WRITER }];
    assert_eq!((stalls.lost, stalls.longest), (Span::from_ms(10), Span::from_ms(10)));
    assert_eq!((stalls.went_on, stalls.queued_most), (1, 3));
}

/// A class does not stall while its reads complete at another disk.
#[test]
fn a_completion_at_another_disk_begins_a_new_stall() {
    let mut finder = Finder::default();
    let first = finder.arrived(ms(0), write(0));
    let waits = finder.arrived(ms(0), read(READER, 0));
    for at in 0..10 {
        let other = finder.arrived(ms(at * 10), read(WRITER, 2));
        let own = finder.arrived(ms(at * 10), read(READER, 1));
        finder.completed(ms(at * 10 + 10), other);
        finder.completed(ms(at * 10 + 10), own);
    }
    finder.completed(ms(100), first);
    finder.completed(ms(101), waits);
    let result = finder.finish(ms(101));
    assert_eq!(result.races, []);
    let stalls = result.pairs[&Pair { disk: 0, blocked: READER, by: WRITER }];
    assert_eq!((stalls.lost, stalls.longest), (Span::from_ms(100), Span::from_ms(10)));
}

/// A class that reads behind its own writes stops, and so do its writes.
#[test]
fn own_writes_and_later_writes_block_no_class() {
    let mut finder = Finder::default();
    let own = finder.arrived(ms(0), write(0));
    let behind = finder.arrived(ms(1), read(WRITER, 0));
    let first = finder.arrived(ms(1), read(READER, 2));
    let later = finder.arrived(ms(2), write(2));
    finder.completed(ms(50), own);
    finder.completed(ms(51), behind);
    finder.completed(ms(52), first);
    finder.completed(ms(60), later);
    let result = finder.finish(ms(60));
    assert!(result.races.is_empty() && result.pairs.is_empty(), "{result:?}");
}

#[test]
fn what_never_ends_lasts_until_the_end() {
    let mut finder = Finder::default();
    finder.arrived(ms(0), write(0));
    finder.arrived(ms(10), read(READER, 0));
    let result = finder.finish(ms(30));
    assert_eq!(result.pairs.values().next().map(|stalls| stalls.lost), Some(Span::from_ms(20)));
}

proptest! {
    /// The stalls of a pair are never longer than the run, and races are a part of them.
    #[test]
    fn losses_are_within_the_time(steps in prop::collection::vec((0..4_u64, 0..3_u32, 0..3_u32, 0..3_u8, 0..40_usize), 1..300)) {
        let mut finder = Finder::default();
        let (mut now, mut open) = (0, Vec::new());
        for (later, class, disk, kind, at) in steps {
            now += later;
            if kind == 2 && !open.is_empty() {
                let number = open.swap_remove(at % open.len());
                finder.completed(ms(now), number);
                continue;
            }
            let op = if kind == 0 { Op::Read } else { Op::Write };
            open.push(finder.arrived(ms(now), TrackedRequest { class, disk, op, bytes: BYTES }));
        }
        let result = finder.finish(ms(now));
        for stalls in result.pairs.values() {
            prop_assert!(stalls.longest <= stalls.lost && stalls.lost <= Span::from_ms(now));
        }
        for race in &result.races {
            prop_assert!(race.from <= race.to && race.lost <= result.pairs[&race.pair].lost);
            prop_assert!(race.lost <= race.to.since(race.from));
        }
        prop_assert!(result.time() <= Span::from_ms(now));
    }
}
