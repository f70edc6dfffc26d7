//! The bus of the older drives, computed by hand: a turn of 10 ms, 100 sectors a track, 0.3 ms of
//! overhead.

use super::*;
use crate::hdd::{BusProtocol, EarlyDisconnect};

const US: u64 = 1_000;
const OVERHEAD: u64 = 300 * US;

const PROTOCOL: BusProtocol = BusProtocol {
    data_preparation: Span::from_us(20),
    reselect: Span::from_us(150),
    read_disconnect_after_read: Span::from_us(30),
    read_disconnect_after_write: Span::from_us(70),
    write_disconnect: Span::from_us(80),
    read_completion: Span::from_us(40),
    write_completion: Span::from_us(60),
    early_disconnect: None,
};

const EARLY: EarlyDisconnect = EarlyDisconnect {
    command: Span::from_us(600),
    seek_delay: Span::from_us(250),
    disconnect: Span::from_us(50),
    apart: Span::from_us(400),
    second_disconnect: Span::from_us(100),
    second_reselect: Span::from_us(130),
};

/// Returns the same drive with this protocol; it answers writes from the platter.
fn older(cache: Cache, protocol: BusProtocol) -> Drive {
    let cache = Cache { write_back: false, ..cache };
    Drive { protocol, ..facts(cache) }
}

fn write(hdd: &mut Hdd, now: u64, first: u64, sectors: u64) -> u64 {
    serve(hdd, now, &request(Op::Write, first, sectors, Flags::NONE)) - now
}

/// Rounding takes at most a nanosecond from each part.
fn about(actual: u64, expected: u64) {
    assert!(actual <= expected && expected - actual <= 10, "{actual} is not about {expected}");
}

#[test]
fn the_bus_has_a_time_for_each_direction() {
    let bus = BusTimes { read: Span::from_us(200), write: Span::from_us(500) };
    let mut hdd = drive(&Drive { bus: Some(bus), ..facts(cache()) });
    assert_eq!(write(&mut hdd, 0, 900, 4), HIT + 4 * 500 * US);
    assert_eq!(read(&mut hdd, SECOND, 900, 4) - SECOND, HIT + 4 * 200 * US);
    let rates = Bus::Rates { read: 5_120_000, write: 2_560_000 };
    let options = Options { cache: Some(cache()), bus: rates, ..Options::default() };
    let mut hdd = Hdd::new(&facts(cache()), options).expect("a good drive");
    assert_eq!(write(&mut hdd, 0, 900, 4), HIT + 4 * 200 * US);
    assert_eq!(read(&mut hdd, SECOND, 900, 4) - SECOND, HIT + 4 * 100 * US);
}

#[test]
fn a_read_crosses_the_bus_when_its_share_is_in_the_buffer() {
    // Sector 10 comes at 1 ms; the bus takes twice as long for a sector as the platter.
    let answered = |read_mark| {
        let mut hdd = hdd(Cache { read_mark, ..cache() });
        let miss = read(&mut hdd, 0, 10, 8);
        assert_eq!(read(&mut hdd, SECOND, 10, 8) - SECOND, HIT + 8 * BUS, "a hit has no mark");
        miss
    };
    about(answered(0), 11 * MEDIA + 8 * BUS);
    about(answered(75), 16 * MEDIA + 8 * BUS);
    about(answered(100), 18 * MEDIA + 8 * BUS);
}

#[test]
fn a_read_longer_than_a_segment_crosses_the_bus_when_a_share_of_the_segment_is_there() {
    let mut hdd = hdd(Cache { read_mark: 50, ..cache() });
    hdd.mechanism.bus = [10 * US; 2];
    // Half of a segment is 20 sectors; the bus is then ahead of the platter until the last one.
    about(read(&mut hdd, 0, 10, 60), 70 * MEDIA + 10 * US);
    let mut all = super::hdd(Cache { read_mark: 100, ..cache() });
    all.mechanism.bus = [90 * US; 2];
    // From 5 ms on, and no sector waits for room.
    about(read(&mut all, 0, 10, 60), 50 * MEDIA + 60 * 90 * US);
}

