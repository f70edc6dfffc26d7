//! The map, the seeks and every access of the modelled disk against DiskSim 4.0.
//!
//! `tests/data/disksim/NOTICE.md` lists what DiskSim does differently. The bounds below come from
//! there, none from the model's results.
#![expect(clippy::print_stdout, reason = "deviations are worth seeing with --nocapture")]

use std::cell::RefCell;
use std::rc::Rc;

use penstock_core::{Device, Done, Io, Op, Queued, Request, Span, Time};
use penstock_device::hdd::{Access, Hdd, Options};
use penstock_jobs::drives;
use penstock_validation::cache::published_drive;
use penstock_validation::disksim::{Trace, drive, part, played, policy, text};

/// Returns the numbers of each line of a table with a heading.
fn table(name: &str) -> Vec<Vec<f64>> {
    let number = |field: &str| field.parse().expect("a number");
    let fields = |line: &str| line.split([' ', ',']).map(number).collect();
    text(name).lines().skip(1).map(fields).collect()
}

/// Converts milliseconds with six places, as in the data, to nanoseconds.
fn ns(ms: f64) -> u64 {
    (ms * 1e6).round() as u64
}

#[test]
fn capacities_are_the_published_ones() {
    let facts: toml::Table =
        include_str!("../../crates/jobs/data/disks.toml").parse().expect("the facts");
    let disks = facts["disk"].as_table().expect("a table of disks");
    let mut checked = 0;
    for (name, disk) in disks {
        let Some(blocks) = disk.get("total_blocks_mapped") else { continue };
        let capacity = drive(name, Options::default()).capacity();
        assert_eq!(capacity, blocks.as_integer().expect("a count") as u64 * 512, "{name}");
        checked += 1;
    }
    assert_eq!(checked, 12);
    assert_eq!(drives::names().count(), 15);
}

#[test]
fn drives_of_data_sheets_hold_what_the_sheets_say() {
    for (name, gigabytes) in [("hdd-7200", 4_000.0), ("hdd-7200-ncq", 4_000.0), ("hdd-10k", 146.8)]
    {
        let found = drive(name, Options::default()).capacity() as f64 / 1e9;
        assert!((found / gigabytes - 1.0).abs() < 0.01, "{name}: {found} GB");
    }
}

#[test]
fn blocks_lie_where_disksim_puts_them() {
    for name in ["ibm18es", "cheetah9LP"] {
        let hdd = drive(name, Options::MECHANICAL);
        let rows = table(&format!("mapping/{name}.lbn_map.txt.gz"));
        assert_eq!(rows.len(), 22_000);
        for row in rows {
            let [block, cylinder, head, sector, angle, sectors_per_track, ..] = row[..] else {
                panic!("a short row: {row:?}")
            };
            let place = hdd.place(block as u64);
            let found = [place.cylinder, place.head, place.sector, place.sectors_per_track];
            let expected = [cylinder, head, sector, sectors_per_track].map(|n| n as u32);
            assert_eq!(found, expected, "{name}, block {block}");
            // DiskSim's sectors are at most 2^-32 of a turn too short, its digits 1e-9 each.
            let apart = (place.angle.turns() - angle + 0.5).rem_euclid(1.0) - 0.5;
            let bound = sectors_per_track / 4_294_967_296.0 + 1e-9;
            assert!(apart.abs() <= bound, "{name}, block {block}: {apart} of a turn apart");
        }
    }
}

#[test]
fn seeks_take_what_disksim_takes() {
    for name in ["ibm18es", "cheetah9LP"] {
        let hdd = drive(name, Options::MECHANICAL);
        for row in table(&format!("mapping/{name}.seek.txt.gz")) {
            let (distance, read, write) = (row[0] as u32, ns(row[1]), ns(row[2]));
            for (op, expected) in [(Op::Read, read), (Op::Write, write)] {
                let found = hdd.seek(op, distance).ns();
                assert!(found.abs_diff(expected) <= 1, "{name} {op:?} {distance}: {found}");
            }
        }
    }
}

/// A disk that records the parts of each access.
struct Logged {
    hdd: Hdd,
    log: Vec<(Time, Io, Access)>,
}

impl Device for Logged {
    fn capacity(&self) -> u64 {
        self.hdd.capacity()
    }
    fn block(&self) -> u32 {
        self.hdd.block()
    }
    fn room(&self) -> u32 {
        self.hdd.room()
    }
    fn start(&mut self, now: Time, req: &Request) {
        self.log.push((now, req.io, self.hdd.access(now, req.op, req.start, req.len)));
        self.hdd.start(now, req);
    }
    fn wakeup(&self) -> Time {
        self.hdd.wakeup()
    }
    fn advance(&mut self, now: Time, done: &mut Vec<Done>) {
        self.hdd.advance(now, done);
    }
}

/// Returns the parts of each access of a trace under FCFS.
fn accesses(trace: &str) -> Vec<(Time, Io, Access)> {
    let logged = Logged { hdd: drive("ibm18es", Options::MECHANICAL), log: Vec::new() };
    let mut device = Queued::new(policy("fcfs"), logged);
    played(&mut Trace::new(trace), &mut device);
    device.device().log.clone()
}

/// A turn of the drive, in nanoseconds.
const TURN: u64 = 8_333_333;

/// Returns the distance of two times if whole turns do not count.
fn modulo_turns(a: u64, b: u64) -> u64 {
    let apart = a.abs_diff(b) % TURN;
    apart.min(TURN - apart)
}

