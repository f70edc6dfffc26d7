//! Short requests go before long ones; long ones are split, so that short ones wait for a piece.
//!
//! The control of online and batch work on one disk. No task is named: the length alone separates
//! them. At every piece boundary the oldest short request goes, otherwise the next piece of a long
//! one. Without the guard this is the paper's rule, under which enough short requests starve the
//! long ones. With it one long piece goes after `guard.after` short requests, or when the long ones
//! have not moved for `guard.stall`. O(log n) a request, to find its neighbours.
//!
//! Neighbours of one class are merged, short ones with short ones and long ones with long ones: a
//! chain is what its first request is. A long chain goes in pieces of whole requests where these
//! are shorter than a piece. Discards are not split: their length says nothing of their time.
//!
//! Promise, with the guard: a piece of a long request waits for at most `guard.after` short
//! requests. A short request waits for the short ones before it and a piece of a long one for each.
//!
//! How long a piece is may be learned: a piece costs the device a command of its own.
//!
//! Source: Tanabe and others, "Disk I/O Control Mechanism for Online and Batch Processing" (2019),
//! section IV.A (two queues, division, priority) and V.B (lengths); the guard and the bound on
//! bytes in flight are ours.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;

use penstock_core::{Counter, Go, InFlight, Op, Out, Part, Policy, ReqId, Request, Span, Time};

use crate::cost::Cost;
use crate::entry::{Bound, Entry, Facts};
use crate::feedback::Feedback;
use crate::params::{Kind, Param, Params, Value};
use crate::queue::{Added, MAX_SECTORS, Merges, max_sectors};

/// The longest request that is short by itself: longer than a page of any database, shorter than
/// what programs read ahead.
const SHORT: u32 = 64 << 10;

/// Pieces whose length is learned are no shorter: commands cost the processor too.
const LEAST: u32 = 16 << 10;

/// Near what a flash disk needs for a short write alone, and far below the latency under a flood.
pub const TARGET: Span = Span::from_us(500);

const OURS: &str = "ours";
const PAPER: &str = "online-batch, section IV.A";

/// Its entry in the registry.
pub const ENTRY: Entry = Entry {
    name: "size-priority",
    summary: "short requests first; long ones in pieces, behind a guard against starvation",
    params: &[
        Param {
            name: "split",
            kind: Kind::SizeOr(&["auto", "off"]),
            default: Value::Word("auto"),
            doc: "long requests go in pieces of this length; off: whole; auto: as short as they may \
                  be while a long request costs the device a ninth more at most, 16KiB at least, \
                  learned from completions",
            source: "ours; the paper takes 10,000 bytes (section V.B)",
        },
        Param {
            name: "threshold",
            kind: Kind::SizeOr(&["auto", "split"]),
            default: Value::Word("auto"),
            doc: "a request of at most this length is short; split: as long as a piece; auto: the \
                  same, but at most 64KiB",
            source: "online-batch, section IV.A; the bound on auto is ours: long pieces spare the \
                     disk, they do not make a long request short",
        },
        Param {
            name: "priority",
            kind: Kind::Switch,
            default: Value::Switch(true),
            doc: "short requests go first; false: one queue in order of arrival",
            source: PAPER,
        },
        Param {
            name: "order",
            kind: Kind::Choice(&["fifo", "rr"]),
            default: Value::Word("fifo"),
            doc: "fifo: one long request after another; rr: one piece of each in turn",
            source: "online-batch, section V.B",
        },
        Param {
            name: "guard",
            kind: Kind::Group(&[
                Param {
                    name: "after",
                    kind: Kind::Count(1),
                    default: Value::Count(16),
                    doc: "short requests that may go in a row while a long one waits",
                    source: OURS,
                },
                Param {
                    name: "stall",
                    kind: Kind::Duration,
                    default: Value::Duration(Span::from_ms(100)),
                    doc: "how long the long ones may stand still while short ones go",
                    source: OURS,
                },
            ]),
            default: Value::Group(Params::NONE),
            doc: "keeps long requests moving; off: the paper's rule",
            source: OURS,
        },
        Param {
            name: "long_in_flight",
            kind: Kind::SizeOrGroup(
                &["auto", "unlimited"],
                &[Param {
                    name: "target",
                    kind: Kind::Duration,
                    default: Value::Duration(TARGET),
                    doc: "the latency of short requests that the bound is regulated to",
                    source: OURS,
                }],
            ),
            default: Value::Word("auto"),
            doc: "bytes that long requests may have at the device, one piece at least; a table: as \
                  many as keep the latency of the short ones near its target; auto: that on a real \
                  device, unlimited on a model",
            source: OURS,
        },
        MAX_SECTORS,
    ],
    build: |params, _| Box::new(SizePriority::new(params)),
    bound: |params, _| {
        let guard = params.group("guard").map(|guard| guard.count("after"));
        match guard {
            _ if !matches!(Bytes::new(params, 1), Bytes::Unlimited) => None,
            _ if !params.switch("priority") => Some(Bound::FIFO),
            guard => guard.map(|after| Bound { after: Span::ZERO, overtakes: after }),
        }
    },
    facts: Facts { merges: max_sectors, short: |params| Some(threshold(params)), ..Facts::NONE },
};

