//! Maps of two surfaces and ten sectors a track, small enough to draw.

use super::*;
use crate::hdd::bus::BusProtocol;
use crate::hdd::drive::{Cache, CommandOverheads, SeekLaw};
use penstock_core::Span;

fn zone(first_cyl: u32, last_cyl: u32, spares: u32, slips: &[u64]) -> Zone {
    Zone {
        first_cyl,
        last_cyl,
        sectors_per_track: 10,
        offset: 0.0,
        empty_blocks: 0,
        track_skew: 2.0,
        cyl_skew: 3.0,
        spares,
        slips: slips.to_vec(),
    }
}

fn map(spares: Spares, zones: Vec<Zone>) -> Result<Map, DriveError> {
    Map::new(&Drive {
        surfaces: 2,
        cylinders: 100,
        rpm: 6_000,
        zones,
        spares,
        order: TrackOrder::Serpentine,
        seek: SeekLaw::Table(vec![(1, Span::from_us(1)), (2, Span::from_us(1))]),
        head_switch: Span::ZERO,
        write_settle_ns: 0,
        overheads: CommandOverheads::default(),
        least_write_seek: Span::ZERO,
        bus: None,
        protocol: BusProtocol::NONE,
        cache: Cache::NONE,
    })
}

/// Returns the positions of these blocks as `cylinder.head.sector`.
fn positions(map: &Map, blocks: Range<u64>) -> Vec<String> {
    let show = |block| {
        let Place { cylinder, head, sector, .. } = map.place(map.zone_of(block), block);
        format!("{cylinder}.{head}.{sector}")
    };
    blocks.map(show).collect()
}

#[test]
fn heads_turn_round_on_odd_cylinders() {
    let map = map(Spares::None, vec![zone(0, 3, 0, &[]), zone(5, 6, 0, &[])]).expect("good");
    assert_eq!(map.blocks(), 120);
    assert_eq!(positions(&map, 9..11), ["0.0.9", "0.1.0"]);
    assert_eq!(positions(&map, 19..21), ["0.1.9", "1.1.0"]);
    assert_eq!(positions(&map, 29..31), ["1.1.9", "1.0.0"]);
    assert_eq!(positions(&map, 79..81), ["3.0.9", "5.0.0"], "cylinder 4 holds nothing");
    assert_eq!(map.end_cylinder(), 7);
}

#[test]
fn every_block_is_in_its_zone_however_small_that_is() {
    let ends = [0, 1, 2, 900, 901, 1_998, 1_999];
    let firsts = std::iter::once(0).chain(ends.iter().map(|end| end + 1));
    let zones = firsts.zip(ends).map(|(first, last)| zone(first, last, 0, &[])).collect();
    let map = map(Spares::None, zones).expect("good");
    assert_eq!(map.blocks(), 40_000);
    for block in 0..map.blocks() {
        let cylinder = (block / 20) as u32;
        let zone = ends.iter().position(|&end| cylinder <= end).expect("one of them");
        assert_eq!(map.zone_of(block), zone as u32, "block {block}");
    }
}

#[test]
fn a_slip_pushes_on_what_follows_in_its_interval() {
    let slips = &[3, 4, 21];
    let end = map(Spares::ZoneEnd, vec![zone(0, 3, 0, slips)]).expect("good");
    assert_eq!(end.blocks(), 77);
    assert_eq!(positions(&end, 2..4), ["0.0.2", "0.0.5"]);
    assert_eq!(positions(&end, 18..20), ["1.1.0", "1.1.2"]);

    let cylinder = map(Spares::PerCylinder, vec![zone(0, 3, 2, slips)]).expect("good");
    assert_eq!(cylinder.blocks(), 72);
    assert_eq!(positions(&cylinder, 2..4), ["0.0.2", "0.0.5"]);
    assert_eq!(positions(&cylinder, 17..20), ["0.1.9", "1.1.0", "1.1.2"]);

    let track = map(Spares::Tracks, vec![zone(0, 3, 1, &[1])]).expect("good");
    assert_eq!(track.blocks(), 70);
    assert_eq!(positions(&track, 9..11), ["0.0.9", "1.1.0"]);
}

#[test]
fn a_cut_off_range_has_no_spares() {
    let range = Spares::PerRange { cylinders: 2 };
    let map = map(range, vec![zone(0, 2, 5, &[])]).expect("good");
    assert_eq!(map.blocks(), 35 + 20);
    assert_eq!(positions(&map, 34..36), ["1.0.4", "2.0.0"]);
}

#[test]
fn runs_end_with_the_track_and_count_passed_sectors() {
    let map = map(Spares::PerTrack, vec![zone(0, 1, 2, &[3, 15])]).expect("good");
    let run = |block, blocks| {
        let Run { blocks, sectors, .. } = map.run(0, block, blocks);
        (blocks, sectors)
    };
    assert_eq!(map.blocks(), 32);
    assert_eq!(run(0, 3), (3, 3));
    assert_eq!(run(0, 20), (8, 9), "one slip, one spare left over");
    assert_eq!(run(8, 8), (8, 9));
    assert_eq!(run(16, 3), (3, 3));
    assert_eq!(run(31, 1), (1, 1));
}

#[test]
fn divisors_are_exact() {
    for by in [2, 3, 10, 64, 390, 1_950, 1 << 20, (1 << 24) - 1] {
        let divisor = Divisor::new(by);
        let most = u64::MAX / by / by - 1;
        for quotient in [0, 1, 7, most / 3, most] {
            for x in [quotient * by, quotient * by + 1, quotient * by + by - 1] {
                assert_eq!(divisor.split(x), (x % by, x / by), "{x} by {by}");
            }
        }
    }
}

#[test]
fn impossible_zones_are_refused() {
    assert!(map(Spares::None, vec![]).is_err());
    assert!(map(Spares::None, vec![zone(3, 5, 0, &[]), zone(5, 6, 0, &[])]).is_err());
    assert!(map(Spares::None, vec![zone(0, 1, 0, &[1])]).is_err(), "a slip and no spare");
    assert!(map(Spares::PerTrack, vec![zone(0, 1, 1, &[1, 2])]).is_err());
    assert!(map(Spares::PerZone, vec![zone(0, 1, 40, &[])]).is_err(), "nothing but spares");
}

#[test]
fn a_slip_at_the_front_of_a_track_belongs_to_that_track() {
    let map = map(Spares::ZoneEnd, vec![zone(0, 1, 0, &[9, 20])]).expect("good");
    let run = |block| {
        let Run { blocks, sectors, .. } = map.run(0, block, 30);
        (blocks, sectors)
    };
    assert_eq!(run(0), (9, 9), "the slip at the end of the first track is not counted");
    assert_eq!(run(9), (10, 10));
    assert_eq!(run(19), (9, 9));
}
