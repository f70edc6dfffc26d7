//! Short requests go before long ones; long ones are split, so that short ones wait for a piece.
//!
//! Use it if short requests of online work share a disk with long ones of batch work. Tasks need
//! not be named: the length of a request alone separates them.
//!
//! At every piece boundary the oldest short request goes, otherwise the next piece of a long one.
//! Without the guard this is the paper's rule, under which enough short requests starve the long
//! ones. With the guard a long piece goes after `guard.after` short requests, or when no long piece
//! has gone for `guard.stall`. O(log n) per request, to find its neighbours.
//!
//! Neighbours of one class are merged, short ones with short ones and long ones with long ones; the
//! first request of a chain decides whether the chain is short or long. A long chain goes in pieces
//! of whole requests if these are shorter than a piece. Discards are not split: their length does
//! not determine their time.
//!
//! Promise, with the guard: a piece of a long request waits for at most `guard.after` short
//! requests. A short request waits for the short ones before it and for a piece of a long one for
//! each.
//!
//! The length of a piece may be learned: each piece costs the device a command of its own. Where a
//! bound on the bytes in flight leaves room for a few, they are shorter, so that others hide the way
//! of each to the device and back.
//!
//! Source: Tanabe and others, "Disk I/O Control Mechanism for Online and Batch Processing" (2019),
//! section IV.A (two queues, division, priority) and V.B (lengths); the guard and the bound on
//! bytes in flight are ours.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;

use penstock_core::{Counter, Go, InFlight, Op, Out, Part, Policy, ReqId, Request, Span, Time};

use crate::cost::{Cost, DEEP};
use crate::entry::{Bound, Entry, Facts};
use crate::feedback::Feedback;
use crate::params::{Kind, Param, Params, Value};
use crate::queue::{Added, MAX_SECTORS, Merges, max_sectors};

/// The longest short request in bytes, unless parameters say otherwise: longer than a page of any
/// database, shorter than the read-ahead of programs.
const SHORT: u32 = 64 << 10;

/// The shortest piece of learned length, in bytes: commands cost the processor too.
const LEAST: u32 = 16 << 10;

/// Pieces that are sent to learn what a command costs while others hide its way to the device.
const TRIALS: u32 = 160;

/// Pieces under a bound from one trial to the next, until one has succeeded.
const TRIALS_EVERY: u32 = 4096;

/// Default target for the latency of short requests: near the time that a flash disk needs for a
/// short write alone, and far below the latency under a flood.
pub const TARGET: Span = Span::from_us(500);

const OURS: &str = "ours";
const PAPER: &str = "online-batch, section IV.A";

/// The entry of the policy in the registry.
pub const ENTRY: Entry = Entry {
    name: "size-priority",
    summary: "short requests first; long ones in pieces, behind a guard against starvation",
    params: &[
        Param {
            name: "split",
            kind: Kind::SizeOr(&["auto", "off"]),
            default: Value::Word("auto"),
            doc: "long requests go in pieces of this length; off: unsplit; auto: learned from \
                  completions, as short as possible, at least 16KiB, and such that a long request \
                  costs the device at most a ninth more",
            source: "ours; the paper takes 10,000 bytes (section V.B)",
        },
        Param {
            name: "threshold",
            kind: Kind::SizeOr(&["auto", "split"]),
            default: Value::Word("auto"),
            doc: "a request of at most this length is short; split: the length of a piece; auto: the \
                  length of a piece, but at most 64KiB",
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
            _ if !matches!(InFlightBound::new(params, 1), InFlightBound::Unlimited) => None,
            _ if !params.switch("priority") => Some(Bound::FIFO),
            guard => guard.map(|after| Bound { after: Span::ZERO, overtakes: after }),
        }
    },
    facts: Facts { merges: max_sectors, short: |params| Some(threshold(params)), ..Facts::NONE },
};

/// Returns the length of the longest short request in bytes under these parameters of the policy.
pub fn threshold(params: &Params) -> u32 {
    let split = params.len("split").unwrap_or(SHORT);
    match params.len("threshold") {
        Some(threshold) => threshold,
        None if params.is("threshold", "split") => split,
        None => split.min(SHORT),
    }
}

/// Two queues: short requests, and the unsent parts of long ones.
#[derive(Debug)]
pub struct SizePriority {
    split: Split,
    /// Pieces under a bound since the last trial began; see [`SizePriority::is_trial`].
    since_trial: u32,
    threshold: u32,
    priority: bool,
    order: Order,
    guard: Option<Guard>,
    bound: InFlightBound,
    merges: Merges,
    /// Founders of the chains of short requests.
    short: VecDeque<u32>,
    /// Long requests; all requests if there is no priority.
    long: VecDeque<Long>,
    in_flight: InFlight,
    /// For merged commands, by slot: their bytes at the first request, [`MERGED_BEHIND`] at others.
    merged: Vec<u32>,
}

