//! The later form of `cfq`: time slices by I/O priority, with idling.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use penstock_core::{
    ClassId, Counter, Go, IoClass, IoPrio, Out, Part, Policy, Request, Served, Span, Time,
};

use crate::idling::Idling;
use crate::one_way::{FIFO_EXPIRE_ASYNC, FIFO_EXPIRE_SYNC, OneWay};
use crate::params::Params;
use crate::think_time::ThinkTime;

/// Number of lanes of requests that no caller waits for: one for each level of two classes, one for
/// idle.
const ASYNC_LANES: u32 = 2 * IoPrio::LEVELS as u32 + 1;

/// The queues and the running turn.
#[derive(Debug)]
pub(super) struct Slices {
    slice_sync: Span,
    slice_async: Span,
    slice_async_rq: u32,
    slice_idle: Span,
    /// `fifo_expire_async` and `fifo_expire_sync`.
    expire: [Span; 2],
    /// I/O priority of each class of work.
    prios: Vec<IoPrio>,
    lanes: OneWay,
    /// Queues by lane: first those that streams share, then one for each stream.
    queues: Vec<SliceQueue>,
    /// Waiting lanes of each class of I/O priority, in the order of their turns.
    lines: [VecDeque<u32>; 3],
    turn: Option<SliceTurn>,
    idling: Idling,
    counts: TurnCounts,
}

#[derive(Debug, Default)]
struct TurnCounts {
    turns: u64,
    used_up: u64,
    interrupted: u64,
    async_turns: u64,
    /// Sum of the lengths of the turns, including the time in which the disk was kept idle.
    charged: Span,
}

/// A stream's queue, or one that streams share.
#[derive(Clone, Debug, Default)]
struct SliceQueue {
    prio: IoPrio,
    in_flight: u32,
    think: ThinkTime,
    /// Time by which its last turn exceeded its slice.
    debt: Span,
    /// Time left of an interrupted turn.
    left: Option<Span>,
}

/// The running turn.
#[derive(Clone, Copy, Debug)]
struct SliceTurn {
    lane: u32,
    began: Time,
    length: Span,
    sent: u32,
}

impl SliceTurn {
    fn ends(&self) -> Time {
        self.began + self.length
    }

    fn is_async(&self) -> bool {
        self.lane < ASYNC_LANES
    }
}

/// Returns the place of a class of I/O priority in the order of service; 0 goes first.
fn rank(prio: IoPrio) -> usize {
    match prio.class() {
        IoClass::RealTime => 0,
        IoClass::BestEffort => 1,
        IoClass::Idle => 2,
    }
}

/// Returns the lane of the requests of priority `prio` that no caller waits for.
fn shared_lane(prio: IoPrio) -> u32 {
    match prio.class() {
        IoClass::Idle => ASYNC_LANES - 1,
        _ => rank(prio) as u32 * u32::from(IoPrio::LEVELS) + u32::from(prio.level()),
    }
}

impl Slices {
    pub(super) fn new(params: &Params, served: &Served<'_>) -> Self {
        Self {
            slice_sync: params.duration("slice_sync"),
            slice_async: params.duration("slice_async"),
            slice_async_rq: params.count("slice_async_rq"),
            slice_idle: params.duration("slice_idle"),
            expire: [FIFO_EXPIRE_ASYNC, FIFO_EXPIRE_SYNC].map(|param| params.duration(param.name)),
            prios: served.classes.iter().map(|class| class.ioprio).collect(),
            lanes: OneWay::new(params),
            queues: Vec::new(),
            lines: [VecDeque::new(), VecDeque::new(), VecDeque::new()],
            turn: None,
            idling: Idling::default(),
            counts: TurnCounts::default(),
        }
    }

    fn prio(&self, class: ClassId) -> IoPrio {
        self.prios.get(class.index()).copied().unwrap_or_default()
    }

    fn lane(&self, req: &Request) -> u32 {
        if req.is_sync() { ASYNC_LANES + req.stream.0 } else { shared_lane(self.prio(req.class)) }
    }

    fn queue(&mut self, lane: u32) -> &mut SliceQueue {
        if lane as usize >= self.queues.len() {
            self.queues.resize(lane as usize + 1, SliceQueue::default());
        }
        &mut self.queues[lane as usize]
    }

    /// The slice of `lane`: a fifth of the base more for each level above 4.
    fn slice(&self, lane: u32) -> Span {
        let level = u64::from(self.queues[lane as usize].prio.level());
        let base = if lane < ASYNC_LANES { self.slice_async } else { self.slice_sync };
        base.share(9 - level, 5)
    }

    /// The highest class of I/O priority in which a lane waits.
    fn first_line(&self) -> Option<usize> {
        self.lines.iter().position(|line| !line.is_empty())
    }

