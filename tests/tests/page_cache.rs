//! Properties of the page cache over hostile devices and clocks: every request is answered once, no
//! data is lost or invented, read data is not older than allowed, dirty memory is bounded.
//!
//! A model judges the commands and completions at both borders, not the inside. For each sector of
//! each request it looks for the command, or the earlier request, that explains the answer. Below
//! the cache is one device, or several with files on them, which begin and end at any sector.

use std::cell::RefCell;
use std::ops::Range;
use std::rc::Rc;

use penstock_core::{
    ClassId, Clock, Device, Done, Flags, Io, Limits, Observer, Op, Prio, Queued, ReqId, Request,
    Seed, Served, Span, StreamId, Tap, Time, Virtual, run,
};
use penstock_device::page_cache::{Options, PAGE, Topology};
use penstock_device::{Faults, PageCache, Rack, Rates};
use penstock_policy::POLICIES;
use penstock_tests::{Chaotic, Late, Script, any_params};
use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;

const SECTOR: u64 = 512;

#[derive(Debug, Clone)]
struct Case {
    options: Options,
    parts: Parts,
    /// A policy between the cache and the device, and the seed of its parameters; `None`: no queue.
    policy: Option<(usize, u64)>,
    depth: usize,
    refuses: bool,
    seed: u64,
    ios: Vec<Io>,
}

/// A device, as the sectors of one part after the other, and whether each is a file.
type Disk = Vec<(u64, bool)>;

/// The address space below: one large device, or several with files.
#[derive(Debug, Clone)]
struct Parts(Vec<Disk>);

/// Bytes of the single device.
const LARGE: u64 = 1 << 40;

fn any_parts() -> impl Strategy<Value = Parts> {
    let sectors = prop_oneof![1 => 1_u64..20, 3 => 100_u64..700];
    let disk = prop::collection::vec((sectors, any::<bool>()), 1..4);
    let disks = prop::collection::vec(disk, 1..5).prop_map(Parts);
    prop_oneof![1 => Just(Parts(vec![vec![(LARGE / SECTOR, false)]])), 2 => disks]
}

impl Parts {
    fn capacities(&self) -> Vec<u64> {
        let bytes = |disk: &Disk| disk.iter().map(|(sectors, _)| sectors * SECTOR).sum();
        self.0.iter().map(bytes).collect()
    }

    /// Returns the bytes of each part, its device, and whether it is a file.
    fn all(&self) -> Vec<(Range<u64>, usize, bool)> {
        let mut end = 0;
        let disks = self.0.iter().enumerate();
        let parts = disks.flat_map(|(disk, parts)| parts.iter().map(move |part| (disk, part)));
        let part = |(disk, &(sectors, file))| {
            let start = end;
            end += sectors * SECTOR;
            (start..end, disk, file)
        };
        parts.map(part).collect()
    }

    fn layout(&self) -> Topology {
        let files = self.all().into_iter().filter(|(.., file)| *file).map(|(range, ..)| range);
        Topology::new(self.capacities(), files)
    }

    fn device(&self, device: usize) -> Range<u64> {
        let capacities = self.capacities();
        let start = capacities[..device].iter().sum();
        start..start + capacities[device]
    }

    /// Returns the bytes and the device of the file that has the byte `at`; or of the space between
    /// two files, or of a whole device without files.
    fn extent(&self, at: u64) -> (Range<u64>, usize, bool) {
        let mut all = self.all();
        // Neighbours that are no files are one.
        all.dedup_by(|next, last| {
            let one = !next.2 && !last.2 && next.1 == last.1;
            last.0.end = if one { next.0.end } else { last.0.end };
            one
        });
        all.into_iter().find(|(range, ..)| range.contains(&at)).expect("a place for every byte")
    }

    /// Returns the bytes and the device that a flush at `at` covers.
    fn flushed(&self, at: u64) -> (Range<u64>, usize) {
        let (range, device, file) = self.extent(at);
        (if file { range } else { self.device(device) }, device)
    }

    /// Returns the page with `sector`.
    fn page(&self, sector: u64) -> Range<u64> {
        let (range, ..) = self.extent(sector * SECTOR);
        let page = (sector * SECTOR - range.start) / u64::from(PAGE) * u64::from(PAGE);
        range.start + page..(range.start + page + u64::from(PAGE)).min(range.end)
    }

