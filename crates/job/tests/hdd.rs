//! The hard-disk model against an independent simulator, DiskSim 4.0.
//!
//! What DiskSim does differently is written in `tests/data/disksim/NOTICE.md`; bounds below come
//! from there, none from what the model happened to give.
#![expect(clippy::print_stdout, reason = "deviations are worth seeing with --nocapture")]

use std::collections::VecDeque;
use std::io::Read;
use std::path::PathBuf;

use flate2::read::GzDecoder;
use penstock_core::{
    ClassId, Device, Done, Flags, Go, Io, Limits, Observer, Op, Out, Part, Policy, Prio, Queued,
    ReqId, Request, Source, StreamId, Time, Virtual, run,
};
use penstock_device::hdd::{Access, Hdd, Options};
use penstock_job::drives;

/// A text of the comparison data, unpacked.
fn text(name: &str) -> String {
    let path =
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/disksim").join(name);
    let packed = std::fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let mut text = String::new();
    GzDecoder::new(&packed[..]).read_to_string(&mut text).expect("gzipped text");
    text
}

/// The numbers of each line of a table with a heading.
fn table(name: &str) -> Vec<Vec<f64>> {
    let number = |field: &str| field.parse().expect("a number");
    let fields = |line: &str| line.split([' ', ',']).map(number).collect();
    text(name).lines().skip(1).map(fields).collect()
}

fn hdd(name: &str, options: Options) -> Hdd {
    Hdd::new(&drives::drive(name).expect("a known drive"), options).expect("good facts")
}

/// Milliseconds with six places, as the data has them, as nanoseconds.
fn ns(ms: f64) -> u64 {
    (ms * 1e6).round() as u64
}

#[test]
fn capacities_are_the_published_ones() {
    let facts: toml::Table = include_str!("../data/disks.toml").parse().expect("the facts");
    let disks = facts["disk"].as_table().expect("a table of disks");
    let mut checked = 0;
    for (name, disk) in disks {
        let Some(blocks) = disk.get("total_blocks_mapped") else { continue };
        let capacity = hdd(name, Options::default()).capacity();
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
        let found = hdd(name, Options::default()).capacity() as f64 / 1e9;
        assert!((found / gigabytes - 1.0).abs() < 0.01, "{name}: {found} GB");
    }
}

#[test]
fn blocks_lie_where_disksim_puts_them() {
    for name in ["ibm18es", "cheetah9LP"] {
        let hdd = hdd(name, Options::MECHANICAL);
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
            // DiskSim's sectors are 2^-32 of a turn too short at most, its digits 1e-9 each.
            let apart = (place.angle.turns() - angle + 0.5).rem_euclid(1.0) - 0.5;
            let bound = sectors_per_track / 4_294_967_296.0 + 1e-9;
            assert!(apart.abs() <= bound, "{name}, block {block}: {apart} of a turn apart");
        }
    }
}

#[test]
fn seeks_take_what_disksim_takes() {
    for name in ["ibm18es", "cheetah9LP"] {
        let hdd = hdd(name, Options::MECHANICAL);
        for row in table(&format!("mapping/{name}.seek.txt.gz")) {
            let (distance, read, write) = (row[0] as u32, ns(row[1]), ns(row[2]));
            for (op, expected) in [(Op::Read, read), (Op::Write, write)] {
                let found = hdd.seek(op, distance).ns();
                assert!(found.abs_diff(expected) <= 1, "{name} {op:?} {distance}: {found}");
            }
        }
    }
}

/// A trace: requests at set times, whatever becomes of the ones before.
struct Trace {
    ios: VecDeque<Io>,
}

impl Trace {
    fn new(name: &str) -> Self {
        let io = |line: &str| {
            let fields: Vec<&str> = line.split_whitespace().collect();
            let number = |at: usize| fields[at].parse::<u64>().expect("a whole number");
            Io {
                due: Time::from_ns(ns(fields[0].parse().expect("a time"))),
                start: number(2) * 512,
                len: number(3) as u32 * 512,
                stream: StreamId(0),
                class: ClassId(0),
                op: if number(4) & 1 == 1 { Op::Read } else { Op::Write },
                prio: Prio(0),
                flags: Flags::NONE,
            }
        };
        Self { ios: text(&format!("traces/{name}.trace.gz")).lines().map(io).collect() }
    }
}

impl Source for Trace {
    fn next_due(&self) -> Time {
        self.ios.front().map_or(Time::NEVER, |io| io.due)
    }
    fn take(&mut self, _: Time) -> Option<Io> {
        self.ios.pop_front()
    }
    fn finished(&mut self, _: Time, _: &Request, _: &Done) {}
}

/// First come, first served.
#[derive(Default)]
struct Fifo(VecDeque<ReqId>);

impl Policy for Fifo {
    fn enqueue(&mut self, _: Time, req: &Request) {
        self.0.push_back(req.id);
    }
    fn dispatch(&mut self, _: Time, _: &mut Out<'_>) -> Option<Go> {
        self.0.pop_front().map(Go::all)
    }
    fn complete(&mut self, _: Time, _: &Request, _: &Part) {}
}

/// A disk that writes down what each access was made of.
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

/// Response times, in nanoseconds.
#[derive(Default)]
struct Responses(Vec<u64>);

impl Observer for Responses {
    fn finished(&mut self, now: Time, req: &Request, _: &Done) {
        self.0.push(now.since(req.due).ns());
    }
}