/// The longest short request in bytes, under these parameters of the policy.
pub fn threshold(params: &Params) -> u32 {
    let split = params.len("split").unwrap_or(SHORT);
    match params.len("threshold") {
        Some(threshold) => threshold,
        None if params.is("threshold", "split") => split,
        None => split.min(SHORT),
    }
}

/// Two queues: short requests whole, long ones with what is left of them.
#[derive(Debug)]
pub struct SizePriority {
    split: Split,
    threshold: u32,
    priority: bool,
    order: Order,
    guard: Option<Guard>,
    bytes: Bytes,
    merges: Merges,
    /// Founders.
    short: VecDeque<u32>,
    /// Every request, if there is no priority.
    long: VecDeque<Long>,
    in_flight: InFlight,
    /// By slot, of merged commands: their bytes at the first request, [`TRAVELS`] at the others.
    merged: Vec<u32>,
}

/// Of a request that goes in the command of another.
const TRAVELS: u32 = u32::MAX;

/// How long a piece is.
#[derive(Debug)]
enum Split {
    Off,
    Fixed(u32),
    Learned(Box<Cost>),
}

impl Split {
    fn new(params: &Params) -> Self {
        match params.len("split") {
            Some(len) => Self::Fixed(len),
            None if params.is("split", "auto") => Self::Learned(Box::default()),
            None => Self::Off,
        }
    }

    /// The length of a piece of a request of `len` bytes.
    fn piece(&self, len: u32) -> u32 {
        match self {
            Self::Off => len,
            Self::Fixed(split) => *split,
            Self::Learned(cost) => cost.piece(len, LEAST),
        }
    }
}

/// What waits in the queue of long requests.
#[derive(Debug)]
struct Long {
    what: What,
    /// It goes in pieces, and its bytes in flight are bounded.
    in_pieces: bool,
    /// Of all of it: how long a piece is follows from this.
    len: u32,
    left: u32,
}

#[derive(Clone, Copy, Debug)]
enum What {
    /// A chain that may still grow, by its founder.
    Chain(u32),
    /// What is left of a chain, by its first request.
    Members(u32),
    /// A request that does not merge, or what is left of one.
    Alone(ReqId),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Order {
    Fifo,
    RoundRobin,
}

/// What long requests may have in flight.
#[derive(Debug)]
enum Bytes {
    Unlimited,
    Fixed(u64),
    Regulated(Box<Feedback>),
}

impl Bytes {
    fn new(params: &Params, piece: u32) -> Self {
        match params.get("long_in_flight") {
            Value::Size(bytes) => Self::Fixed(*bytes),
            Value::Group(members) => {
                Self::Regulated(Box::new(Feedback::new(members.duration("target"), piece)))
            }
            _ => Self::Unlimited,
        }
    }

