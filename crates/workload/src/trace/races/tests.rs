use penstock_core::{Op, Span, Time};
use proptest::prelude::*;

use super::{Finder, Followed, GENERATIONS, Pair, Races};

/// The blocked and the blocking class.
const READER: u32 = 0;
const WRITER: u32 = 1;

/// Of every write.
const BYTES: u32 = 4096;

fn ms(ms: u64) -> Time {
    Time::from_ns(ms * 1_000_000)
}

fn read(class: u32, disk: u32) -> Followed {
    Followed { class, disk, op: Op::Read, bytes: 512 }
}

fn write(disk: u32) -> Followed {
    Followed { class: WRITER, disk, op: Op::Write, bytes: BYTES }
}

/// The reader waits at disk 0 behind a write from 2 ms on. Meanwhile the writer reads `reads` times from
/// disk 1, one after the other, and each read makes two writes, of which the disk does one.
fn run(reads: u64) -> Races {
    let mut finder = Finder::default();
    let mut queue = vec![finder.asked(ms(1), write(0))];
    let waits = finder.asked(ms(2), read(READER, 0));
    let mut now = 2;
    for _ in 0..reads {
        let number = finder.asked(ms(now), read(WRITER, 1));
        now += 10;
        finder.ended(ms(now), number);
        queue.extend([finder.asked(ms(now), write(0)), finder.asked(ms(now), write(0))]);
        if queue.len() > 3 {
            // Not the first: that is under way for as long as the reader waits.
            finder.ended(ms(now), queue.remove(1));
        }
    }
    finder.ended(ms(now), queue.remove(0));
    finder.ended(ms(now + 5), waits);
    for number in queue {
        now += 10;
        finder.ended(ms(now), number);
    }
    finder.finish(ms(now))
}

#[test]
fn a_stall_is_a_race_once_the_blocking_class_has_renewed_its_reads() {
    // It has one read outstanding.
    assert_eq!(run(GENERATIONS).races, []);
    let found = run(GENERATIONS + 1);
    let [race] = found.races.as_slice() else { panic!("one race: {found:?}") };
    assert_eq!(race.pair, Pair { disk: 0, blocked: READER, by: WRITER });
    assert_eq!((race.from, race.to, race.lost), (ms(2), ms(32), Span::from_ms(30)));
    assert_eq!((race.went_on, race.queued_most), (3, 6));
    // Six were queued until there were most, and one was done.
    assert_eq!(race.growth, Some(6.0));
    assert_eq!(found.time(), Span::from_ms(30));
    assert_eq!(found.reads_most, [1, 1]);
}

#[test]
fn stalls_without_a_race_are_reported_too() {
    let found = run(1);
    let stalls = found.pairs[&Pair { disk: 0, blocked: READER, by: WRITER }];
    assert_eq!((stalls.lost, stalls.longest), (Span::from_ms(10), Span::from_ms(10)));
    assert_eq!((stalls.went_on, stalls.queued_most), (1, 3));
}

/// A class does not stall while its reads complete at another disk.
#[test]
fn a_completion_at_another_disk_begins_a_new_stall() {
    let mut finder = Finder::default();
    let first = finder.asked(ms(0), write(0));
    let waits = finder.asked(ms(0), read(READER, 0));
    for at in 0..10 {
        let other = finder.asked(ms(at * 10), read(WRITER, 2));
        let own = finder.asked(ms(at * 10), read(READER, 1));
        finder.ended(ms(at * 10 + 10), other);
        finder.ended(ms(at * 10 + 10), own);
    }
    finder.ended(ms(100), first);
    finder.ended(ms(101), waits);
    let found = finder.finish(ms(101));
    assert_eq!(found.races, []);
    let stalls = found.pairs[&Pair { disk: 0, blocked: READER, by: WRITER }];
    assert_eq!((stalls.lost, stalls.longest), (Span::from_ms(100), Span::from_ms(10)));
}

/// A class that reads behind its own writes stops, and so do its writes.
#[test]
fn own_writes_and_later_writes_block_no_class() {
    let mut finder = Finder::default();
    let own = finder.asked(ms(0), write(0));
    let behind = finder.asked(ms(1), read(WRITER, 0));
    let first = finder.asked(ms(1), read(READER, 2));
    let later = finder.asked(ms(2), write(2));
    finder.ended(ms(50), own);
    finder.ended(ms(51), behind);
    finder.ended(ms(52), first);
    finder.ended(ms(60), later);
    let found = finder.finish(ms(60));
    assert!(found.races.is_empty() && found.pairs.is_empty(), "{found:?}");
}

#[test]
fn what_never_ends_lasts_until_the_end() {
    let mut finder = Finder::default();
    finder.asked(ms(0), write(0));
    finder.asked(ms(10), read(READER, 0));
    let found = finder.finish(ms(30));
    assert_eq!(found.pairs.values().next().map(|stalls| stalls.lost), Some(Span::from_ms(20)));
}

proptest! {
    /// For any requests: the stalls of a pair are not longer than the run, and a race is a part of them.
    #[test]
    fn losses_are_within_the_time(steps in prop::collection::vec((0..4_u64, 0..3_u32, 0..3_u32, 0..3_u8, 0..40_usize), 1..300)) {
        let mut finder = Finder::default();
        let (mut now, mut open) = (0, Vec::new());
        for (later, class, disk, kind, at) in steps {
            now += later;
            if kind == 2 && !open.is_empty() {
                let number = open.swap_remove(at % open.len());
                finder.ended(ms(now), number);
                continue;
            }
            let op = if kind == 0 { Op::Read } else { Op::Write };
            open.push(finder.asked(ms(now), Followed { class, disk, op, bytes: BYTES }));
        }
        let found = finder.finish(ms(now));
        for stalls in found.pairs.values() {
            prop_assert!(stalls.longest <= stalls.lost && stalls.lost <= Span::from_ms(now));
        }
        for race in &found.races {
            prop_assert!(race.from <= race.to && race.lost <= found.pairs[&race.pair].lost);
            prop_assert!(race.lost <= race.to.since(race.from));
        }
        prop_assert!(found.time() <= Span::from_ms(now));
    }
}