/// Replays a trace under FCFS until its last arrival, where DiskSim stops too.
fn replay(drive: &str, options: Options, trace: &str) -> (Vec<u64>, Vec<(Time, Io, Access)>) {
    let mut source = Trace::new(trace);
    let until = source.ios.back().expect("a trace of something").due;
    let logged = Logged { hdd: hdd(drive, options), log: Vec::new() };
    let mut device = Queued::new(Fifo::default(), logged);
    let mut responses = Responses::default();
    let limits = Limits { until, ..Limits::default() };
    run(&mut source, &mut device, &mut Virtual::default(), &mut responses, limits)
        .expect("a trace runs to its end");
    (responses.0, device.device().log.clone())
}

fn check_responses(case: &str, drive: &str, options: Options, trace: &str, bound: f64) {
    let path =
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/disksim/results.json");
    let results = std::fs::read_to_string(path).expect("results of the comparison");
    let results: serde_json::Value = serde_json::from_str(&results).expect("JSON");
    let expected = &results[case]["response_ms"];

    let (mut responses, _) = replay(drive, options, trace);
    responses.sort_unstable();
    let counted = expected["n"].as_u64().expect("a count") as usize;
    assert!(responses.len().abs_diff(counted) <= 1, "{case}: {} of {counted}", responses.len());
    let ms = |ns: u64| ns as f64 / 1e6;
    let mean = ms(responses.iter().sum()) / responses.len() as f64;
    let percentile = |p: usize| ms(responses[(responses.len() * p).div_ceil(100) - 1]);
    for (name, found) in
        [("mean", mean), ("p50", percentile(50)), ("p90", percentile(90)), ("p95", percentile(95))]
    {
        let expected = expected[name].as_f64().expect("a number");
        let off = found / expected - 1.0;
        println!("{case} {name}: {found:.6} against {expected:.6} ms, {:+.4} %", off * 100.0);
        assert!(off.abs() <= bound, "{case} {name}: {found} against {expected} ms");
    }
}

#[test]
fn responses_are_disksims_within_one_percent() {
    for (case, drive, trace) in [
        ("r4k_10_fcfs", "ibm18es", "r4k_10"),
        ("r4k_50_fcfs", "ibm18es", "r4k_50"),
        ("r4k_75_fcfs", "ibm18es", "r4k_75"),
        ("seq64k_nocache", "ibm18es", "seq64k_12"),
        ("mix8k_50_mech", "ibm18es", "mix8k_50"),
        ("cheetah9LP_r4k_80", "cheetah9LP", "cheetah9LP_r4k_80"),
    ] {
        check_responses(case, drive, Options::MECHANICAL, trace, 0.01);
    }
}

#[test]
fn overheads_and_bus_add_what_they_add_in_disksim() {
    check_responses("r4k_50_nocache", "ibm18es", Options::default(), "r4k_50", 0.015);
}

/// A turn of the drive compared, in nanoseconds.
const TURN: u64 = 8_333_333;

/// How far apart two times are if whole turns do not count.
fn modulo_turns(a: u64, b: u64) -> u64 {
    let apart = a.abs_diff(b) % TURN;
    apart.min(TURN - apart)
}

/// What slipped sectors in the middle of a request on one track cost. They pass under the head like
/// any other; DiskSim does not count them.
fn slipped(hdd: &Hdd, io: &Io) -> u64 {
    let blocks = u64::from(io.len / 512);
    let (first, last) = (hdd.place(io.start / 512), hdd.place(io.start / 512 + blocks - 1));
    if (first.cylinder, first.head) != (last.cylinder, last.head) {
        return 0;
    }
    let sectors = u64::from(last.sector - first.sector) + 1;
    (sectors - blocks) * TURN / u64::from(first.sectors_per_track)
}

/// DiskSim's platter falls behind by half a nanosecond with every sector that it transfers. So a
/// sector that it just catches, to wait no longer than it is behind, is one just missed.
#[test]
fn every_access_is_disksims_but_for_what_its_platter_is_behind() {
    for (case, trace) in
        [("r4k_50_fcfs", "r4k_50"), ("mix8k_50_mech", "mix8k_50"), ("seq64k_nocache", "seq64k_12")]
    {
        let hdd = hdd("ibm18es", Options::MECHANICAL);
        let (_, log) = replay("ibm18es", Options::MECHANICAL, trace);
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
            assert_eq!(access.distance, distance as u32, "{at}");
            assert!(access.seek.ns().abs_diff(ns(seek)) <= 1, "{at}: seek {seek}");

            // Eight nanoseconds a sector, of at most a track and the skew after it.
            let passed = access.transfer.ns() - slipped(&hdd, io);
            assert!(passed.abs_diff(ns(transfer)) <= 8 * 500, "{at}: transfer {transfer}");

            sectors += blocks as u64;
            behind = 8 * 500 + sectors * 3 / 5;
            let end = (*now + access.service()).ns() - slipped(&hdd, io);
            let apart = modulo_turns(end, ns(ended));
            assert!(apart <= behind, "{at}: ended {ended}, {apart} ns apart");
            worst = worst.max(apart);

            // From one instant on, the wait is the same, or that sector was just missed.
            let begun = ns(ended) - ns(seek) - ns(rotation) - ns(transfer);
            let wait = access.rotation.ns();
            if now.ns().abs_diff(begun) <= behind && wait.abs_diff(ns(rotation)) > 2 * behind {
                assert!(ns(rotation) <= 2 * behind, "{at}: rotation {rotation}");
                assert!(wait >= TURN - 2 * behind, "{at}: rotation {rotation}");
                missed += 1;
            }
        }
        println!("{case}: {missed} of {} just missed, else {worst} ns apart", rows.len());
        // It is behind by half of its last on average, and as likely to be at any angle.
        let expected = rows.len() as u64 * (behind / 2) / TURN;
        assert!(missed <= 2 * expected, "{case}: {missed} just missed, not {expected}");
    }
}