#[test]
fn a_read_lets_go_of_the_bus_and_connects_again() {
    let mut hdd = drive(&older(cache(), PROTOCOL));
    // The first sector is there at 1.1 ms; then come reselection and preparation.
    about(read(&mut hdd, 0, 10, 8), 11 * MEDIA + 170 * US + 8 * BUS + 40 * US);
    let hit = read(&mut hdd, SECOND, 10, 8) - SECOND;
    assert_eq!(hit, HIT + 20 * US + 8 * BUS + 40 * US, "a hit stays connected");
    // The cost of disconnecting shows where the data is there sooner.
    let slow = BusProtocol { read_disconnect_after_write: Span::from_ms(5), ..PROTOCOL };
    let mut hdd = drive(&older(cache(), slow));
    about(read(&mut hdd, 0, 10, 8), 11 * MEDIA + 170 * US + 8 * BUS + 40 * US);
    write(&mut hdd, SECOND, 900, 4);
    let after = read(&mut hdd, 2 * SECOND, 210, 8) - 2 * SECOND;
    about(after, OVERHEAD + 5_000 * US + 170 * US + 8 * BUS + 40 * US);
}

#[test]
fn a_write_connects_again_when_it_is_on_the_platter() {
    let answered = |protocol| write(&mut drive(&older(cache(), protocol)), 0, 50, 4);
    about(answered(PROTOCOL), 54 * MEDIA + 150 * US + 60 * US);
    let slow = BusProtocol { write_disconnect: Span::from_ms(5), ..PROTOCOL };
    // The data has crossed the bus at 1.12 ms.
    about(answered(slow), 1_120 * US + 5_000 * US + 150 * US + 60 * US);
    let none = Drive { overheads: CommandOverheads::default(), ..older(cache(), PROTOCOL) };
    let options =
        Options { cache: Some(none.cache), overheads: Overheads::None, ..Options::default() };
    let mut hdd = Hdd::new(&none, options).expect("a good drive");
    about(write(&mut hdd, 0, 50, 4), 54 * MEDIA);
}

#[test]
fn a_write_apart_from_the_write_before_disconnects_early() {
    let protocol = BusProtocol { early_disconnect: Some(EARLY), ..PROTOCOL };
    let second = |first| {
        let mut hdd = drive(&older(cache(), protocol));
        about(write(&mut hdd, 0, 50, 4), 54 * MEDIA + 150 * US + 60 * US);
        write(&mut hdd, SECOND, first, 4)
    };
    about(second(60), 64 * MEDIA + 130 * US + 60 * US);
    about(second(54), 58 * MEDIA + 150 * US + 60 * US);
    // Data crosses the bus from 1.22 to 2.02 ms, and the platter waits for all four sectors.
    about(second(21), 25 * MEDIA + 130 * US + 60 * US);
    about(second(20), TURN + 24 * MEDIA + 130 * US + 60 * US);
    // Without that rule the next one would have been in time for the platter: at 1.72 ms.
    about(write(&mut drive(&older(cache(), PROTOCOL)), 0, 9, 4), 13 * MEDIA + 210 * US);
}

#[test]
fn such_a_drive_waits_for_ten_sectors_or_fifteen_of_a_long_write() {
    let protocol = BusProtocol { early_disconnect: Some(EARLY), ..BusProtocol::NONE };
    let begins = |first, sectors| {
        let mut hdd = drive(&older(Cache { segment_sectors: 100, ..cache() }, protocol));
        hdd.mechanism.bus = [90 * US; 2];
        write(&mut hdd, 0, first, sectors) / MEDIA - first - sectors
    };
    // Ten sectors are there at 1.2 ms, and fifteen at 1.65.
    assert_eq!((begins(11, 40), begins(13, 40)), (100, 0));
    assert_eq!((begins(16, 50), begins(18, 50)), (100, 0));
}