    /// Moves `io` into the part that its beginning selects.
    fn place(&self, io: Io) -> Io {
        let all = self.all();
        let (range, ..) = &all[(io.start / SECTOR) as usize % all.len()];
        let bytes = range.end - range.start;
        let start = range.start + io.start % bytes;
        let len = u64::from(io.len).min(range.end - start) as u32;
        Io { start, len, ..io }
    }
}

fn any_io() -> impl Strategy<Value = Io> {
    let op = prop_oneof![
        8 => Just(Op::Read),
        8 => Just(Op::Write),
        1 => Just(Op::Flush),
        1 => Just(Op::Discard),
    ];
    let buffered = prop_oneof![4 => Just(true), 1 => Just(false)];
    let forced = prop_oneof![4 => Just(false), 1 => Just(true)];
    let len = prop_oneof![2 => Just(8_u32), 2 => 1_u32..20, 1 => 60_u32..400];
    // Whole pages as often as parts of them.
    let start = prop_oneof![(0_u64..70).prop_map(|page| page * 8), 0_u64..560];
    (0_u64..60_000, start, len, 0_u32..3, op, buffered, forced).prop_map(
        |(due_us, start, len, stream, op, buffered, forced)| {
            let mut flags = if buffered { Flags::BUFFERED } else { Flags::NONE };
            if forced && op == Op::Write {
                flags = flags.with(Flags::SYNC).with(Flags::FUA);
            }
            let range = if op == Op::Flush { (0, 0) } else { (start * SECTOR, len * 512) };
            Io {
                due: Time::ZERO + Span::from_us(due_us),
                start: range.0,
                len: range.1,
                stream: StreamId(stream),
                class: ClassId(stream as u16 % 2),
                op,
                prio: Prio(stream as u8 % 2),
                flags,
            }
        },
    )
}

/// Generates requests and streams of neighbours: single requests would miss read-ahead.
fn any_ios() -> impl Strategy<Value = Vec<Io>> {
    let stream = (any_io(), 1_u64..12).prop_map(|(io, count)| {
        let step = |n| Io {
            due: io.due + Span::from_us(n * 300),
            start: io.start + n * u64::from(io.len),
            ..io
        };
        (0..count).map(step).collect::<Vec<_>>()
    });
    let one = any_io().prop_map(|io| vec![io]);
    prop::collection::vec(prop_oneof![3 => one, 1 => stream], 1..80).prop_map(|ios| ios.concat())
}

fn any_options() -> impl Strategy<Value = Options> {
    let pages = |pages: u64| pages * u64::from(PAGE);
    let interval = prop_oneof![Just(0_u64), 1_u64..20];
    let ahead = prop_oneof![Just(0_u64), 1_u64..24];
    (16_u64..80, 0_u64..90, 0_u64..90, 0_u64..40, interval, ahead, 0_u64..50).prop_map(
        move |(memory, background, dirty, expire, interval, ahead, base)| Options {
            memory: pages(memory),
            base: Span::from_us(base),
            per_mb: Span::from_us(100),
            dirty_background: pages(background),
            dirty: pages(dirty),
            dirty_expire: Span::from_ms(expire),
            dirty_writeback: Span::from_ms(interval),
            read_ahead: pages(ahead),
        },
    )
}

fn any_case() -> impl Strategy<Value = Case> {
    let policy = prop_oneof![
        1 => Just(None),
        1 => (0..POLICIES.len(), 0_u64..20).prop_map(Some),
    ];
    let hostile = (1_usize..9, any::<bool>(), any::<u64>());
    (any_options(), any_parts(), policy, hostile, any_ios()).prop_map(
        |(options, parts, policy, (depth, refuses, seed), ios)| {
            let least = Options::LEAST_MEMORY * parts.0.len() as u64;
            let options = Options { memory: options.memory.max(least), ..options };
            let ios = ios.into_iter().map(|io| parts.place(io)).collect();
            Case { options, parts, policy, depth, refuses, seed, ios }
        },
    )
}

/// A request or a command: the operation, its begin and its end.
#[derive(Clone, Copy, Debug)]
struct Passage {
    io: Io,
    id: ReqId,
    began: Time,
    ended: Option<Time>,
}

