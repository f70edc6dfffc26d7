//! A limit on the requests and the bytes a second of each class, with bursts.
//!
//! Rule: each class has two buckets of tokens, one token for a request and one for a byte. A bucket
//! fills at the rate of the class up to its burst. A request takes one token of the first and as
//! many as its bytes of the second; a discard, which carries no data, takes none there. The first
//! request of a class goes once both buckets have enough for it, and of several classes the one
//! whose request arrived first. A request longer than the burst waits until the bucket is full, and
//! leaves a debt. Under `mode = "borrow"` a class without tokens may also use the disk, whenever no
//! request within its limits waits; such a request takes no tokens. Requests are not merged, sorted
//! or split. O(classes) per command.
//!
//! Use it as the baseline that most systems offer: a fixed limit on the background work, chosen for
//! the worst hour, which holds in all others too. With `hard` limits the disk may be idle while
//! requests wait; `borrow` avoids that, but the borrowed requests are in the disk when others
//! arrive. By default no class has a limit, and requests go in order of arrival.
//!
//! Promise: in any period, however short, a class under hard limits sends at most the period times
//! its rate plus its burst, or plus its longest request if that is longer. The requests of a class
//! keep their order, and none starves: a bucket is full again once its rate has paid burst and debt.
//! There is no bound in commands, since other classes may send any number meanwhile. Under `borrow`
//! the disk always has a command while a request waits.
//!
//! What it leaves out: separate limits for reads and writes; groups of classes with a common limit;
//! a second, higher rate for the length of a burst.
//!
//! Source: J. S. Turner, "New directions in communications", IEEE Communications Magazine, 1986,
//! for the bucket; `io.max` in the documentation of Linux's control groups v2 for hard limits on
//! requests and bytes; the throttling of disks in QEMU's documentation for bursts, and for a default
//! burst of 100 ms at the rate. Debts as a whole, and `borrow`, are ours.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use penstock_core::{Counter, Go, Op, Out, Part, Policy, ReqId, Request, Served, Span, Time};

use crate::entry::{Entry, Facts};
use crate::params::{Kind, Param, Params, Value};
use crate::per_class::PerClass;

/// The entry of the policy in the registry.
pub const ENTRY: Entry = Entry {
    name: "token-bucket",
    summary: "a limit on the requests and bytes a second of each class, with bursts",
    params: &[
        Param {
            name: "mode",
            kind: Kind::Choice(&["hard", "borrow"]),
            default: Value::Word("hard"),
            doc: "hard: a class never exceeds its limits; borrow: it may while no class within its \
                  limits has a request",
            source: "hard as io.max",
        },
        Param {
            name: "iops",
            kind: Kind::PerClass(&Kind::CountOr(1, &["off"])),
            default: Value::Word("off"),
            doc: "requests a second of a class",
            source: "no limit, as io.max",
        },
        Param {
            name: "iops_burst",
            kind: Kind::PerClass(&Kind::CountOr(1, &["auto"])),
            default: Value::Word("auto"),
            doc: "requests that a class may send at once; auto: those of 100 ms at its rate",
            source: "QEMU's throttling",
        },
        Param {
            name: "bps",
            kind: Kind::PerClass(&Kind::SizeOr(&["off"])),
            default: Value::Word("off"),
            doc: "bytes a second of a class",
            source: "no limit, as io.max",
        },
        Param {
            name: "bps_burst",
            kind: Kind::PerClass(&Kind::SizeOr(&["auto"])),
            default: Value::Word("auto"),
            doc: "bytes that a class may send at once; auto: those of 100 ms at its rate",
            source: "QEMU's throttling",
        },
    ],
    build: |params, served| Box::new(TokenBucket::new(params, served)),
    bound: |_, _| None,
    facts: Facts::NONE,
};

/// Parts of a token: what a rate of one a second adds in a nanosecond.
const PARTS: u128 = 1_000_000_000;

/// The classes with their limits.
#[derive(Debug)]
pub struct TokenBucket {
    mode: Mode,
    /// Rate and burst of each class, in requests and in bytes.
    limits: [[PerClass; 2]; 2],
    classes: Vec<LimitedClass>,
    arrivals: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Mode {
    Hard,
    Borrow,
}

/// The requests of a class and its tokens.
#[derive(Debug)]
struct LimitedClass {
    name: String,
    waiting: VecDeque<Charged>,
    buckets: [Bucket; 2],
    /// The time from which its first request is within the limits.
    ready: Time,
    /// Requests that waited for tokens, or were sent without.
    beyond: u64,
}

#[derive(Clone, Copy, Debug)]
struct Charged {
    arrival: u64,
    id: ReqId,
    /// Tokens that it takes of each bucket.
    tokens: [u64; 2],
}

/// Tokens that come at a rate. All numbers of tokens are in parts.
#[derive(Debug)]
struct Bucket {
    /// Tokens a second, which are parts a nanosecond; 0 for no limit.
    rate: u64,
    burst: u128,
    /// Tokens that were missing at the time below; more than the burst is a debt.
    missing: u128,
    at: Time,
}

impl TokenBucket {
    /// Takes all parameters.
    pub fn new(params: &Params, served: &Served<'_>) -> Self {
        let mode = if params.is("mode", "borrow") { Mode::Borrow } else { Mode::Hard };
        let limit = |names: [&str; 2]| names.map(|name| PerClass::new(params, name));
        let limits = [limit(["iops", "iops_burst"]), limit(["bps", "bps_burst"])];
        let mut policy = Self { mode, limits, classes: Vec::new(), arrivals: 0 };
        served.classes.iter().for_each(|class| policy.add_class(class.name.clone()));
        policy
    }

