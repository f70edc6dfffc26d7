//! Models that answer in real time, alone and over a file; and the target that does nothing.
//!
//! The model here is a server of the tests' own: a millisecond for each request, one at a time.

use std::collections::{BTreeSet, VecDeque};

use crate::common::{Closed, Fcfs, Scratch, drain, io, settings, ways};
use penstock_core::{
    Clock, Device, Done, Go, Io, Op, Out, Part, Policy, Queued, ReqId, Request, Source, Span, Time,
    Virtual,
};
use penstock_live::{Emulated, LiveClock, LiveDevice, Null, Speed, Stage, Target};

const SERVICE: Span = Span::from_ms(1);

/// A server of one request at a time, each a millisecond long.
#[derive(Default)]
struct Server(Option<(Request, Time)>);

impl Device for Server {
    fn capacity(&self) -> u64 {
        1 << 20
    }
    fn block(&self) -> u32 {
        1
    }
    fn room(&self) -> u32 {
        u32::from(self.0.is_none())
    }
    fn start(&mut self, now: Time, req: &Request) {
        self.0 = Some((*req, now));
    }
    fn wakeup(&self) -> Time {
        self.0.map_or(Time::NEVER, |(_, begun)| begun + SERVICE)
    }
    fn advance(&mut self, now: Time, done: &mut Vec<Done>) {
        if self.wakeup() <= now {
            let (req, begun) = self.0.take().expect("a wake-up has a request");
            let (id, len) = (req.id, req.len);
            done.push(Done { id, at: now, begun, service: SERVICE, len, error: None });
        }
    }
}

fn small(n: u32) -> penstock_core::Io {
    io(Op::Write, u64::from(n) % 64 * 4096, 4096)
}

/// Time and device time of 200 requests on a model at `speed`.
fn two_hundred(speed: Speed) -> (Span, Span) {
    let mut stack =
        Queued::new(Fcfs::default(), Emulated::new(Server::default(), speed, None::<LiveDevice>));
    let mut source = Closed::new(4, 200, small);
    let (seen, end) = drain(&mut source, &mut stack, &mut LiveClock::bare());
    assert_eq!((seen.finished, seen.errors.len()), (200, 0));
    assert_eq!(stack.device().answers().lateness().count(), 200);
    (end.at.since(Time::ZERO), seen.service)
}

#[test]
fn a_model_takes_as_long_as_it_says_and_never_less() {
    let (took, service) = two_hundred(Speed::ONE);
    assert_eq!(service, Span::from_ms(200));
    assert!(took >= Span::from_ms(200), "{took:?}");
}

#[test]
fn a_faster_model_charges_what_it_took() {
    let ten = Speed::from_thousandths(10_000).expect("a speed");
    let (took, service) = two_hundred(ten);
    assert_eq!(service, Span::from_ms(20));
    assert!(took >= Span::from_ms(20), "{took:?}");
    assert_eq!(Speed::from_thousandths(0), None, "time does not stand still");
}

#[test]
fn in_virtual_time_it_is_the_model_to_the_nanosecond() {
    let run = |device: &mut dyn Device| {
        let mut source = Closed::new(4, 200, small);
        let mut device = Queued::new(Fcfs::default(), device);
        let (seen, end) = drain(&mut source, &mut device, &mut Virtual::default());
        (end.at, seen.service)
    };
    let emulated = &mut Emulated::new(Server::default(), Speed::ONE, None::<LiveDevice>);
    assert_eq!(run(emulated), run(&mut Server::default()));
    assert_eq!(emulated.answers().lateness().max_ns(), 0);
}

/// A machine that always wakes late.
#[derive(Default)]
struct Tardy(Virtual);

const LATE: Span = Span::from_us(700);

impl Clock for Tardy {
    fn now(&mut self) -> Time {
        self.0.now()
    }
    fn park(&mut self, until: Time) -> bool {
        let late = if until > self.0.now() { LATE } else { Span::ZERO };
        self.0.park(until + late)
    }
}

