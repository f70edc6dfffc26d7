use super::*;

const FIRST: Epochs = Epochs { now: 1, valid_from: 1 };
const SECOND: Epochs = Epochs { now: 2, valid_from: 1 };

fn record() -> Words {
    Default::default()
}

fn write(words: &Words) -> Version {
    begin(words, FIRST, Leaves::Data)
}

/// Versions that may lie there.
fn allowed(words: &Words) -> Vec<u32> {
    let known = known(words, FIRST);
    (1..=known.latest()).filter(|&number| known.allows(number)).collect()
}

#[test]
fn an_acknowledged_version_is_the_only_one() {
    let words = record();
    assert!(!known(&words, FIRST).is_written());
    let one = write(&words);
    assert_eq!(allowed(&words), [1]);
    assert!(!known(&words, FIRST).is_written(), "what was there before may still be there");
    end(&words, one, true);
    assert!(known(&words, FIRST).is_written());
    let two = write(&words);
    assert_eq!(allowed(&words), [1, 2], "in flight: either");
    assert!(known(&words, FIRST).allows_parts());
    end(&words, two, true);
    assert_eq!(allowed(&words), [2]);
    assert!(!known(&words, FIRST).allows_parts());
    assert_eq!(known(&words, FIRST).to_string(), "version 2, which was acknowledged");
}

#[test]
fn writes_in_flight_together_may_come_in_any_order() {
    let words = record();
    let before = write(&words);
    end(&words, before, true);
    let (two, three) = (write(&words), write(&words));
    end(&words, three, true);
    assert_eq!(allowed(&words), [2, 3], "the one of before was acknowledged before three began");
    let four = write(&words);
    end(&words, four, true);
    assert_eq!(allowed(&words), [2, 4], "three was acknowledged before four began");
    end(&words, two, true);
    assert_eq!(allowed(&words), [2, 4]);
    let five = write(&words);
    end(&words, five, true);
    assert_eq!(allowed(&words), [5]);
}

#[test]
fn a_failed_write_may_have_been_carried_out() {
    let words = record();
    let one = write(&words);
    end(&words, one, true);
    let two = write(&words);
    end(&words, two, false);
    assert_eq!(allowed(&words), [1, 2]);
    let three = write(&words);
    end(&words, three, true);
    assert_eq!(allowed(&words), [3]);
}

#[test]
fn what_was_in_flight_at_a_kill_has_ended_for_the_next_session() {
    let words = record();
    let one = write(&words);
    end(&words, one, true);
    write(&words);
    assert_eq!(allowed(&words), [1, 2]);
    let later = known(&words, SECOND);
    assert!(later.allows(1) && later.allows(2) && !later.allows_parts(), "whole blocks");
    assert!(later.to_string().ends_with("version 2, which was in flight"), "{later}");
    let three = begin(&words, SECOND, Leaves::Data);
    end(&words, three, true);
    let later = known(&words, SECOND);
    assert!(!later.allows(1) && !later.allows(2) && later.allows(3));
}

#[test]
fn a_copy_that_a_kill_cuts_may_leave_parts() {
    let words = record();
    let one = begin(&words, FIRST, Leaves::DataByParts);
    end(&words, one, true);
    assert!(!known(&words, SECOND).allows_parts());
    begin(&words, FIRST, Leaves::DataByParts);
    assert!(known(&words, SECOND).allows_parts());
    let three = begin(&words, SECOND, Leaves::Data);
    end(&words, three, true);
    assert!(!known(&words, SECOND).allows_parts());
}

#[test]
fn more_writes_than_there_is_room_for_are_a_range_until_one_is_alone() {
    let words = record();
    let first = write(&words);
    end(&words, first, true);
    let many: Vec<_> = (0..9).map(|_| write(&words)).collect();
    assert_eq!(allowed(&words), (1..=10).collect::<Vec<_>>());
    for version in many {
        end(&words, version, true);
    }
    assert!(known(&words, FIRST).is_wide());
    let alone = write(&words);
    assert_eq!(allowed(&words), (1..=11).collect::<Vec<_>>());
    end(&words, alone, true);
    assert_eq!(allowed(&words), [11]);
    assert!(!known(&words, FIRST).is_wide());
}

#[test]
fn a_discard_leaves_zeros() {
    let words = record();
    let one = write(&words);
    end(&words, one, true);
    let zeros = begin(&words, FIRST, Leaves::Zeros);
    assert!(known(&words, FIRST).allows_zeros() && known(&words, FIRST).allows(1));
    end(&words, zeros, true);
    assert!(known(&words, FIRST).allows_zeros() && !known(&words, FIRST).allows(1));
    assert!(!known(&words, FIRST).allows(2), "it has no data");
}

#[test]
fn what_was_given_up_does_not_count_and_its_numbers_do_not_come_again() {
    let words = record();
    let one = write(&words);
    end(&words, one, true);
    let given_up = Epochs { now: 2, valid_from: 2 };
    assert!(!known(&words, given_up).is_written());
    assert_eq!(begin(&words, given_up, Leaves::Data).number(), 2);
    forget(&words, given_up);
    assert!(!known(&words, given_up).is_written());
    assert_eq!(begin(&words, given_up, Leaves::Data).number(), 3);
}

#[test]
fn a_block_that_had_all_versions_is_checked_no_more() {
    let words = record();
    words[0].store(Head(0).with_latest(LAST - 2).with_epoch(1).0, Ordering::Relaxed);
    let last = write(&words);
    end(&words, last, true);
    assert_eq!(allowed_one(&words, last.number()), (true, true));
    let worn = write(&words);
    end(&words, worn, true);
    assert!(!known(&words, FIRST).is_written());
}

fn allowed_one(words: &Words, number: u32) -> (bool, bool) {
    let known = known(words, FIRST);
    (known.is_written(), known.allows(number))
}

/// Whatever begins and ends in whatever order: no version is left out that a disk may hold.
#[test]
fn random_orders_agree_with_a_list_of_all_writes() {
    use penstock_core::Seed;
    use rand::RngExt as _;
    let mut rng = Seed(7).stream("orders", 0);
    for _ in 0..300 {
        let words = record();
        // Version, and the latest when it was acknowledged.
        let (mut flying, mut all) = (Vec::new(), Vec::<(u32, Option<u32>)>::new());
        for _ in 0..60 {
            if flying.is_empty() || (flying.len() < 9 && rng.random::<f64>() < 0.5) {
                let version = write(&words);
                flying.push(version);
                all.push((version.number(), None));
            } else {
                let version = flying.swap_remove(rng.random_range(0..flying.len()));
                end(&words, version, true);
                let latest = all.len() as u32;
                all[version.number() as usize - 1].1 = Some(latest);
            }
            let superseded = |ended: Option<u32>| {
                ended.is_some_and(|ended| {
                    all.iter().any(|&(other, done)| done.is_some() && other > ended)
                })
            };
            let expected = all.iter().filter(|(_, ended)| !superseded(*ended));
            let expected: Vec<u32> = expected.map(|(version, _)| *version).collect();
            let (found, wide) = (allowed(&words), known(&words, FIRST).is_wide());
            if wide {
                assert!(expected.iter().all(|one| found.contains(one)), "{expected:?} {found:?}");
            } else {
                assert_eq!(found, expected);
            }
        }
    }
}
