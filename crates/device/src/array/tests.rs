//! Checks places of bytes against the rule for one byte, and reads of RAID-5 against what its
//! parity needs.

use std::collections::{BTreeMap, BTreeSet};

use penstock_core::{ClassId, Flags, Prio, StreamId};
use proptest::prelude::*;

use super::jbod::Row;
use super::raid0::Stripes;
use super::*;
use crate::fixed::{Cost, Fixed};

/// A disk and a byte of it.
type Place = (usize, u64);

fn pieces(layout: &Layout, step: Step, range: (Op, u64, u32)) -> Vec<Piece> {
    let mut all = Vec::new();
    layout.pieces(step, range, 0, |piece| all.push(piece));
    all
}

/// Returns the bytes that the pieces touch; each is touched once.
fn bytes(pieces: &[Piece]) -> BTreeSet<Place> {
    let mut all = BTreeSet::new();
    for &Piece { disk, start, len, .. } in pieces {
        for byte in start..start + u64::from(len) {
            assert!(all.insert((disk, byte)), "byte {byte} of disk {disk} twice: {pieces:?}");
        }
    }
    all
}

fn stripes(disks: u64, data: u64, unit: u64, max_extent: u64) -> Stripes {
    Stripes { disks, data, unit, max_extent }
}

/// Returns the place of byte `b` in a RAID-0.
fn striped(b: u64, n: u64, su: u64) -> Place {
    (((b / su) % n) as usize, b / su / n * su + b % su)
}

/// Returns the disk of the parity of `row`.
fn parity(row: u64, n: u64) -> usize {
    (n - 1 - row % n) as usize
}

/// Returns the place of byte `b` in a RAID-5, and its row: data begins behind the parity and goes
/// round.
fn left_symmetric(b: u64, n: u64, su: u64) -> (Place, u64) {
    let (row, k) = (b / su / (n - 1), b / su % (n - 1));
    let disk = (parity(row, n) as u64 + 1 + k) % n;
    ((disk as usize, row * su + b % su), row)
}