type Log = Rc<RefCell<Vec<Passage>>>;

fn begin(log: &Log, now: Time, req: &Request) {
    let span = Passage { io: req.io, id: req.id, began: now, ended: None };
    log.borrow_mut().push(span);
}

fn end(log: &Log, now: Time, id: ReqId) {
    let mut log = log.borrow_mut();
    let open = log.iter_mut().find(|span| span.id == id && span.ended.is_none());
    open.expect("what ends has begun").ended = Some(now);
}

struct Above(Log);

impl Observer for Above {
    fn arrived(&mut self, now: Time, req: &Request) {
        begin(&self.0, now, req);
    }
    fn finished(&mut self, now: Time, req: &Request, done: &Done) {
        assert!(done.len == req.len && req.due <= done.begun && done.begun <= done.at, "{done:?}");
        end(&self.0, now, req.id);
    }
}

/// The cache over a number of devices, with a check of its bounds after every call.
struct Bounded<D>(PageCache<D>, u64, usize);

impl<D: Device> Bounded<D> {
    fn look(&self) {
        assert!(self.0.dirty() <= self.1, "{} dirty bytes of {}", self.0.dirty(), self.1);
        // An eighth of the limit is reserved, in equal parts of at least a page.
        let pages = self.1 / u64::from(PAGE) / 8 / self.2 as u64;
        let reserve = if self.2 > 1 { pages.max(1) * u64::from(PAGE) } else { 0 };
        let dirty: Vec<u64> = (0..self.2).map(|device| self.0.dirty_on(device)).collect();
        let claimed: u64 = dirty.iter().map(|&bytes| bytes.max(reserve)).sum();
        assert!(claimed <= self.1, "{dirty:?} of {}, {reserve} reserved", self.1);
        assert_eq!(dirty.iter().sum::<u64>(), self.0.dirty());
    }
}

impl<D: Device> Device for Bounded<D> {
    fn capacity(&self) -> u64 {
        self.0.capacity()
    }
    fn block(&self) -> u32 {
        self.0.block()
    }
    fn room(&self) -> u32 {
        self.0.room()
    }
    fn start(&mut self, now: Time, req: &Request) {
        self.0.start(now, req);
        self.look();
    }
    fn wakeup(&self) -> Time {
        self.0.wakeup()
    }
    fn advance(&mut self, now: Time, done: &mut Vec<Done>) {
        self.0.advance(now, done);
        self.look();
    }
}

/// The requests and commands at the two borders.
struct Story {
    parts: Parts,
    above: Vec<Passage>,
    below: Vec<Passage>,
}

impl Case {
    fn device(&self, below: impl Device + 'static) -> Box<dyn Device> {
        match self.policy {
            None => Box::new(below),
            Some((policy, params)) => {
                let entry = &POLICIES[policy];
                Box::new(Queued::new(
                    (entry.build)(&any_params(entry, params), &Served::ONE_DISK),
                    below,
                ))
            }
        }
    }

