//! Properties that hold at every decision, over random loads on a device of any depth.

use alloc::boxed::Box;
use alloc::rc::Rc;
use alloc::vec::Vec;
use core::cell::Cell;
use core::num::NonZeroU32;

use penstock_core::{
    ClassId, ClassInfo, Device, Done, Flags, Go, Io, Limits, Op, Out, Part, Policy, Prio, Queued,
    ReqId, Request, Served, Source, Span, StreamId, Time, Virtual, run,
};
use proptest::prelude::*;

use super::class::Class;
use super::{ENTRY, Fairio};
use crate::params::{Params, Value};

/// A device of several servers, on which a request takes a time in proportion to its length.
struct Servers {
    servers: usize,
    busy: Vec<(Time, ReqId, Span, u32)>,
}

impl Device for Servers {
    fn capacity(&self) -> u64 {
        1 << 40
    }
    fn block(&self) -> u32 {
        1
    }
    fn room(&self) -> u32 {
        (self.servers - self.busy.len()) as u32
    }
    fn start(&mut self, now: Time, req: &Request) {
        let service = Span::from_ns(u64::from(req.len) * 1_001);
        self.busy.push((now + service, req.id, service, req.len));
    }
    fn wakeup(&self) -> Time {
        self.busy.iter().map(|busy| busy.0).min().unwrap_or(Time::NEVER)
    }
    fn advance(&mut self, now: Time, done: &mut Vec<Done>) {
        self.busy.retain(|&(ends, id, service, len)| {
            if ends <= now {
                done.push(Done { id, at: now, begun: now, service, len, error: None });
            }
            ends > now
        });
    }
}

/// A source of these requests, the last one first.
struct List(Vec<Io>);

impl Source for List {
    fn next_due(&self) -> Time {
        self.0.last().map_or(Time::NEVER, |io| io.due)
    }
    fn take(&mut self, now: Time) -> Option<Io> {
        self.0.pop_if(|io| io.due <= now)
    }
    fn finished(&mut self, _: Time, _: &Request, _: &Done) {}
}

/// The policy, checked at every decision, and the device time of all completed requests.
struct Checked(Fairio, Rc<Cell<u64>>);

impl Checked {
    /// Checks the sums and indices against the classes.
    fn check(&self) {
        let Fairio { settings, commands, cycle, ranking, .. } = &self.0;
        let classes = &cycle.classes;
        assert!(commands.len() <= settings.cap, "{} in flight", commands.len());
        let shares: u64 = classes.iter().map(|class| class.share).sum();
        if classes.iter().any(|class| class.active) {
            assert_eq!(shares, cycle.length() * u64::from(settings.disks), "the sum of the shares");
        }
        let count = |test: &dyn Fn(&Class) -> bool| {
            classes.iter().filter(|class| test(class)).count() as u32
        };
        assert_eq!(ranking.waiting(), count(&|class| class.waits));
        assert_eq!(ranking.open(), count(&|class| class.busy() && class.left() > 0));
        assert_eq!(ranking.eligible().is_some(), count(&eligible) > 0);
        let in_flight: u32 = classes.iter().map(|class| class.in_flight).sum();
        assert_eq!(in_flight, commands.len());
        for class in classes {
            assert!(class.in_flight > 0 || class.reserved == 0, "reserved for nothing");
            assert!(class.exempt <= class.used);
        }
    }
}

fn eligible(class: &Class) -> bool {
    class.waits && class.left() > 0 && !class.held
}

impl Policy for Checked {
    fn enqueue(&mut self, now: Time, req: &Request) {
        self.0.enqueue(now, req);
        self.check();
    }

    fn dispatch(&mut self, now: Time, out: &mut Out<'_>) -> Option<Go> {
        let (filled, cycles) = (self.0.filled, self.0.cycle.ended);
        let could = self.0.cycle.classes.iter().any(eligible);
        let go = self.0.dispatch(now, out);
        // A new cycle changes which classes may send, so `could` does not apply then.
        if self.0.filled > filled && self.0.cycle.ended == cycles {
            assert!(!could, "a fill although a class had some of its share left");
        }
        if go.is_none() && self.0.commands.len() == 0 {
            assert!(self.0.wakeup() > now, "nothing is sent, and nothing will be");
        }
        self.check();
        go
    }

    fn complete(&mut self, now: Time, req: &Request, part: &Part) {
        self.1.set(self.1.get() + part.service.ns());
        self.0.complete(now, req, part);
        self.check();
        let charged = |class: &Class| class.charged + class.used;
        let charged: u64 = self.0.cycle.classes.iter().map(charged).sum();
        // A merged command is charged when its last request completes.
        if self.0.commands.len() == 0 {
            assert_eq!(charged, self.1.get(), "device time is charged to the nanosecond");
        }
    }

    fn wakeup(&self) -> Time {
        self.0.wakeup()
    }
}

fn any_word(words: &'static [&'static str]) -> impl Strategy<Value = Value> {
    prop::sample::select(words).prop_map(Value::Word)
}