/// Returns the time of slipped sectors in the middle of a request on one track. They pass under the
/// head like any other; DiskSim does not count them.
fn slipped(hdd: &Hdd, io: &Io) -> u64 {
    let blocks = u64::from(io.len / 512);
    let (first, last) = (hdd.place(io.start / 512), hdd.place(io.start / 512 + blocks - 1));
    if (first.cylinder, first.head) != (last.cylinder, last.head) {
        return 0;
    }
    let sectors = u64::from(last.sector - first.sector) + 1;
    (sectors - blocks) * TURN / u64::from(first.sectors_per_track)
}

/// DiskSim's platter falls behind by half a nanosecond with every sector that it transfers, so our
/// model just misses a sector that DiskSim just catches, within that lag.
#[test]
fn every_access_is_disksims_but_for_what_its_platter_is_behind() {
    for (case, trace) in
        [("r4k_50_fcfs", "r4k_50"), ("mix8k_50_mech", "mix8k_50"), ("seq64k_nocache", "seq64k_12")]
    {
        let hdd = drive("ibm18es", Options::MECHANICAL);
        let log = accesses(trace);
        let rows = table(&format!("accesses/{case}.csv.gz"));
        assert!(log.len() >= rows.len(), "{case}");
        let (mut sectors, mut behind, mut missed, mut worst) = (0, 0, 0, 0);
        for (row, (now, io, access)) in rows.iter().zip(&log) {
            let [ended, _, block, blocks, read, distance, seek, rotation, transfer] = row[..]
            else {
                panic!("a short row: {row:?}")
            };
            let at = format!("{case}, block {block} at {now:?}: {access:?}");
            assert_eq!([io.start, u64::from(io.len)], [block, blocks].map(|b| b as u64 * 512));
            assert_eq!(io.op == Op::Read, ns(read) > 0, "{at}");
            assert_eq!(access.from.abs_diff(access.to), distance as u32, "{at}");
            assert!(access.seek.ns().abs_diff(ns(seek)) <= 1, "{at}: seek {seek}");

            // Eight nanoseconds a sector, for at most a track and the skew after it.
            let passed = access.transfer.ns() - slipped(&hdd, io);
            assert!(passed.abs_diff(ns(transfer)) <= 8 * 500, "{at}: transfer {transfer}");

            sectors += blocks as u64;
            behind = 8 * 500 + sectors * 3 / 5;
            let end = (*now + access.service()).ns() - slipped(&hdd, io);
            let apart = modulo_turns(end, ns(ended));
            assert!(apart <= behind, "{at}: ended {ended}, {apart} ns apart");
            worst = worst.max(apart);

            // From the same instant on, the wait is the same, or that sector was just missed.
            let begun = ns(ended) - ns(seek) - ns(rotation) - ns(transfer);
            let wait = access.rotation.ns();
            if now.ns().abs_diff(begun) <= behind && wait.abs_diff(ns(rotation)) > 2 * behind {
                assert!(ns(rotation) <= 2 * behind, "{at}: rotation {rotation}");
                assert!(wait >= TURN - 2 * behind, "{at}: rotation {rotation}");
                missed += 1;
            }
        }
        println!("{case}: {missed} of {} just missed, else {worst} ns apart", rows.len());
        // On average it is behind by half of its last lag, and equally likely at any angle.
        let expected = rows.len() as u64 * (behind / 2) / TURN;
        assert!(missed <= 2 * expected, "{case}: {missed} just missed, not {expected}");
    }
}

/// For accesses to the platter DiskSim reports only the number and mean of each part. The model
/// waits for sectors of a request that pass before its first one; DiskSim may not. In the stream,
/// whose accesses fetch the sector that the read-ahead did not reach, the model has 6 % more.
#[test]
fn a_disk_with_its_cache_has_disksims_accesses() {
    let parts = ["seek_ms", "rotational_latency_ms", "media_transfer_ms"];
    let parts_of = |access: &Access| [access.seek, access.rotation, access.transfer].map(Span::ns);
    for (trace, most, bounds) in [
        ("r4k_50", 1.001, [0.001, 0.005, 0.02]),
        ("mix8k_50", 1.001, [0.001, 0.005, 0.02]),
        ("seq64k_15", 1.06, [f64::INFINITY, 0.1, 0.01]),
    ] {
        let log = Rc::new(RefCell::new(Vec::new()));
        let accesses = Rc::clone(&log);
        let hdd = published_drive("ibm18es")
            .observed(move |_, access| accesses.borrow_mut().push(*access));
        played(&mut Trace::new(trace), &mut Queued::new(policy("fcfs"), hdd));
        let log = log.borrow();
        for (at, (name, bound)) in parts.into_iter().zip(bounds).enumerate() {
            let (n, mean) = part(&format!("{trace}_stock"), name);
            // One more may have begun than has ended.
            let more = log.len() as f64 / n as f64;
            assert!(log.len() as u64 >= n && more <= most, "{trace}: {more} times {n}");
            let found = log.iter().map(|access| parts_of(access)[at]).sum::<u64>() as f64;
            let off = found / 1e6 / log.len() as f64 / mean - 1.0;
            println!("{trace} {name}: {off:+}");
            assert!(off.abs() <= bound, "{trace} {name}: off by {off}");
        }
    }
}