    fn bound(&self, now: Time) -> u64 {
        match self {
            Self::Unlimited => u64::MAX,
            Self::Fixed(bytes) => *bytes,
            Self::Regulated(feedback) => feedback.bound(now),
        }
    }
}

#[derive(Debug)]
struct Guard {
    after: u32,
    stall: Span,
    /// Short requests sent since a long one waits and the last piece of a long one went.
    passed: u32,
    /// When a piece of a long request last went, or when the long requests began to wait.
    moved: Time,
}

/// Long requests' account of what is in flight.
const LONG: usize = 0;

impl SizePriority {
    /// Takes `split`, `threshold`, `priority`, `order`, `guard`, `long_in_flight` and
    /// `max_sectors`. In `long_in_flight`, `auto` stands for unlimited: the caller replaces it on a
    /// real device.
    pub fn new(params: &Params) -> Self {
        Self {
            split: Split::new(params),
            threshold: threshold(params),
            priority: params.switch("priority"),
            order: if params.is("order", "rr") { Order::RoundRobin } else { Order::Fifo },
            guard: params.group("guard").map(|guard| Guard {
                after: guard.count("after"),
                stall: guard.duration("stall"),
                passed: 0,
                moved: Time::ZERO,
            }),
            bytes: Bytes::new(params, params.len("split").unwrap_or(SHORT)),
            merges: Merges::new(params),
            short: VecDeque::new(),
            long: VecDeque::new(),
            in_flight: InFlight::new(1),
            merged: Vec::new(),
        }
    }

    /// Whether a request goes in pieces, and its bytes in flight are bounded.
    fn is_long(&self, req: &Request) -> bool {
        req.len > self.threshold && req.op != Op::Discard
    }

    /// The next piece of the first long request, if it may go now.
    fn piece(&self, now: Time) -> Option<u32> {
        let Long { what, in_pieces, mut len, mut left } = *self.long.front()?;
        if let What::Chain(founder) = what {
            len = (self.merges.end(founder) - self.merges.start(founder)) as u32;
            left = len;
        }
        let piece = if in_pieces { self.split.piece(len).min(left) } else { left };
        let bytes = self.in_flight.bytes(LONG);
        let fits = bytes == 0 || bytes + u64::from(piece) <= self.bytes.bound(now);
        (!in_pieces || fits).then_some(piece)
    }

    fn send_long(&mut self, now: Time, piece: u32, out: &mut Out<'_>) -> Option<Go> {
        let mut long = self.long.pop_front()?;
        if let What::Chain(founder) = long.what {
            long.len = (self.merges.end(founder) - self.merges.start(founder)) as u32;
            long.left = long.len;
            long.what = What::Members(self.merges.close(founder));
        }
        // What a piece leaves of a request, and behind it of the chain.
        let (mut rest, mut behind) = (None, None);
        let (go, sent) = match long.what {
            What::Chain(head) | What::Members(head) => {
                let (id, len, next) = self.merges.member(head);
                if piece < len {
                    rest = Some((What::Alone(id), len - piece));
                    behind = next.map(|next| (What::Members(next), long.left - len));
                    (Go { id, len: piece }, piece)
                } else {
                    let (go, sent, next) = self.merges.run(head, piece, out);
                    behind = next.map(|next| (What::Members(next), long.left - sent));
                    (go, sent)
                }
            }
            What::Alone(id) => {
                rest = (piece < long.left).then_some((long.what, long.left - piece));
                (Go { id, len: piece }, piece)
            }
        };
        if long.in_pieces {
            // Each request of the command completes by itself.
            let behind = out.chain.iter().map(|id| self.merges.member(id.slot()).1);
            let behind = behind.inspect(|&len| self.in_flight.sent(LONG, len)).sum::<u32>();
            self.in_flight.sent(LONG, sent - behind);
            // What is left of a request says nothing of the others.
            if let (Bytes::Regulated(feedback), true) = (&mut self.bytes, sent < long.left) {
                feedback.pieces(sent);
            }
        }
        let left = [rest, behind].into_iter().flatten();
        let left = left.map(|(what, left)| Long { what, left, ..long });
        match self.order {
            Order::Fifo => left.rev().for_each(|long| self.long.push_front(long)),
            Order::RoundRobin => self.long.extend(left),
        }
        if let Some(guard) = &mut self.guard {
            (guard.passed, guard.moved) = (0, now);
        }
        Some(go)
    }

