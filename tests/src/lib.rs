//! Shared parts of the tests of the whole stack: hostile devices and clocks, scripted sources, and
//! a journal of everything that crossed a border.

pub mod generate;
pub mod properties;
pub mod scratch;

use std::cell::RefCell;
use std::rc::Rc;

use penstock_core::{
    Clock, Decision, Device, Done, Io, Limits, Observer, Op, Policy, Queued, ReqId, Request, Rng,
    RunError, Seed, Source, Span, Tap, Time, Virtual, Witness, run,
};
use penstock_policy::{Entry, Kind, Params, Value};
use rand::RngExt;

/// A device that completes in any order after any time, and sometimes refuses although it has room.
/// Its positions have no meaning either.
pub struct Chaotic {
    capacity: u64,
    depth: usize,
    rng: Rng,
    refuses: bool,
    serving: Vec<(Time, Request)>,
}

impl Chaotic {
    /// Creates a device with room for `depth` commands. With `refuses` it admits no second command
    /// on an odd megabyte, and a flush only when nothing is being served.
    pub fn new(depth: usize, refuses: bool, seed: Seed) -> Self {
        let (capacity, rng) = (1 << 40, seed.stream("chaotic", 0));
        Self { capacity, depth, rng, refuses, serving: Vec::new() }
    }

    /// Sets the capacity in bytes.
    #[must_use]
    pub fn of(self, capacity: u64) -> Self {
        Self { capacity, ..self }
    }
}

impl Device for Chaotic {
    fn capacity(&self) -> u64 {
        self.capacity
    }

    fn block(&self) -> u32 {
        1
    }

    fn room(&self) -> u32 {
        (self.depth - self.serving.len()) as u32
    }

    fn admits(&self, op: Op, start: u64, _: u32) -> bool {
        let odd = |start: u64| start >> 20 & 1 == 1;
        let busy = self.refuses && odd(start) && self.serving.iter().any(|(_, r)| odd(r.start));
        // Like an array that broadcasts them: a flush needs every disk.
        let waits = self.refuses && op == Op::Flush && !self.serving.is_empty();
        self.room() > 0 && !busy && !waits
    }

    fn position(&self, now: Time, _: Op, start: u64) -> Span {
        Span::from_ns((start / 512 * 77_777 + now.ns()) % 3_000_000)
    }

    fn start(&mut self, now: Time, req: &Request) {
        assert!(self.admits(req.op, req.start, req.len), "started without being admitted");
        let service = Span::from_us(self.rng.random_range(0..3000));
        self.serving.push((now + service, *req));
    }

    fn wakeup(&self) -> Time {
        self.serving.iter().map(|(ends, _)| *ends).min().unwrap_or(Time::NEVER)
    }

    fn advance(&mut self, now: Time, done: &mut Vec<Done>) {
        self.serving.retain(|&(ends, req)| {
            if ends <= now {
                let service = Span::from_ns(u64::from(req.len) + 1);
                let (id, len) = (req.id, req.len);
                done.push(Done { id, at: now, begun: now, service, len, error: None });
            }
            ends > now
        });
    }
}

/// The commands that a device received, in order, with their times.
pub type Commands = Rc<RefCell<Vec<(Time, Request)>>>;

/// Wraps `device` so that every command is noted.
pub fn noted(device: impl Device) -> (impl Device, Commands) {
    let commands = Commands::default();
    let notes = Rc::clone(&commands);
    let note = move |now, req: &Request| notes.borrow_mut().push((now, *req));
    (Tap::new(device, note, |_, _: &[Done]| {}), commands)
}

/// Virtual time that returns later than requested, as real clocks do.
pub struct Late {
    clock: Virtual,
    rng: Rng,
    most: Span,
}

impl Late {
    /// Creates a clock that is at most `most` late.
    pub fn new(most: Span, seed: Seed) -> Self {
        Self { clock: Virtual::default(), rng: seed.stream("late", 0), most }
    }
}

impl Clock for Late {
    fn now(&mut self) -> Time {
        self.clock.now()
    }

    fn park(&mut self, until: Time) -> bool {
        // A wait of no length ends at once; only real waits are inexact.
        let waits = until > self.clock.now() && until != Time::NEVER;
        let late = if waits { self.rng.random_range(0..=self.most.ns()) } else { 0 };
        self.clock.park(until + Span::from_ns(late))
    }
}

/// Requests from a list, in order of `due`.
pub struct Script {
    ios: Vec<Io>,
    next: usize,
}

impl Script {
    /// Creates the requests of `ios`, sorted by due time.
    pub fn new(mut ios: Vec<Io>) -> Self {
        ios.sort_by_key(|io| io.due);
        Self { ios, next: 0 }
    }
}

impl Source for Script {
    fn next_due(&self) -> Time {
        self.ios.get(self.next).map_or(Time::NEVER, |io| io.due)
    }

    fn take(&mut self, now: Time) -> Option<Io> {
        let io = self.ios.get(self.next).filter(|io| io.due <= now)?;
        self.next += 1;
        Some(*io)
    }

    fn finished(&mut self, _: Time, _: &Request, _: &Done) {}
}

/// Everything that crossed the borders of a run.
#[derive(Debug, Default)]
pub struct Journal {
    /// Requests as they entered the policy, with the policy's tickets: the time and the request.
    pub enqueued: Vec<(Time, Request)>,
    /// Decisions of the policy.
    pub decisions: Vec<Decision>,
    /// Commands to the device.
    pub commands: Vec<(Time, Request)>,
    /// Completions above, in order.
    pub finished: Vec<(Request, Done)>,
    /// Completions as reported to the policy, by request: bytes so far, and whether the last part
    /// was reported.
    pub completed: Vec<(Request, u32, bool)>,
}