proptest! {
    #[test]
    fn every_byte_of_a_stripe_lies_where_the_rule_puts_it(
        (n, su, most) in (1_u64..9, 1_u64..9, 0_u64..40), start in 0_u64..300, len in 1_u32..200,
    ) {
        let layout = Layout::Raid0(stripes(n, n, su, most));
        let pieces = pieces(&layout, Step::Itself, (Op::Read, start, len));
        let wanted: BTreeSet<_> = (start..start + u64::from(len)).map(|b| striped(b, n, su)).collect();
        prop_assert_eq!(wanted.len(), len as usize, "no two bytes share a place");
        prop_assert_eq!(bytes(&pieces), wanted);
        for piece in &pieces {
            prop_assert!(u64::from(piece.len) <= most.max(su), "{piece:?} was joined too far");
        }
        for (piece, next) in pieces.iter().zip(&pieces[1..]) {
            let joined = u64::from(piece.len + next.len);
            let neighbours = piece.disk == next.disk && piece.start + u64::from(piece.len) == next.start;
            // The next unit did not fit in. Its own part includes the bytes that it shares with its
            // neighbours.
            let unit = u64::from(piece.len) + su.min(u64::from(next.len));
            prop_assert!(!neighbours || joined > most && unit > most, "{piece:?} {next:?}");
        }
    }

    #[test]
    fn disks_in_a_row_hold_every_byte_once(
        sizes in prop::collection::vec(1_u64..50, 1..6), from in 0_u64..1000, len in 1_u64..1000,
    ) {
        let row = Row::new(sizes.iter().copied());
        let places: Vec<Place> = sizes.iter().enumerate()
            .flat_map(|(disk, &size)| (0..size).map(move |byte| (disk, byte))).collect();
        prop_assert_eq!(row.capacity(), places.len() as u64);
        let from = from % row.capacity();
        let len = len.min(row.capacity() - from);
        let pieces = pieces(&Layout::Jbod(row), Step::Itself, (Op::Write, from, len as u32));
        let wanted = places[from as usize..(from + len) as usize].iter().copied().collect();
        prop_assert_eq!(bytes(&pieces), wanted);
    }

    #[test]
    fn parity_lies_on_another_disk_and_can_be_made_of_what_is_read(
        (n, su, most) in (3_u64..8, 1_u64..9, 0_u64..40), start in 0_u64..300, len in 1_u32..200,
    ) {
        let layout = Layout::Raid5(stripes(n, n - 1, su, most));
        let data: BTreeMap<Place, u64> =
            (start..start + u64::from(len)).map(|b| left_symmetric(b, n, su)).collect();
        prop_assert_eq!(data.len(), len as usize, "no two bytes share a place");
        let read = pieces(&layout, Step::Itself, (Op::Read, start, len));
        prop_assert!(bytes(&read).iter().eq(data.keys()), "a read touches the data alone");

        let written = bytes(&pieces(&layout, Step::Itself, (Op::Write, start, len)));
        let before = pieces(&layout, Step::Before, (Op::Write, start, len));
        prop_assert!(before.iter().all(|piece| piece.op == Op::Read));
        let before = bytes(&before);
        for (place, row) in &data {
            prop_assert!(place.0 != parity(*row, n) && written.contains(place));
        }
        let rows: BTreeSet<u64> = data.values().copied().collect();
        for &row in &rows {
            let parity = parity(row, n);
            let in_row = |places: &BTreeSet<Place>| -> Vec<Place> {
                places.iter().copied().filter(|(_, byte)| byte / su == row).collect()
            };
            let changed: Vec<u64> =
                in_row(&written).iter().filter(|place| place.0 == parity).map(|place| place.1).collect();
            for place in in_row(&written) {
                prop_assert!(place.0 == parity || data.contains_key(&place));
                prop_assert!(changed.contains(&place.1), "data is written, its parity is not");
            }
            for &byte in &changed {
                let others = || (0..n as usize).filter(|&disk| disk != parity);
                let (new, old): (Vec<_>, Vec<_>) =
                    others().partition(|&disk| data.contains_key(&(disk, byte)));
                let all = |disks: &[usize]| disks.iter().all(|&disk| before.contains(&(disk, byte)));
                let modifies = all(&new) && before.contains(&(parity, byte));
                prop_assert!(modifies || all(&old), "parity of byte {byte} cannot be made");
            }
            // The smaller number of reads: of the written data and the parity, or of the unchanged
            // data.
            let touched: BTreeSet<usize> =
                in_row(&written).iter().map(|place| place.0).filter(|&disk| disk != parity).collect();
            let whole = |disk: usize| changed.iter().all(|&byte| data.contains_key(&(disk, byte)));
            let stays = (0..n as usize).filter(|&disk| disk != parity && !whole(disk)).count();
            let disks: BTreeSet<usize> = in_row(&before).iter().map(|place| place.0).collect();
            prop_assert_eq!(disks.len(), stays.min(touched.len() + 1));
        }
    }
}

#[test]
fn the_layout_is_left_symmetric() {
    // Rows of Lee and Katz: parity moves left, data follows it and goes round.
    let layout = Layout::Raid5(stripes(5, 4, 1, 0));
    let disk = |unit| pieces(&layout, Step::Itself, (Op::Read, unit, 1))[0].disk;
    let disks: Vec<usize> = (0..20).map(disk).collect();
    assert_eq!(disks, [0, 1, 2, 3, 4, 0, 1, 2, 3, 4, 0, 1, 2, 3, 4, 0, 1, 2, 3, 4]);
    let parities: Vec<usize> = (0..20)
        .step_by(4)
        .map(|unit| pieces(&layout, Step::Itself, (Op::Write, unit, 4)))
        .map(|whole| whole.into_iter().find(|p| p.disk == parity(p.start, 5)).unwrap().disk)
        .collect();
    assert_eq!(parities, [4, 3, 2, 1, 0]);
}

#[test]
fn a_row_written_whole_is_not_read() {
    let layout = Layout::Raid5(stripes(4, 3, 8, 64));
    assert_eq!(pieces(&layout, Step::Before, (Op::Write, 24, 48)), []);
    assert_eq!(pieces(&layout, Step::Itself, (Op::Write, 24, 48)).len(), 4, "neighbours join");
}

/// The last byte of an empty range used to be the one before its first, which for byte 0 is the
/// last byte of all, so that as many units were visited as 64 bits can number.
#[test]
fn a_range_of_no_bytes_has_no_pieces() {
    let row = Layout::Jbod(Row::new([4096, 4096].into_iter()));
    let striped = [Layout::Raid0(stripes(4, 4, 8, 64)), Layout::Raid5(stripes(4, 3, 8, 64))];
    for layout in striped.into_iter().chain([Layout::Raid1(2), row]) {
        for op in [Op::Read, Op::Write, Op::Discard] {
            for step in [Step::Before, Step::Itself] {
                assert_eq!(pieces(&layout, step, (op, 0, 0)), [], "{layout:?} {op:?}");
            }
        }
    }
}