prop_compose! {
    fn any_params()(
        mode in any_word(&["plus", "paper"]),
        cycle in prop_oneof![
            2 => (1_u64..80).prop_map(|ms| Value::Duration(Span::from_ms(ms))),
            1 => Just(Value::Word("auto")),
        ],
        window in 0_u64..30,
        load in prop_oneof![Just(Value::Word("auto")), (0_u64..20).prop_map(Value::Count)],
        cap in prop_oneof![Just(Value::Word("auto")), (1_u64..20).prop_map(Value::Count)],
        threshold in 0_u64..4,
        exempt in any_word(&["auto", "none", "fill", "strict"]),
        fill in any_word(&["oldest", "weighted", "none"]),
        early in any_word(&["auto", "on", "off"]),
        reserve in any::<bool>(),
        merged in any::<bool>(),
    ) -> Params {
        let params = ENTRY.defaults().with("mode", mode).with("cycle", cycle);
        let params = params.with("window", Value::Count(window)).with("load", load).with("cap", cap);
        let params = params.with("class_threshold", Value::Count(threshold)).with("exempt", exempt);
        let params = params.with("fill", fill).with("early_end", early);
        let first = Value::Duration(Span::from_ms(20));
        let params = params.with("reserve", Value::Switch(reserve)).with("first_cycle", first);
        if merged { params } else { params.with("max_sectors", Value::Word("off")) }
    }
}

/// Generates loads with bursts, pauses and neighbours.
fn any_load() -> impl Strategy<Value = Vec<Io>> {
    let pause = prop_oneof![8 => Just(0_u64), 4 => 1_u64..10, 1 => 100_u64..4_000];
    let request = (pause, 0_u16..4, 0_u64..40, 1_u32..4);
    prop::collection::vec(request, 1..300).prop_map(|requests| {
        let mut due = Time::ZERO;
        let io = |(pause, class, place, len): (u64, u16, u64, u32)| {
            due += Span::from_ms(pause);
            Io {
                due,
                start: place * 1_000,
                len: len * 1_000,
                stream: StreamId(0),
                class: ClassId(class),
                op: Op::Read,
                prio: Prio(0),
                flags: Flags::NONE,
            }
        };
        let mut ios: Vec<_> = requests.into_iter().map(io).collect();
        ios.reverse();
        ios
    })
}

proptest! {
    /// Holds for any parameters. The policy knows as many of the four classes from the beginning as
    /// there are weights.
    #[test]
    fn every_decision_keeps_the_account(
        params in any_params(),
        weights in prop::collection::vec(1_u32..1_000, 0..5),
        (servers, disks) in (1_usize..12, 1_u32..4),
        ios in any_load(),
    ) {
        let number = |n| NonZeroU32::new(n).expect("above zero");
        let class = |weight: &u32| ClassInfo { weight: number(*weight), ..ClassInfo::new("class") };
        let classes: Vec<_> = weights.iter().map(class).collect();
        let served = Served { classes: &classes, disks: number(disks) };
        let time = Rc::new(Cell::new(0));
        let policy = Checked(Fairio::new(&params, &served), Rc::clone(&time));
        let expected: u64 = ios.iter().map(|io| u64::from(io.len) * 1_001).sum();
        let mut stack: Queued<Box<dyn Policy>, Servers> =
            Queued::new(Box::new(policy), Servers { servers, busy: Vec::new() });
        let clock = &mut Virtual::default();
        run(&mut List(ios), &mut stack, clock, &mut (), Limits::default()).unwrap();
        prop_assert_eq!(time.get(), expected, "all has completed");
    }
}

/// The policy, and the number of its ended cycles.
struct Ended(Fairio, Rc<Cell<u64>>);
impl Policy for Ended {
    fn enqueue(&mut self, now: Time, req: &Request) {
        self.0.enqueue(now, req);
    }
    fn dispatch(&mut self, now: Time, out: &mut Out<'_>) -> Option<Go> {
        self.0.dispatch(now, out)
    }
    fn complete(&mut self, now: Time, req: &Request, part: &Part) {
        self.0.complete(now, req, part);
        self.1.set(self.0.cycle.ended);
    }
    fn wakeup(&self) -> Time {
        self.0.wakeup()
    }
}

/// Checks that an hour without requests is not counted cycle by cycle.
#[test]
fn an_hour_of_idleness_is_one_cycle() {
    let params = ENTRY.defaults().with("cycle", Value::Duration(Span::from_ms(1)));
    let io = |secs, class| Io {
        due: Time::ZERO + Span::from_secs(secs),
        start: 0,
        len: 1_000,
        stream: StreamId(0),
        class: ClassId(class),
        op: Op::Read,
        prio: Prio(0),
        flags: Flags::NONE,
    };
    let cycles = Rc::new(Cell::new(0));
    let classes = [ClassInfo::new("a"), ClassInfo::new("b")];
    let served = Served { classes: &classes, ..Served::ONE_DISK };
    let policy = Ended(Fairio::new(&params, &served), Rc::clone(&cycles));
    let mut stack = Queued::new(policy, Servers { servers: 1, busy: Vec::new() });
    let clock = &mut Virtual::default();
    let ios = Vec::from([io(7_200, 1), io(3_600, 0), io(0, 1), io(0, 0)]);
    run(&mut List(ios), &mut stack, clock, &mut (), Limits::default()).unwrap();
    assert!(cycles.get() < 10, "{} cycles", cycles.get());
}