/// Records the calls to a policy before it passes them on.
struct Recorded<P>(P, Rc<RefCell<Journal>>);

#[deny(clippy::missing_trait_methods, reason = "a method left out would hide the policy's own")]
impl<P: Policy> Policy for Recorded<P> {
    fn enqueue(&mut self, now: Time, req: &Request) {
        assert_ne!(req.op, Op::Flush, "a policy never sees a flush");
        self.1.borrow_mut().enqueued.push((now, *req));
        self.0.enqueue(now, req);
    }
    fn dispatch(
        &mut self,
        now: Time,
        out: &mut penstock_core::Out<'_>,
    ) -> Option<penstock_core::Go> {
        assert!(out.below.room() > 0 && out.chain.is_empty(), "asked without room");
        self.0.dispatch(now, out)
    }
    fn complete(&mut self, now: Time, req: &Request, part: &penstock_core::Part) {
        self.1.borrow_mut().completed.push((*req, part.len, part.last));
        self.0.complete(now, req, part);
    }
    fn wakeup(&self) -> Time {
        self.0.wakeup()
    }
    fn counters(&self, report: &mut dyn FnMut(penstock_core::Counter<'_>, u64)) {
        self.0.counters(report);
    }
}

struct Finished(Rc<RefCell<Journal>>);

impl Observer for Finished {
    fn finished(&mut self, _: Time, req: &Request, done: &Done) {
        self.0.borrow_mut().finished.push((*req, *done));
    }
}

/// Runs `ios` under `policy` on `device`, and returns the journal of its borders.
///
/// # Errors
/// See [`run`], above all [`RunError::Stalled`], when a policy keeps a request and names no
/// wake-up.
pub fn journal(
    policy: Box<dyn Policy>,
    device: Chaotic,
    clock: &mut impl Clock,
    ios: &[Io],
) -> Result<Journal, RunError> {
    let journal = Rc::new(RefCell::new(Journal::default()));
    let log = Rc::clone(&journal);
    let policy = Witness::new(policy, move |at, go, chain: &[ReqId]| {
        log.borrow_mut().decisions.push(Decision { at, go, chain: chain.to_vec() });
    });
    let (device, commands) = noted(device);
    let mut stack = Queued::new(Recorded(policy, Rc::clone(&journal)), device);
    let mut source = Script::new(ios.to_vec());
    run(&mut source, &mut stack, clock, &mut Finished(Rc::clone(&journal)), Limits::default())?;
    drop(stack);
    let mut journal = Rc::into_inner(journal).expect("the stack is gone").into_inner();
    journal.commands = commands.take();
    Ok(journal)
}

/// Returns allowed parameters of `entry`: the defaults for the seed 0, otherwise random values.
pub fn any_params(entry: &Entry, seed: u64) -> Params {
    let mut params = entry.defaults();
    if seed > 0 {
        draw(entry.params, &mut params, &mut Seed(seed).stream("params", 0));
    }
    params
}

fn draw(declared: &'static [penstock_policy::Param], params: &mut Params, rng: &mut Rng) {
    for param in declared {
        let value = drawn(&param.kind, params.group(param.name), rng);
        params.set(param.name, value);
    }
}

/// Draws a value of `kind`; `group` is the present one of a group.
fn drawn(kind: &'static Kind, group: Option<&Params>, rng: &mut Rng) -> Value {
    let pick = |rng: &mut Rng, of: usize| rng.random_range(0..of);
    let sizes = [4096, 10_000, 65_536, 1 << 20];
    let times = [0, 1, 20, 500];
    match kind {
        Kind::Size => Value::Size(sizes[pick(rng, 4)]),
        Kind::SizeOr(words) => match pick(rng, 4 + words.len()) {
            n @ 0..4 => Value::Size(sizes[n]),
            n => Value::Word(words[n - 4]),
        },
        Kind::SizeOrGroup(words, members) => match pick(rng, 8 + words.len()) {
            n @ 0..4 => Value::Size(sizes[n]),
            4..8 => {
                let mut group = Params::defaults(members);
                draw(members, &mut group, rng);
                Value::Group(group)
            }
            n => Value::Word(words[n - 8]),
        },
        Kind::Duration => Value::Duration(Span::from_ms(times[pick(rng, 4)])),
        Kind::DurationOr(words) => match pick(rng, 4 + words.len()) {
            n @ 0..4 => Value::Duration(Span::from_ms(times[n])),
            n => Value::Word(words[n - 4]),
        },
        Kind::PositiveDurationOr(words) => match pick(rng, 4 + words.len()) {
            n @ 0..4 => Value::Duration(Span::from_ms(times[n].max(2))),
            n => Value::Word(words[n - 4]),
        },
        Kind::Count(least) => Value::Count(least + [0, 1, 4, 16][pick(rng, 4)]),
        Kind::CountIn(least, most) => {
            Value::Count((least + [0, 1, 4, 16][pick(rng, 4)]).min(*most))
        }
        Kind::CountOr(least, words) => match pick(rng, 4 + words.len()) {
            n @ 0..4 => Value::Count(least + [0, 1, 4, 16][n]),
            n => Value::Word(words[n - 4]),
        },
        Kind::Switch => Value::Switch(pick(rng, 2) == 1),
        Kind::Choice(words) => Value::Word(words[pick(rng, words.len())]),
        Kind::Group(members) | Kind::GroupOrDevice(members) => match group.cloned() {
            Some(mut group) if pick(rng, 3) > 0 => {
                draw(members, &mut group, rng);
                Value::Group(group)
            }
            _ => Value::Word("off"),
        },
        Kind::PerClass(kind) => match pick(rng, 2) {
            0 => drawn(kind, None, rng),
            _ => Value::List((0..2).map(|_| drawn(kind, None, rng)).collect()),
        },
    }
}