    fn run(&self, clock: &mut impl Clock, rates: Rates) -> Story {
        let (above, below) = (Log::default(), Log::default());
        let (began, ended) = (Rc::clone(&below), Rc::clone(&below));
        let disk = |(number, capacity): (u32, u64)| {
            let seed = Seed(self.seed ^ u64::from(number));
            let chaotic = Chaotic::new(self.depth, self.refuses, seed).of(capacity);
            let faults = Seed(self.seed).stream("faults", u64::from(number));
            self.device(Faults::new(chaotic, rates, faults))
        };
        let capacities = self.parts.capacities();
        let devices = capacities.len();
        let disks = Rack::new((0..).zip(capacities).map(disk).collect());
        let tapped = Tap::new(
            disks,
            move |now, req: &Request| begin(&began, now, req),
            move |now, done: &[Done]| done.iter().for_each(|done| end(&ended, now, done.id)),
        );
        let least = u64::from(PAGE) * devices as u64;
        let limit = self.options.dirty.clamp(least, self.options.memory - u64::from(PAGE));
        let cache = PageCache::over(&self.options, &self.parts.layout(), tapped);
        let mut stack = Bounded(cache, limit, devices);
        let mut ios = self.ios.clone();
        let last = ios.iter().map(|io| io.due).max().expect("there is one");
        let flush = Io { op: Op::Flush, start: 0, len: 0, flags: Flags::NONE, ..ios[0] };
        // By then everything is answered: a policy may keep the device idle for half a second per
        // request, and one with a low rate takes hours.
        let due = last + Span::from_secs(1_000_000);
        // One for each part: a flush that begins in a file covers this file alone.
        ios.extend(self.parts.all().into_iter().map(|(part, ..)| Io {
            due,
            start: part.start,
            ..flush
        }));
        let (count, mut source) = (ios.len(), Script::new(ios));
        let mut watch = Above(Rc::clone(&above));
        run(&mut source, &mut stack, clock, &mut watch, Limits::default()).expect("it goes on");
        assert_eq!(stack.0.dirty(), 0, "after a flush nothing is dirty");
        drop((stack, watch));
        let [above, below] = [above, below].map(|log| Rc::into_inner(log).unwrap().into_inner());
        assert_eq!(above.len(), count, "nothing is lost");
        assert!(above.iter().chain(&below).all(|span| span.ended.is_some()), "all is answered");
        Story { parts: self.parts.clone(), above, below }
    }
}

impl Passage {
    fn ended(&self) -> Time {
        self.ended.expect("all is answered")
    }
    /// Returns the time by which earlier requests had ended before this one began. For a request
    /// that was due earlier, a late clock may report that it began at the instant at which a later
    /// one ended.
    fn behind(&self) -> Time {
        if self.io.due == self.began { self.began } else { self.began - Span::from_ns(1) }
    }
    fn covers(&self, sector: u64) -> bool {
        self.io.start <= sector * SECTOR && (sector + 1) * SECTOR <= self.io.end()
    }
    fn touches(&self, page: &Range<u64>) -> bool {
        self.io.len > 0 && self.io.start < page.end && page.start < self.io.end()
    }
    fn sectors(&self) -> std::ops::Range<u64> {
        self.io.start / SECTOR..self.io.end() / SECTOR
    }
    fn buffered(&self, op: Op) -> bool {
        self.io.op == op && self.io.flags.has(Flags::BUFFERED)
    }
    /// Whether it writes directly, past the cache.
    fn passes(&self) -> bool {
        match self.io.op {
            Op::Write => !self.io.flags.has(Flags::BUFFERED),
            Op::Discard => true,
            Op::Read | Op::Flush => false,
        }
    }
}

impl Story {
    /// Checks that data written through the cache before `until` is at the device by `by`.
    fn is_below(&self, sector: u64, until: Time, by: Time) {
        let writes = self.above.iter().filter(|w| w.buffered(Op::Write) && w.covers(sector));
        for write in writes.filter(|w| w.ended() <= until) {
            let reached = self.below.iter().any(|c| {
                // A cache's command is due when it is made: it carries the data of that time.
                let later = c.io.due >= write.began && c.ended() <= by;
                c.io.op == Op::Write && c.covers(sector) && later
            });
            assert!(reached, "sector {sector} of {write:?} is not below at {by:?}");
        }
    }

    fn forced_writes_and_flushes_are_below(&self) {
        for flush in self.above.iter().filter(|r| r.io.op == Op::Flush) {
            let (range, device) = self.parts.flushed(flush.io.start);
            for sector in (range.start / SECTOR..range.end / SECTOR).take(1200) {
                self.is_below(sector, flush.behind(), flush.ended());
            }
            let device = self.parts.device(device);
            let below = |c: &&Passage| {
                c.io.op == Op::Flush && device.contains(&c.io.start) && c.began >= flush.began
            };
            assert!(self.below.iter().filter(below).any(|c| c.ended() <= flush.ended()));
        }
        let forced = |r: &&Passage| r.buffered(Op::Write) && r.io.flags.has(Flags::FUA);
        for write in self.above.iter().filter(forced) {
            let within = |c: &&Passage| c.io.due >= write.began && c.ended() <= write.ended();
            let within: Vec<_> = self.below.iter().filter(within).collect();
            let device = self.parts.device(self.parts.extent(write.io.start).1);
            let flushed =
                within.iter().any(|c| c.io.op == Op::Flush && device.contains(&c.io.start));
            for sector in write.sectors() {
                let durable = |c: &&&Passage| c.io.flags.has(Flags::FUA) || flushed;
                let writes = within.iter().filter(|c| c.io.op == Op::Write && c.covers(sector));
                assert!(writes.filter(durable).count() > 0, "{sector} of {write:?}");
            }
        }
    }