    fn send_short(&mut self, out: &mut Out<'_>) -> Option<Go> {
        let founder = self.short.pop_front()?;
        if let Some(guard) = self.guard.as_mut().filter(|_| !self.long.is_empty()) {
            guard.passed += 1;
        }
        Some(self.merges.take(founder, out))
    }

    /// Remembers what a merged command carries.
    fn note(&mut self, head: ReqId, chain: &[ReqId]) {
        let Some(last) = chain.iter().chain([&head]).map(|id| id.index()).max() else { return };
        if last >= self.merged.len() {
            self.merged.resize(last + 1, 0);
        }
        let mut sum = self.merges.member(head.slot()).1;
        for id in chain {
            sum += self.merges.member(id.slot()).1;
            self.merged[id.index()] = TRAVELS;
        }
        self.merged[head.index()] = sum;
    }

    /// Whether the long requests have been passed over for long enough. In any case a short one
    /// must have gone since their last piece, or a device slower than `stall` would serve only long
    /// ones.
    fn guard_fires(&self, now: Time) -> bool {
        let stalled = |g: &Guard| g.passed > 0 && now.since(g.moved) >= g.stall;
        let fires = |g: &Guard| g.passed >= g.after || stalled(g);
        self.guard.as_ref().is_some_and(fires)
    }
}

impl Policy for SizePriority {
    fn enqueue(&mut self, now: Time, req: &Request) {
        let heavy = req.len > self.threshold;
        if let Bytes::Regulated(feedback) = &mut self.bytes
            && !heavy
        {
            feedback.arrived(now);
        }
        let Added::Founded(founder) = self.merges.add(req, heavy) else { return };
        if self.priority && !heavy {
            return self.short.push_back(founder);
        }
        if let Some(guard) = self.guard.as_mut().filter(|_| self.long.is_empty()) {
            (guard.passed, guard.moved) = (0, now);
        }
        let merges = self.merges.any();
        let what = if merges { What::Chain(founder) } else { What::Alone(req.id) };
        let in_pieces = self.is_long(req);
        self.long.push_back(Long { what, in_pieces, len: req.len, left: req.len });
    }

    fn dispatch(&mut self, now: Time, out: &mut Out<'_>) -> Option<Go> {
        let go = match self.piece(now) {
            Some(piece) if self.short.is_empty() || self.guard_fires(now) => {
                self.send_long(now, piece, out)
            }
            _ => self.send_short(out),
        }?;
        if let Split::Learned(cost) = &mut self.split {
            cost.sent(now);
            if !out.chain.is_empty() {
                self.note(go.id, out.chain);
            }
        }
        Some(go)
    }

    fn complete(&mut self, now: Time, req: &Request, part: &Part) {
        if let Split::Learned(cost) = &mut self.split {
            let merged = self.merged.get_mut(req.id.index()).map_or(0, core::mem::take);
            let moved = if req.op == Op::Discard { 0 } else { part.len };
            match merged {
                0 => cost.finished(now, moved),
                TRAVELS => {}
                all => cost.finished(now, all),
            }
        }
        if self.is_long(req) {
            self.in_flight.finished(LONG, part.len);
        } else if let Bytes::Regulated(feedback) = &mut self.bytes
            && part.last
            && req.len <= self.threshold
        {
            feedback.finished(now, req.due, !self.long.is_empty());
        }
    }

    fn counters(&self, report: &mut dyn FnMut(Counter<'_>, u64)) {
        if let Split::Learned(cost) = &self.split
            && let Some((base, mib)) = cost.known()
        {
            report(Counter::level("base_ns"), base.ns());
            report(Counter::level("mib_ns"), mib.ns());
        }
    }
}