    fn add_class(&mut self, name: String) {
        let number = self.classes.len();
        let bucket = |[rate, burst]: &[PerClass; 2]| Bucket::new(rate.of(number), burst.of(number));
        let buckets = self.limits.each_ref().map(bucket);
        let (waiting, ready) = (VecDeque::new(), Time::ZERO);
        self.classes.push(LimitedClass { name, waiting, buckets, ready, beyond: 0 });
    }
}

impl LimitedClass {
    /// Computes when its first request, if it has one, is within the limits.
    fn line_up(&mut self, now: Time, mode: Mode) {
        let Some(first) = self.waiting.front() else { return };
        let [requests, bytes] = &self.buckets;
        self.ready = requests.ready(first.tokens[0]).max(bytes.ready(first.tokens[1]));
        self.beyond += u64::from(mode == Mode::Hard && self.ready > now);
    }
}

impl Bucket {
    /// Creates a full bucket; without a burst it holds the tokens of 100 ms.
    fn new(rate: u64, burst: u64) -> Self {
        let burst = if burst == 0 { (rate / 10).max(1) } else { burst };
        Self { rate, burst: u128::from(burst) * PARTS, missing: 0, at: Time::ZERO }
    }

    /// The time from which there are `tokens`, or as many as the bucket holds.
    fn ready(&self, tokens: u64) -> Time {
        let may_miss = self.burst.saturating_sub(u128::from(tokens) * PARTS);
        match self.missing.saturating_sub(may_miss) {
            awaited if awaited > 0 && self.rate > 0 => {
                let ns = awaited.div_ceil(u128::from(self.rate));
                self.at + Span::from_ns(u64::try_from(ns).unwrap_or(u64::MAX))
            }
            _ => Time::ZERO,
        }
    }

    fn take(&mut self, now: Time, tokens: u64) {
        let came = u128::from(now.since(self.at).ns()) * u128::from(self.rate);
        self.missing = self.missing.saturating_sub(came) + u128::from(tokens) * PARTS;
        self.at = now;
    }
}

impl Policy for TokenBucket {
    fn enqueue(&mut self, now: Time, req: &Request) {
        while self.classes.len() <= req.class.index() {
            self.add_class(format!("{}", self.classes.len()));
        }
        let bytes = if req.op == Op::Discard { 0 } else { req.len.into() };
        let waiting = Charged { arrival: self.arrivals, id: req.id, tokens: [1, bytes] };
        self.arrivals += 1;
        let class = &mut self.classes[req.class.index()];
        class.waiting.push_back(waiting);
        if class.waiting.len() == 1 {
            class.line_up(now, self.mode);
        }
    }

    fn dispatch(&mut self, now: Time, _: &mut Out<'_>) -> Option<Go> {
        let mode = self.mode;
        let first = |class: &LimitedClass| {
            let beyond = class.ready > now;
            let arrival = class.waiting.front()?.arrival;
            (mode == Mode::Borrow || !beyond).then_some((beyond, arrival))
        };
        let next = self.classes.iter_mut().filter_map(|class| Some((first(class)?, class)));
        let ((beyond, _), class) = next.min_by_key(|(first, _)| *first)?;
        let sent = class.waiting.pop_front()?;
        if beyond {
            class.beyond += 1;
        } else {
            for (bucket, tokens) in class.buckets.iter_mut().zip(sent.tokens) {
                bucket.take(now, tokens);
            }
        }
        class.line_up(now, mode);
        Some(Go::all(sent.id))
    }

    fn complete(&mut self, _: Time, _: &Request, _: &Part) {}

    fn wakeup(&self) -> Time {
        let waiting = self.classes.iter().filter(|class| !class.waiting.is_empty());
        waiting.map(|class| class.ready).min().unwrap_or(Time::NEVER)
    }

    fn counters(&self, report: &mut dyn FnMut(Counter<'_>, u64)) {
        let name = if self.mode == Mode::Hard { "held" } else { "borrowed" };
        for class in &self.classes {
            report(Counter::total(name).for_class(&class.name), class.beyond);
        }
    }
}