    fn what_is_read_came_from_somewhere_and_is_not_too_old(&self) {
        for read in self.above.iter().filter(|r| r.buffered(Op::Read)) {
            for sector in read.sectors() {
                let passed =
                    |w: &&Passage| w.passes() && w.covers(sector) && w.ended() <= read.behind();
                let newest = self.above.iter().filter(passed).max_by_key(|w| w.ended());
                let page = self.parts.page(sector);
                // If both wrote at the same time, either may have been the last.
                let at_once = newest.is_some_and(|passed| {
                    let meets =
                        |w: &Passage| w.began <= passed.ended() && w.ended() >= passed.began;
                    self.above.iter().any(|w| w.buffered(Op::Write) && w.touches(&page) && meets(w))
                });
                let since = newest.filter(|_| !at_once).map_or(Time::ZERO, Passage::ended);
                let filled = self.below.iter().any(|c| {
                    let then = c.io.due >= since && c.ended() <= read.ended();
                    c.io.op == Op::Read && c.covers(sector) && then
                });
                let written = self.above.iter().any(|w| {
                    let then = w.began >= since && w.began <= read.ended();
                    w.buffered(Op::Write) && w.covers(sector) && then
                });
                assert!(filled || written, "sector {sector} of {read:?}, since {since:?}");
            }
        }
    }

    fn direct_requests_go_below_as_they_are_behind_what_was_written(&self) {
        let direct = |r: &&Passage| !r.io.flags.has(Flags::BUFFERED) && r.io.op != Op::Flush;
        for req in self.above.iter().filter(direct) {
            let itself = self.below.iter().find(|c| c.io == req.io && c.began >= req.began);
            let itself = itself.unwrap_or_else(|| panic!("{req:?} did not go below"));
            for sector in req.sectors() {
                self.is_below(sector, req.behind(), itself.began);
            }
        }
    }

    fn commands_are_sound(&self) {
        for (number, command) in self.below.iter().enumerate() {
            assert!(!command.io.flags.has(Flags::BUFFERED), "{command:?}");
            let (extent, ..) = self.parts.extent(command.io.start);
            assert!(command.io.end() <= extent.end, "{command:?} goes on behind {extent:?}");
            if command.io.op != Op::Write {
                continue;
            }
            for other in &self.below[..number] {
                let apart = other.io.op != Op::Write
                    || other.io.end() <= command.io.start
                    || command.io.end() <= other.io.start
                    || other.ended() <= command.began;
                let direct = |c: &Passage| self.above.iter().any(|r| r.io == c.io);
                // A direct writer may write one place twice at a time, also at the same time as the
                // cache.
                assert!(apart || direct(command) || direct(other), "{other:?} {command:?}");
            }
        }
    }
}

fn judge(story: &Story) {
    story.commands_are_sound();
    story.forced_writes_and_flushes_are_below();
    story.what_is_read_came_from_somewhere_and_is_not_too_old();
    story.direct_requests_go_below_as_they_are_behind_what_was_written();
}

const SOUND: Rates = Rates { errors: 0.0, stalls: 0.0, stall: Span::ZERO };

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: Some(Box::new(FileFailurePersistence::WithSource("regressions"))),
        ..ProptestConfig::default()
    })]

    #[test]
    fn nothing_is_lost_made_up_or_out_of_date(case in any_case()) {
        judge(&case.run(&mut Virtual::default(), SOUND));
    }

    #[test]
    fn late_wake_ups_break_nothing(case in any_case()) {
        judge(&case.run(&mut Late::new(Span::from_ms(4), Seed(case.seed)), SOUND));
    }

    #[test]
    fn failing_devices_are_reported_and_stop_nothing(case in any_case()) {
        let rates = Rates { errors: 0.3, stalls: 0.1, stall: Span::from_ms(3) };
        case.run(&mut Virtual::default(), rates);
    }
}
