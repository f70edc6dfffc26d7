//! Properties of the page cache over hostile devices and clocks: every request is answered once, no
//! data is lost or made up, read data is not older than allowed, dirty memory is bounded.
//!
//! A model judges the commands and completions at both borders, not the inside. For each sector of
//! each request it looks for the command, or the earlier request, that explains the answer.

use std::cell::RefCell;
use std::rc::Rc;

use penstock_core::{
    ClassId, Clock, Device, Done, Flags, Io, Limits, Observer, Op, Prio, Queued, ReqId, Request,
    Seed, Served, Span, StreamId, Tap, Time, Virtual, run,
};
use penstock_device::page_cache::{Options, PAGE};
use penstock_device::{Faults, PageCache, Rates};
use penstock_policy::POLICIES;
use penstock_tests::{Chaotic, Late, Script, any_params};
use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;

const SECTOR: u64 = 512;
const PAGE_SECTORS: u64 = PAGE as u64 / SECTOR;

#[derive(Debug, Clone)]
struct Case {
    options: Options,
    /// A policy between the cache and the device, and its parameters; none of them: no queue.
    policy: Option<(usize, u64)>,
    depth: usize,
    refuses: bool,
    seed: u64,
    ios: Vec<Io>,
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

/// Streams of neighbours too: requests one by one miss what reading ahead does.
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
    (any_options(), policy, 1_usize..9, any::<bool>(), any::<u64>(), any_ios()).prop_map(
        |(options, policy, depth, refuses, seed, ios)| Case {
            options,
            policy,
            depth,
            refuses,
            seed,
            ios,
        },
    )
}

/// A request or a command: the operation, its beginning, its end.
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

/// The cache, with a check of its bound after every call.
struct Bounded<D>(PageCache<D>, u64);

impl<D: Device> Bounded<D> {
    fn look(&self) {
        assert!(self.0.dirty() <= self.1, "{} dirty bytes of {}", self.0.dirty(), self.1);
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
        let chaotic = Chaotic::new(self.depth, self.refuses, Seed(self.seed));
        let faulty = Faults::new(chaotic, rates, Seed(self.seed).stream("faults", 0));
        let tapped = Tap::new(
            self.device(faulty),
            move |now, req: &Request| begin(&began, now, req),
            move |now, done: &[Done]| done.iter().for_each(|done| end(&ended, now, done.id)),
        );
        let limit = self.options.dirty.clamp(PAGE.into(), self.options.memory - u64::from(PAGE));
        let mut stack = Bounded(PageCache::new(&self.options, tapped), limit);
        let mut ios = self.ios.clone();
        let last = ios.iter().map(|io| io.due).max().expect("there is one");
        let flush = Io { op: Op::Flush, start: 0, len: 0, flags: Flags::NONE, ..ios[0] };
        // By then all is answered: a policy may keep the device idle for half a second a request.
        ios.push(Io { due: last + Span::from_secs(1_000), ..flush });
        let (count, mut source) = (ios.len(), Script::new(ios));
        let mut watch = Above(Rc::clone(&above));
        run(&mut source, &mut stack, clock, &mut watch, Limits::default()).expect("it goes on");
        assert_eq!(stack.0.dirty(), 0, "after a flush nothing is dirty");
        drop((stack, watch));
        let [above, below] = [above, below].map(|log| Rc::into_inner(log).unwrap().into_inner());
        assert_eq!(above.len(), count, "nothing is lost");
        assert!(above.iter().chain(&below).all(|span| span.ended.is_some()), "all is answered");
        Story { above, below }
    }
}

impl Passage {
    fn ended(&self) -> Time {
        self.ended.expect("all is answered")
    }
    /// Requests that ended by then had ended before this began. For a request that was due earlier,
    /// a late clock may report that it began at the instant at which a later one ended.
    fn behind(&self) -> Time {
        if self.io.due == self.began { self.began } else { self.began - Span::from_ns(1) }
    }
    fn covers(&self, sector: u64) -> bool {
        self.io.start <= sector * SECTOR && (sector + 1) * SECTOR <= self.io.end()
    }
    fn touches(&self, page: u64) -> bool {
        let page = page * u64::from(PAGE);
        self.io.len > 0 && self.io.start < page + u64::from(PAGE) && page < self.io.end()
    }
    fn sectors(&self) -> std::ops::Range<u64> {
        self.io.start / SECTOR..self.io.end() / SECTOR
    }
    fn buffered(&self, op: Op) -> bool {
        self.io.op == op && self.io.flags.has(Flags::BUFFERED)
    }
    /// It writes past the cache.
    fn passes(&self) -> bool {
        match self.io.op {
            Op::Write => !self.io.flags.has(Flags::BUFFERED),
            Op::Discard => true,
            Op::Read | Op::Flush => false,
        }
    }
}

impl Story {
    /// Data written through the cache before `until` is at the device by `by`.
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
            for sector in 0..1200 {
                self.is_below(sector, flush.behind(), flush.ended());
            }
            let below = |c: &&Passage| c.io.op == Op::Flush && c.began >= flush.began;
            assert!(self.below.iter().filter(below).any(|c| c.ended() <= flush.ended()));
        }
        let forced = |r: &&Passage| r.buffered(Op::Write) && r.io.flags.has(Flags::FUA);
        for write in self.above.iter().filter(forced) {
            let within = |c: &&Passage| c.io.due >= write.began && c.ended() <= write.ended();
            let within: Vec<_> = self.below.iter().filter(within).collect();
            let flushed = within.iter().any(|c| c.io.op == Op::Flush);
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
                let page = sector / PAGE_SECTORS;
                // If both wrote at the same time, either may have been the last.
                let at_once = newest.is_some_and(|passed| {
                    let meets =
                        |w: &Passage| w.began <= passed.ended() && w.ended() >= passed.began;
                    self.above.iter().any(|w| w.buffered(Op::Write) && w.touches(page) && meets(w))
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