#[test]
fn a_machine_that_wakes_late_does_not_slow_the_model() {
    let mut stack = Queued::new(
        Fcfs::default(),
        Emulated::new(Server::default(), Speed::ONE, None::<LiveDevice>),
    );
    let mut source = Closed::new(4, 200, small);
    let (_, end) = drain(&mut source, &mut stack, &mut Tardy::default());
    assert_eq!(end.at, Time::ZERO + Span::from_ms(200) + LATE, "only the last wait is late");
    assert!(
        stack.device().answers().lateness().max_ns() >= LATE.ns(),
        "and the lateness is recorded"
    );
}

/// The shortest first.
#[derive(Default)]
struct Shortest(BTreeSet<(u32, u32, ReqId)>, u32);

impl Policy for Shortest {
    fn enqueue(&mut self, _: Time, req: &Request) {
        self.1 += 1;
        self.0.insert((req.len, self.1, req.id));
    }
    fn dispatch(&mut self, _: Time, _: &mut Out<'_>) -> Option<Go> {
        self.0.pop_first().map(|(.., id)| Go::all(id))
    }
    fn complete(&mut self, _: Time, _: &Request, _: &Part) {}
}

/// Requests in order of `due`, and where those began that have finished.
struct Plan(VecDeque<Io>, Vec<u64>);

impl Source for Plan {
    fn next_due(&self) -> Time {
        self.0.front().map_or(Time::NEVER, |io| io.due)
    }
    fn take(&mut self, _: Time) -> Option<Io> {
        self.0.pop_front()
    }
    fn finished(&mut self, _: Time, req: &Request, _: &Done) {
        self.1.push(req.start);
    }
}

#[test]
fn a_machine_that_wakes_late_handles_events_in_their_order() {
    // Long requests from the start, and short ones that come while they are served.
    let long = (0..40).map(|n| io(Op::Write, n * 8192, 8192));
    let short = (0..30).map(|n| Io {
        due: Time::ZERO + Span::from_us(1_130 * n + 400),
        ..io(Op::Write, 512 * 1024 + n * 4096, 4096)
    });
    let plan: VecDeque<Io> = long.chain(short).collect();
    let order = |device: &mut dyn Device, late: bool| {
        let mut source = Plan(plan.clone(), Vec::new());
        let mut stack = Queued::new(Shortest::default(), device);
        let (seen, _) = if late {
            drain(&mut source, &mut stack, &mut Tardy::default())
        } else {
            drain(&mut source, &mut stack, &mut Virtual::default())
        };
        assert_eq!(seen.finished, 70);
        source.1
    };
    let planned = order(&mut Server::default(), false);
    let emulated = &mut Emulated::new(Server::default(), Speed::ONE, None::<LiveDevice>);
    assert_eq!(order(emulated, true), planned);
}

fn at(us: u64) -> Time {
    Time::ZERO + Span::from_us(us)
}

fn request(slot: u32, due: Time) -> Request {
    Io { due, ..small(slot) }.with(ReqId::new(slot, 0))
}

#[test]
fn an_answer_to_another_model_s_completion_begins_when_that_was_due() {
    let model =
        || Emulated::new(Server::default(), Speed::ONE, None::<LiveDevice>).answers_are_due();
    let [mut one, mut other] = [model(), model()];
    let mut done = Vec::new();
    one.start(at(0), &request(1, at(0)));
    // Half a millisecond late.
    one.advance(at(1_500), &mut done);
    assert_eq!(one.answers().last(), at(1_000));
    other.start(at(1_500), &request(2, one.answers().last()));
    assert_eq!(other.wakeup(), at(2_000));
    other.advance(at(2_000), &mut done);
    // One that was due while the model was busy begins when it is idle.
    other.start(at(2_700), &request(3, at(1_700)));
    assert_eq!(other.wakeup(), at(3_000));
    assert_eq!(done.len(), 2);
}