    /// Begins the turn of the next waiting lane. A turn sends at least one command, whatever the
    /// debt of its stream.
    fn begin(&mut self, now: Time) -> Option<SliceTurn> {
        let lane = self.lines[self.first_line()?].pop_front()?;
        let slice = self.slice(lane);
        let queue = &mut self.queues[lane as usize];
        let length = queue.left.take().unwrap_or(slice - core::mem::take(&mut queue.debt));
        self.counts.turns += 1;
        self.counts.async_turns += u64::from(lane < ASYNC_LANES);
        Some(SliceTurn { lane, began: now, length, sent: 0 })
    }

    /// Ends `turn`. The time by which it exceeded its slice becomes the debt of its stream.
    fn end(&mut self, now: Time, turn: SliceTurn, interrupted: bool) {
        let at = self.idling.until().map_or(now, |until| until.min(now));
        self.idling.end(now);
        let (used, slice) = (at.since(turn.began), self.slice(turn.lane));
        let queue = &mut self.queues[turn.lane as usize];
        queue.debt = (used - turn.length).min(slice);
        let line = &mut self.lines[rank(queue.prio)];
        match (self.lanes.is_empty(turn.lane), interrupted) {
            (true, _) => {}
            (false, true) => {
                queue.left = (used < turn.length).then(|| turn.length - used);
                line.push_front(turn.lane);
            }
            (false, false) => line.push_back(turn.lane),
        }
        self.counts.charged += used;
        self.counts.used_up += u64::from(used >= turn.length);
        self.counts.interrupted += u64::from(interrupted);
        self.turn = None;
    }

    /// Whether `turn` is over. If its queue is empty, begins to wait for its next request if that
    /// pays.
    fn is_over(&mut self, now: Time, turn: SliceTurn) -> bool {
        let queue = &self.queues[turn.lane as usize];
        let levels = u32::from(IoPrio::LEVELS - queue.prio.level());
        let all_sent = turn.is_async() && turn.sent >= self.slice_async_rq.saturating_mul(levels);
        if now >= turn.ends() || all_sent {
            return true;
        }
        if !self.lanes.is_empty(turn.lane) {
            return false;
        }
        if let Some(until) = self.idling.until() {
            return now >= until;
        }
        let length = self.slice_idle.min(turn.ends().since(now));
        let waits = !turn.is_async() && queue.prio.class() != IoClass::Idle;
        if !waits || length == Span::ZERO {
            return true;
        }
        if !queue.think.within(length) {
            self.idling.decline();
            return true;
        }
        // Waiting begins when its commands in flight have completed.
        if queue.in_flight == 0 {
            self.idling.begin(now, length, self.first_line().is_some());
        }
        false
    }
}

impl Policy for Slices {
    fn enqueue(&mut self, now: Time, req: &Request) {
        let (lane, prio, idle) = (self.lane(req), self.prio(req.class), self.slice_idle);
        self.queue(lane).think.arrives(now, idle + idle);
        if !self.lanes.add(now, lane, req) {
            return;
        }
        if self.turn.is_some_and(|turn| turn.lane == lane) {
            self.idling.arrived(now);
            return;
        }
        self.queues[lane as usize].prio = prio;
        self.lines[rank(prio)].push_back(lane);
        self.idling.others_wait(now);
    }

    fn dispatch(&mut self, now: Time, out: &mut Out<'_>) -> Option<Go> {
        if let Some(turn) = self.turn {
            let current = rank(self.queues[turn.lane as usize].prio);
            let interrupted = self.first_line().is_some_and(|first| first < current);
            if interrupted || self.is_over(now, turn) {
                self.end(now, turn, interrupted);
            }
        }
        if self.turn.is_none() {
            self.turn = self.begin(now);
        }
        let turn = self.turn.as_mut()?;
        let founder = if turn.sent == 0 {
            self.lanes.first(now, turn.lane, self.expire[usize::from(!turn.is_async())])?
        } else {
            self.lanes.next(turn.lane)?
        };
        turn.sent += 1;
        let go = self.lanes.take(turn.lane, founder, out);
        self.queues[turn.lane as usize].in_flight += 1 + out.chain.len() as u32;
        Some(go)
    }

    fn complete(&mut self, now: Time, req: &Request, part: &Part) {
        if part.last {
            let lane = self.lane(req);
            let queue = self.queue(lane);
            queue.in_flight -= 1;
            queue.think.completes(now);
        }
    }

    fn wakeup(&self) -> Time {
        match self.first_line() {
            Some(_) => self.idling.until().unwrap_or(Time::NEVER),
            None => Time::NEVER,
        }
    }

    fn counters(&self, report: &mut dyn FnMut(Counter<'_>, u64)) {
        report(Counter::total("turns"), self.counts.turns);
        report(Counter::total("turns_used_up"), self.counts.used_up);
        report(Counter::total("turns_interrupted"), self.counts.interrupted);
        report(Counter::total("turns_async"), self.counts.async_turns);
        report(Counter::total("charged_ns"), self.counts.charged.ns());
        self.idling.counters(report);
        self.lanes.counters(report);
    }
}