#[test]
fn arrays_that_cannot_be_are_refused() {
    let disk = || Fixed::new(Cost::Units { unit: Span::ZERO, unit_bytes: 1 }, 4096);
    let array =
        |level, disks: usize| Array::new(level, u32::MAX, (0..disks).map(|_| disk()).collect());
    assert_eq!(array(Level::Raid5 { stripe: 512 }, 2).unwrap_err(), ArrayError::Disks(3));
    assert_eq!(array(Level::Jbod, 0).unwrap_err(), ArrayError::Disks(1));
    assert_eq!(array(Level::Raid0 { stripe: 0 }, 2).unwrap_err(), ArrayError::Stripe);
    assert_eq!(array(Level::Raid0 { stripe: 8192 }, 2).unwrap_err(), ArrayError::Stripe);
    let capacity = |level| array(level, 3).unwrap().capacity();
    assert_eq!(capacity(Level::Raid0 { stripe: 1000 }), 12_000);
    assert_eq!(capacity(Level::Raid5 { stripe: 1000 }), 8_000);
    assert_eq!((capacity(Level::Raid1), capacity(Level::Jbod)), (4096, 12_288));
}

/// Returns when reads of 8 bytes at these places, all started at once, end in milliseconds. The
/// array has two disks with units of 8 bytes that take one command at a time and need a millisecond
/// for each.
fn done_at(depth: Option<u32>, starts: &[u64]) -> Vec<Option<u64>> {
    let cost = Cost::Linear { base: Span::from_ms(1), per_mb: Span::ZERO };
    let disks = (0..2).map(|_| Fixed::new(cost, 1 << 20)).collect();
    let mut array = Array::new(Level::Raid0 { stripe: 8 }, 8, disks).expect("an array");
    if let Some(depth) = depth {
        array = array.with_controller(depth);
    }
    let mut at = vec![None; starts.len()];
    for (slot, &start) in (0..).zip(starts) {
        if array.admits(Op::Read, start, 8) {
            array.start(Time::ZERO, &read(start, 8).with(ReqId::new(slot, 0)));
        }
    }
    let mut done = Vec::new();
    while array.wakeup() < Time::NEVER {
        array.advance(array.wakeup(), &mut done);
    }
    for done in done {
        at[done.id.index()] = Some(done.at.ns() / 1_000_000);
    }
    at
}

fn read(start: u64, len: u32) -> Io {
    let (stream, class, flags) = (StreamId(0), ClassId(0), Flags::NONE);
    Io { due: Time::ZERO, start, len, stream, class, op: Op::Read, prio: Prio(0), flags }
}

#[test]
fn a_controller_keeps_what_a_full_disk_cannot_take() {
    // Three reads for disk 0 and one for disk 1. Without a controller the second one is not
    // admitted.
    let starts = [0, 16, 32, 8];
    assert_eq!(done_at(None, &starts), [Some(1), None, None, Some(1)]);
    // With a controller, those for disk 0 are served in their order, and the other does not wait
    // for them.
    assert_eq!(done_at(Some(4), &starts), [Some(1), Some(2), Some(3), Some(1)]);
    // It takes three requests and no more, whatever the disks have room for.
    assert_eq!(done_at(Some(3), &starts), [Some(1), Some(2), Some(3), None]);
}

/// Eight disks with units of 16 blocks, joined up to 32 blocks, as in `fairio-raid`: units 0, 8, 16
/// and 24 of a request are neighbours on disk 0.
#[test]
fn neighbouring_units_of_a_request_are_joined_up_to_the_greatest_extent() {
    let layout = Layout::Raid0(stripes(8, 8, 16, 32));
    let on_disk_0 = |start, len| {
        let all = pieces(&layout, Step::Itself, (Op::Read, start, len));
        let of_0 = all.into_iter().filter(|piece| piece.disk == 0);
        of_0.map(|piece| (piece.start, piece.len)).collect::<Vec<_>>()
    };
    assert_eq!(on_disk_0(0, 128), [(0, 16)]);
    assert_eq!(on_disk_0(0, 256), [(0, 32)]);
    assert_eq!(on_disk_0(0, 400), [(0, 32), (32, 32)]);
    // A part of a unit joined with two whole units would have more than 32 blocks.
    assert_eq!(on_disk_0(6, 300), [(6, 26), (32, 16)]);
}