/// A stand-in for a file: requests take 5 ms each, all at once.
#[derive(Default)]
struct SlowFile(VecDeque<(Request, Time)>);

impl Device for SlowFile {
    fn capacity(&self) -> u64 {
        1 << 20
    }
    fn block(&self) -> u32 {
        1
    }
    fn room(&self) -> u32 {
        4 - self.0.len() as u32
    }
    fn start(&mut self, now: Time, req: &Request) {
        self.0.push_back((*req, now));
    }
    fn wakeup(&self) -> Time {
        Time::NEVER
    }
    fn advance(&mut self, now: Time, done: &mut Vec<Done>) {
        let took = Span::from_ms(5);
        while let Some((req, begun)) =
            self.0.front().copied().filter(|(_, begun)| *begun + took <= now)
        {
            self.0.pop_front();
            let (id, len) = (req.id, req.len);
            done.push(Done { id, at: now, begun, service: took, len, error: None });
        }
    }
    fn polled(&self) -> bool {
        true
    }
}

#[test]
fn a_model_goes_on_while_a_request_is_still_at_a_slow_file_and_the_wait_is_recorded() {
    let file = Some(SlowFile::default());
    let mut emulated = Emulated::new(Server::default(), Speed::ONE, file).answers_are_due();
    let mut done = Vec::new();
    emulated.start(at(0), &request(1, at(0)));
    emulated.advance(at(1_200), &mut done);
    assert!(done.is_empty() && emulated.room() > 0);
    emulated.start(at(1_200), &request(2, at(0)));
    assert_eq!(emulated.wakeup(), at(2_000), "when the model was free, however late that is known");
    emulated.advance(at(2_000), &mut done);
    emulated.advance(at(5_000), &mut done);
    assert_eq!(done.len(), 1);
    assert_eq!(
        emulated.answers().last(),
        at(5_000),
        "the completion comes when the file has answered"
    );
    let waits = emulated.answers().file_waits();
    assert_eq!((waits.count(), waits.max_ns() / 100_000), (1, 38));
}

#[test]
fn over_a_file_what_is_written_is_there_and_the_model_sets_the_time() {
    for way in ways().filter(|(engine, _)| engine.most_in_flight() >= 8) {
        let (engine, caching) = way;
        let scratch = Scratch::new(&format!("emulated-{}-{caching:?}", engine.name()));
        let path = scratch.path("data.img");
        let target = Target::open(&path, Some(1 << 20)).unwrap();
        let before = std::fs::read(&path).unwrap();
        let (mut clock, file) = Stage::single(engine, target, settings(way, 8, 4096)).unwrap();
        let emulated = Emulated::new(Server::default(), Speed::ONE, Some(file));
        let mut stack = Queued::new(Fcfs::default(), emulated);
        let (seen, end) = drain(&mut Closed::new(4, 64, small), &mut stack, &mut clock);
        assert_eq!((seen.finished, seen.errors.len()), (64, 0));
        assert_eq!(seen.service, Span::from_ms(64), "the model's, not the file's");
        assert!(end.at.since(Time::ZERO) >= Span::from_ms(64));
        let after = std::fs::read(&path).unwrap();
        let changed = |n: usize| before[n * 4096..][..4096] != after[n * 4096..][..4096];
        assert!((0..64).all(changed), "every block of the 64 was written");
    }
}

#[test]
fn nothing_is_done_at_once_and_each_request_ends() {
    let mut stack = Queued::new(Fcfs::default(), Null::new(32));
    let mut source = Closed::new(32, 100_000, small);
    let (seen, _) = drain(&mut source, &mut stack, &mut LiveClock::bare());
    assert_eq!((seen.finished, seen.errors.len()), (100_000, 0));
    assert_eq!(seen.service, Span::ZERO);
}