#[test]
fn the_arm_takes_a_least_time_for_a_write() {
    let facts = Drive { least_write_seek: Span::from_ms(2), ..older(cache(), BusProtocol::NONE) };
    about(write(&mut drive(&facts), 0, 30, 4), 34 * MEDIA);
    about(write(&mut drive(&facts), 0, 20, 4), TURN + 24 * MEDIA);
    about(read(&mut drive(&facts), 0, 20, 4), 21 * MEDIA + 4 * BUS);
    let options = Options::default();
    let mut bare = Hdd::new(&facts, options).expect("a good drive");
    about(write(&mut bare, 0, 20, 4), TURN + 24 * MEDIA);
}

#[test]
fn reading_ahead_stops_within_a_sector_if_the_drive_can() {
    let second = |stops_in_sector| {
        let overheads = CommandOverheads::constant(Span::from_us(250));
        let cache = Cache { stops_in_sector, ..cache() };
        let mut hdd = drive(&Drive { overheads, ..facts(cache) });
        read(&mut hdd, 0, 10, 4);
        // Sector 30 has begun to pass.
        read(&mut hdd, 3_020 * US, 33, 1)
    };
    about(second(true), 34 * MEDIA + BUS);
    about(second(false), TURN + 34 * MEDIA + BUS);
}

#[test]
fn what_was_asked_for_is_dropped_if_the_drive_drops_it() {
    let mut hdd = hdd(Cache { drops_asked: true, ahead_on_hit: true, ..cache() });
    read(&mut hdd, 0, 10, 4);
    assert_eq!(read(&mut hdd, SECOND, 14, 4) - SECOND, HIT + 4 * BUS, "it was read ahead");
    assert_eq!(read(&mut hdd, 2 * SECOND, 18, 4) - 2 * SECOND, HIT + 4 * BUS);
    assert!(read(&mut hdd, 3 * SECOND, 14, 4) - 3 * SECOND > HIT + 4 * BUS, "dropped");
}

#[test]
fn a_write_longer_than_a_segment_goes_on_when_little_enough_is_left() {
    // 60 sectors through a segment of 40, from sector 10 on, which comes at 1 ms.
    let answered = |facts: Cache, protocol| {
        let mut hdd = drive(&older(facts, protocol));
        hdd.mechanism.bus = [50 * US; 2];
        write(&mut hdd, 0, 10, 60)
    };
    // At 4.9 ms one sector is left, and the platter does not wait for the rest.
    about(answered(cache(), BusProtocol::NONE), 70 * MEDIA);
    // With 0.17 ms to reconnect it does, unless half of them are left.
    about(answered(cache(), PROTOCOL), TURN + 70 * MEDIA + 210 * US);
    let half = Cache { write_mark: 50, ..cache() };
    about(answered(half, PROTOCOL), 70 * MEDIA + 210 * US);
    let holds = Cache { holds_bus_for_write: true, ..cache() };
    about(answered(holds, PROTOCOL), 70 * MEDIA + 210 * US);
}

#[test]
fn what_is_in_the_buffer_is_written_as_it_comes_round_if_the_drive_can() {
    let clean = |zero_latency_write| {
        let mut hdd = hdd(Cache { zero_latency_write, ..cache() });
        hdd.mechanism.bus = [US / 10; 2];
        let now = 2_700 * US;
        serve(&mut hdd, now, &request(Op::Write, 10, 40, Flags::NONE));
        clean_at(&hdd, now)
    };
    // At 2.754 ms, within sector 27, the data is there; sector 27 is the last one.
    about(clean(true), TURN + 28 * MEDIA);
    about(clean(false), TURN + 50 * MEDIA);
}

#[test]
fn reports_cost_their_time_without_the_cache_too() {
    let bare = |op| {
        let mut hdd = Hdd::new(&older(cache(), PROTOCOL), Options::default()).expect("a drive");
        serve(&mut hdd, 0, &request(op, 10, 4, Flags::NONE))
    };
    about(bare(Op::Read), 11 * MEDIA + 4 * BUS + 40 * US);
    about(bare(Op::Write), 14 * MEDIA + 60 * US);
}