/// The value in `merged` for a request that goes in the command of another.
const MERGED_BEHIND: u32 = u32::MAX;

/// The length of a piece.
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

    /// The device time of a command of `len` bytes; zero while it is not known.
    fn time(&self, len: u32) -> Span {
        match self {
            Self::Off | Self::Fixed(_) => Span::ZERO,
            Self::Learned(cost) => cost.time(len),
        }
    }
}

/// Rounds `bytes` down to whole blocks, whatever the device's blocks are; at least [`LEAST`].
fn blocks(bytes: u64) -> u32 {
    let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
    (bytes / (1 << 12) * (1 << 12)).max(LEAST)
}

/// An entry of the queue of long requests.
#[derive(Debug)]
struct Long {
    content: Content,
    /// Whether it goes in pieces, with a bound on its bytes in flight.
    in_pieces: bool,
    /// Length of the whole request or chain, from which the length of a piece follows.
    len: u32,
    /// Bytes not sent yet.
    left: u32,
}

#[derive(Clone, Copy, Debug)]
enum Content {
    /// A chain that may still grow, by its founder.
    Chain(u32),
    /// The rest of a closed chain, by its first request.
    Members(u32),
    /// A request that does not merge, or the rest of a request.
    Alone(ReqId),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Order {
    Fifo,
    RoundRobin,
}

/// The bound on the bytes of long requests in flight.
#[derive(Debug)]
enum InFlightBound {
    Unlimited,
    Fixed(u64),
    Regulated(Box<Feedback>),
}

impl InFlightBound {
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
    /// Short requests sent since the last piece of a long request, while long ones waited.
    passed: u32,
    /// Time at which a piece of a long request last went, or the long requests began to wait.
    moved: Time,
}

/// The class of long requests in [`InFlight`].
const LONG: usize = 0;

impl SizePriority {
    /// Takes `split`, `threshold`, `priority`, `order`, `guard`, `long_in_flight` and
    /// `max_sectors`. In `long_in_flight`, `auto` stands for unlimited: the caller replaces it on a
    /// real device.
    pub fn new(params: &Params) -> Self {
        Self {
            split: Split::new(params),
            since_trial: 0,
            threshold: threshold(params),
            priority: params.switch("priority"),
            order: if params.is("order", "rr") { Order::RoundRobin } else { Order::Fifo },
            guard: params.group("guard").map(|guard| Guard {
                after: guard.count("after"),
                stall: guard.duration("stall"),
                passed: 0,
                moved: Time::ZERO,
            }),
            bound: InFlightBound::new(params, params.len("split").unwrap_or(SHORT)),
            merges: Merges::new(params),
            short: VecDeque::new(),
            long: VecDeque::new(),
            in_flight: InFlight::new(1),
            merged: Vec::new(),
        }
    }

    /// Whether a request goes in pieces, with a bound on its bytes in flight.
    fn is_long(&self, req: &Request) -> bool {
        req.len > self.threshold && req.op != Op::Discard
    }

    /// The length of the next piece of the first long request, if it may go now.
    fn piece(&self, now: Time) -> Option<u32> {
        let Long { content, in_pieces, mut len, mut left } = *self.long.front()?;
        if let Content::Chain(founder) = content {
            len = (self.merges.end(founder) - self.merges.start(founder)) as u32;
            left = len;
        }
        let piece = if in_pieces { self.piece_len(now, len).min(left) } else { left };
        let bytes = self.in_flight.bytes(LONG);
        let fits = bytes == 0 || bytes + u64::from(piece) <= self.bound.bound(now);
        (!in_pieces || fits).then_some(piece)
    }

    /// The length of a piece of a request of `len` bytes. Pieces of learned length fill a bound.
    /// They are shorter than learned if it has no room for as many as hide their way to the
    /// device, and longer rather than many: a short request waits for all bytes in flight, in
    /// however many commands they are.
    fn piece_len(&self, now: Time, len: u32) -> u32 {
        let bound = self.bound.bound(now);
        let cost = match &self.split {
            Split::Learned(cost) if bound < u64::MAX => cost,
            split => return split.piece(len),
        };
        let piece = cost.piece(blocks(bound).min(len), LEAST);
        let fewest = if self.is_trial(now) { DEEP } else { cost.commands(bound) };
        let most = (bound / u64::from(SHORT)).max(u64::from(DEEP));
        match (bound / u64::from(piece)).clamp(u64::from(fewest), most) {
            1 => piece,
            commands => blocks(bound / commands).min(len),
        }
    }

    /// Whether pieces go as short as it takes to have [`DEEP`] in flight within the bound. With one at a time,
    /// its way to the device and back would count as its cost, and would keep the pieces long.
    fn is_trial(&self, now: Time) -> bool {
        let is_learned = match &self.split {
            Split::Learned(cost) => cost.is_deep(),
            Split::Off | Split::Fixed(_) => true,
        };
        !is_learned && self.since_trial < TRIALS && self.bound.bound(now) < u64::MAX
    }

    fn send_long(&mut self, now: Time, piece: u32, out: &mut Out<'_>) -> Option<Go> {
        let is_trial = self.is_trial(now);
        let mut long = self.long.pop_front()?;
        if let Content::Chain(founder) = long.content {
            long.len = (self.merges.end(founder) - self.merges.start(founder)) as u32;
            long.left = long.len;
            long.content = Content::Members(self.merges.close(founder));
        }
        // The rest of the request after this piece, and the rest of the chain behind it.
        let (mut rest, mut behind) = (None, None);
        let (go, sent) = match long.content {
            Content::Chain(head) | Content::Members(head) => {
                let (id, len, next) = self.merges.member(head);
                if piece < len {
                    rest = Some((Content::Alone(id), len - piece));
                    behind = next.map(|next| (Content::Members(next), long.left - len));
                    (Go { id, len: piece }, piece)
                } else {
                    let (go, sent, next) = self.merges.run(head, piece, out);
                    behind = next.map(|next| (Content::Members(next), long.left - sent));
                    (go, sent)
                }
            }
            Content::Alone(id) => {
                rest = (piece < long.left).then_some((long.content, long.left - piece));
                (Go { id, len: piece }, piece)
            }
        };
        if long.in_pieces {
            if self.bound.bound(now) < u64::MAX {
                self.since_trial = (self.since_trial + 1) % TRIALS_EVERY;
            }
            // Each request of the command completes separately.
            let behind = out.chain.iter().map(|id| self.merges.member(id.slot()).1);
            let behind = behind.inspect(|&len| self.in_flight.sent(LONG, len)).sum::<u32>();
            self.in_flight.sent(LONG, sent - behind);
            // A request in one piece, or its remainder, says nothing about other pieces.
            if let (InFlightBound::Regulated(feedback), true) = (&mut self.bound, sent < long.left)
            {
                if is_trial {
                    feedback.try_piece(piece, self.split.time(piece));
                } else {
                    let piece = self.split.piece(long.len);
                    feedback.set_piece(piece, self.split.time(piece));
                }
            }
        }
        let left = [rest, behind].into_iter().flatten();
        let left = left.map(|(content, left)| Long { content, left, ..long });
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

    /// Records the bytes of a merged command.
    fn note(&mut self, head: ReqId, chain: &[ReqId]) {
        let Some(last) = chain.iter().chain([&head]).map(|id| id.index()).max() else { return };
        if last >= self.merged.len() {
            self.merged.resize(last + 1, 0);
        }
        let mut sum = self.merges.member(head.slot()).1;
        for id in chain {
            sum += self.merges.member(id.slot()).1;
            self.merged[id.index()] = MERGED_BEHIND;
        }
        self.merged[head.index()] = sum;
    }

    /// Whether the long requests have been passed over for long enough. At least one short request
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
        let long = req.len > self.threshold;
        if let InFlightBound::Regulated(feedback) = &mut self.bound
            && !long
        {
            feedback.arrived(now);
        }
        let Added::Founded(founder) = self.merges.add(req, long) else { return };
        if self.priority && !long {
            return self.short.push_back(founder);
        }
        if let Some(guard) = self.guard.as_mut().filter(|_| self.long.is_empty()) {
            (guard.passed, guard.moved) = (0, now);
        }
        let merges = self.merges.any();
        let content = if merges { Content::Chain(founder) } else { Content::Alone(req.id) };
        let in_pieces = self.is_long(req);
        self.long.push_back(Long { content, in_pieces, len: req.len, left: req.len });
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
                MERGED_BEHIND => {}
                bytes => cost.finished(now, bytes),
            }
        }
        if self.is_long(req) {
            self.in_flight.finished(LONG, part.len);
        } else if let InFlightBound::Regulated(feedback) = &mut self.bound
            && part.last
            && req.len <= self.threshold
        {
            feedback.finished(now, req.due, !self.long.is_empty());
        }
    }

    fn counters(&self, report: &mut dyn FnMut(Counter<'_>, u64)) {
        if let Split::Learned(cost) = &self.split
            && let Some((base, mib)) = cost.base_and_mib()
        {
            report(Counter::level("base_ns"), base.ns());
            report(Counter::level("mib_ns"), mib.ns());
        }
    }
}
