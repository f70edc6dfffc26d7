//! Issues the requests of a trace again: at their own times, faster or slower, a think time after
//! the completions that they waited for, or as fast as the device takes them.
//!
//! [`Places`] say where each request goes. Each process number is one stream; the caller names the
//! class of each request. Each run reads the requests of the trace one after another, in little
//! memory whatever its length. They are read once more before, unless the trace itself says that all
//! have a place, and of which class and stream they are.
//!
//! Invariant: every request of the trace is issued once; they keep the order of the trace, in a closed replay those of one thread of control do.

use std::collections::VecDeque;
use std::fmt;
use std::io;
use std::sync::Arc;

use penstock_core::{ClassId, Done, Flags, Io, Op, Prio, Request, Source, Span, StreamId, Time};

use super::closed::{ClosedLoops, TimedIo, latency_of_others};
use super::error::ReplayError;
use super::places::Places;
use super::record::Record;
use super::recording::Trace;
use super::spool::{Cursor, Packed, PackedReader, PackedWriter, Spool};
use super::streams::Streams;

/// When requests are issued.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Timing {
    /// As recorded: at its own time. In a trace recorded one request at a time: as long after the
    /// last completion as it was then.
    Original,
    /// At a multiple of the recorded speed: at 2 a trace lasts half as long, at 0.5 twice.
    Scaled(f64),
    /// As the programs would have asked: each process, or each class where no process was recorded,
    /// waits for the answers that it had waited for and thinks as long as it had thought.
    Closed {
        /// How long a request took in the trace that has no completion there. If not given, as long
        /// as the median of the others; then at least half of them must have one.
        latency: Option<Span>,
    },
    /// As fast as possible: the next request goes as soon as fewer than `depth` are outstanding.
    /// Each is due when its place became free.
    Afap {
        /// Requests outstanding, at least one.
        depth: u32,
    },
}

impl Timing {
    /// When a request that was recorded at `at` is due. Floating point, but one quotient, so that
    /// every machine computes the same.
    fn due(self, at: Time) -> Time {
        match self {
            Self::Original | Self::Closed { .. } => at,
            Self::Scaled(speed) => {
                let ns = (at.ns() as f64 / speed).round() as u64;
                Time::from_ns(ns.min(Time::NEVER.ns() - 1))
            }
            Self::Afap { .. } => Time::ZERO,
        }
    }
}

/// The class and priority of each request.
pub enum ClassOf {
    /// All are of one.
    One(ClassId, Prio),
    /// Each has its own.
    Each(Box<Classify>),
}

/// Says which class and priority a request has.
type Classify = dyn Fn(&Record) -> (ClassId, Prio) + Send + Sync;

impl ClassOf {
    /// Each request is of the class and priority that `class` returns for it.
    pub fn each(class: impl Fn(&Record) -> (ClassId, Prio) + Send + Sync + 'static) -> Self {
        Self::Each(Box::new(class))
    }

    fn of(&self, record: &Record) -> (ClassId, Prio) {
        match self {
            &Self::One(class, prio) => (class, prio),
            Self::Each(class) => class(record),
        }
    }
}

impl fmt::Debug for ClassOf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::One(..) => "One",
            Self::Each(_) => "Each",
        })
    }
}

/// A trace as a source. A clone made before the run replays it once more, without a copy.
#[derive(Clone, Debug)]
pub struct Replay {
    plan: Arc<Plan>,
    /// Only requests of this class, if there is one.
    only: Option<ClassId>,
    pace: ReplayPace,
    /// Where the requests after `next` are. A closed replay has its own order.
    cursor: Cursor,
    /// When the last request had completed, in a trace of one request at a time.
    before: Time,
    /// The next request. In a trace of one request at a time it is due so long after the last
    /// completion.
    next: Option<Io>,
    /// When the next request is due.
    due: Time,
    issued: u64,
}

/// A trace, how it is issued, and what is known of all its requests.
#[derive(Debug)]
struct Plan {
    trace: Arc<Trace>,
    places: Places,
    timing: Timing,
    one_by_one: bool,
    class: ClassOf,
    streams: Streams,
    /// The requests of a closed replay.
    timed: Spool<TimedIo>,
    /// By class.
    classes: Vec<ClassTally>,
}

/// Requests of a class, and those that are no reads.
#[derive(Clone, Copy, Debug, Default)]
struct ClassTally {
    requests: u64,
    others: u64,
}

#[derive(Clone, Debug)]
enum ReplayPace {
    /// Each request is due at its own time.
    Timed,
    /// Each is due so long after the completion of the one before: from `ready` on.
    OneByOne { ready: Time },
    /// Each is due a think time after the completions that it waits for.
    Closed(Box<ClosedLoops>),
    /// Places not yet used, and when the others became free, earliest first.
    Afap { unused: u32, free: VecDeque<Time> },
}

impl Replay {
    /// The requests of `trace` at their `places`, of the classes `class`.
    ///
    /// # Errors
    /// If a request does not fit the device, the timing needs completions that are not there, or
    /// the requests cannot be kept.
    ///
    /// # Panics
    /// If a speed or a depth is not above zero.
    pub fn new(
        trace: impl Into<Arc<Trace>>,
        places: Places,
        timing: Timing,
        class: ClassOf,
    ) -> Result<Self, ReplayError> {
        assert!(!matches!(timing, Timing::Scaled(speed) if speed.is_nan() || speed <= 0.0));
        assert!(!matches!(timing, Timing::Afap { depth: 0 }));
        let trace = trace.into();
        let one_by_one = trace.one_by_one && matches!(timing, Timing::Original | Timing::Scaled(_));
        let mut plan = Plan {
            trace,
            places,
            timing,
            one_by_one,
            class,
            streams: Streams::default(),
            timed: Spool::new(),
            classes: Vec::new(),
        };
        plan.look()?;
        let pace = match timing {
            Timing::Afap { depth } => ReplayPace::Afap { unused: depth, free: VecDeque::new() },
            Timing::Closed { .. } => plan.closed(None)?,
            _ if one_by_one => ReplayPace::OneByOne { ready: Time::ZERO },
            Timing::Original | Timing::Scaled(_) => ReplayPace::Timed,
        };
        Ok(Self::begin(Arc::new(plan), None, pace))
    }

    fn begin(plan: Arc<Plan>, only: Option<ClassId>, pace: ReplayPace) -> Self {
        let cursor = match pace {
            ReplayPace::Closed(_) => Cursor::default(),
            _ => plan.trace.records.beginning(),
        };
        let (before, due) = (Time::ZERO, Time::NEVER);
        let mut replay = Self { plan, only, pace, cursor, before, next: None, due, issued: 0 };
        replay.go_on();
        replay.due = replay.when();
        replay
    }

    /// The same with the requests of one class only, before any was issued.
    ///
    /// # Errors
    /// If the requests cannot be kept.
    pub fn only(&self, class: ClassId) -> Result<Self, ReplayError> {
        let pace = match &self.pace {
            ReplayPace::Closed(_) => self.plan.closed(Some(class))?,
            other => other.clone(),
        };
        Ok(Self::begin(Arc::clone(&self.plan), Some(class), pace))
    }

    /// Reads the next request that is to be issued.
    fn go_on(&mut self) {
        self.next = None;
        while let Some(record) = self.cursor.next(&self.plan.trace.records) {
            let start = self.plan.places.at(&record);
            let io = self.plan.io(&record, start, &mut self.before);
            if self.only.is_none_or(|only| io.class == only) {
                self.next = Some(io);
                return;
            }
        }
    }

    /// When the next request is due.
    fn when(&self) -> Time {
        match (&self.pace, &self.next) {
            (ReplayPace::Closed(loops), _) => loops.next_due(),
            (_, None) => Time::NEVER,
            (ReplayPace::Timed, Some(io)) => io.due,
            (ReplayPace::OneByOne { ready }, _) => *ready,
            (ReplayPace::Afap { unused: 1.., .. }, _) => Time::ZERO,
            (ReplayPace::Afap { free, .. }, _) => free.front().copied().unwrap_or(Time::NEVER),
        }
    }

    /// Requests of the whole trace.
    pub fn len(&self) -> u64 {
        self.tally().requests
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether it has requests other than reads.
    pub fn writes(&self) -> bool {
        self.tally().others > 0
    }

    fn tally(&self) -> ClassTally {
        let of_class = |class: ClassId| self.plan.classes.get(class.index()).copied();
        match self.only {
            Some(class) => of_class(class).unwrap_or_default(),
            None => self.plan.classes.iter().fold(ClassTally::default(), |sum, class| ClassTally {
                requests: sum.requests + class.requests,
                others: sum.others + class.others,
            }),
        }
    }

    /// Whether it has requests of this class.
    pub fn has(&self, class: ClassId) -> bool {
        self.plan.classes.get(class.index()).is_some_and(|class| class.requests > 0)
    }

    /// Requests that were not issued yet.
    pub fn left(&self) -> u64 {
        self.len() - self.issued
    }

    /// When the last request is due; `None` if that depends on completions.
    pub fn last_due(&self) -> Option<Time> {
        match self.pace {
            ReplayPace::Timed => self.plan.trace.records.last().map(|last| self.plan.due(&last)),
            _ => None,
        }
    }

    /// That every request could be read.
    ///
    /// # Errors
    /// If the temporary file could not be read to its end: requests are missing then.
    pub fn check(&self) -> Result<(), ReplayError> {
        if let ReplayPace::Closed(loops) = &self.pace {
            loops.check()?;
        }
        Ok(self.plan.trace.records.check()?)
    }
}

impl Plan {
    /// Looks at all requests: whether each has a place, their classes and streams. Those of a closed
    /// replay are kept.
    fn look(&mut self) -> Result<(), ReplayError> {
        let closed = match self.timing {
            Timing::Closed { latency } => Some(latency_of_others(&self.trace, latency)?),
            _ => None,
        };
        let trace = Arc::clone(&self.trace);
        let records = &trace.records;
        match self.class {
            ClassOf::One(class, _)
                if closed.is_none() && !records.processes() && self.places.as_recorded() =>
            {
                self.classes.resize(class.index() + 1, ClassTally::default());
                self.classes[class.index()] =
                    ClassTally { requests: records.len() as u64, others: records.others() };
                return Ok(());
            }
            _ => {}
        }
        let mut before = Time::ZERO;
        for record in records {
            self.streams.add(record.pid);
            let io = self.io(&record, self.places.of(&record)?, &mut before);
            self.count(&io);
            if let Some(otherwise) = closed {
                let took = record.latency().unwrap_or(otherwise);
                self.timed.push(TimedIo { io, took })?;
            }
        }
        Ok(records.check()?)
    }

    /// `record` as it is issued from `start` on. In a trace of one request at a time, the last had
    /// completed at `before`.
    #[expect(
        clippy::inline_always,
        reason = "what is built in memory and copied at once waits until all of it is written"
    )]
    #[inline(always)]
    fn io(&self, record: &Record, start: u64, before: &mut Time) -> Io {
        let &Record { len, op, flags, .. } = record;
        let due = if self.one_by_one {
            let gap = record.at.since(*before);
            *before = record.at + record.latency().unwrap_or(Span::ZERO);
            self.timing.due(Time::ZERO + gap)
        } else {
            self.due(record)
        };
        let (class, prio) = self.class.of(record);
        let stream = self.streams.of(record.pid);
        Io { due, start, len, stream, class, op, prio, flags }
    }

    /// When `record` is due, if that depends on no completion.
    fn due(&self, record: &Record) -> Time {
        self.timing.due(record.at)
    }

    fn count(&mut self, io: &Io) {
        if self.classes.len() <= io.class.index() {
            self.classes.resize(io.class.index() + 1, ClassTally::default());
        }
        let class = &mut self.classes[io.class.index()];
        class.requests += 1;
        class.others += u64::from(io.op != Op::Read);
    }

    /// The pace of closed loops, of all classes or of one.
    fn closed(&self, only: Option<ClassId>) -> io::Result<ReplayPace> {
        let loops = ClosedLoops::new(&self.timed, self.trace.records.processes(), only)?;
        Ok(ReplayPace::Closed(Box::new(loops)))
    }
}

impl Source for Replay {
    fn next_due(&self) -> Time {
        self.due
    }

    fn take(&mut self, now: Time) -> Option<Io> {
        let due = self.due;
        if due > now {
            return None;
        }
        let io = match &mut self.pace {
            ReplayPace::Timed => self.next,
            ReplayPace::Closed(loops) => loops.take(),
            ReplayPace::OneByOne { ready } => {
                *ready = Time::NEVER;
                self.next
            }
            ReplayPace::Afap { unused, free } => {
                match unused.checked_sub(1) {
                    Some(fewer) => *unused = fewer,
                    None => drop(free.pop_front()),
                }
                self.next
            }
        }?;
        self.go_on();
        self.due = self.when();
        self.issued += 1;
        Some(Io { due, ..io })
    }

    fn finished(&mut self, now: Time, req: &Request, _: &Done) {
        match &mut self.pace {
            ReplayPace::Timed => return,
            ReplayPace::Closed(loops) => loops.finished(now, &req.io),
            ReplayPace::OneByOne { ready } => {
                let think = self.next.map_or(Time::ZERO, |io| io.due);
                *ready = now + think.since(Time::ZERO);
            }
            ReplayPace::Afap { free, .. } => free.push_back(now),
        }
        self.due = self.when();
    }
}

impl Packed for Io {
    const BYTES: usize = 29;

    fn pack(&self, to: &mut PackedWriter<'_>) {
        to.u64(self.due.ns());
        to.u64(self.start);
        to.u32(self.len);
        to.u32(self.stream.0);
        to.u16(self.class.0);
        to.u8(self.op as u8);
        to.u8(self.prio.0);
        to.u8(self.flags.bits());
    }

    fn unpack(from: &mut PackedReader<'_>) -> Self {
        Self {
            due: Time::from_ns(from.u64()),
            start: from.u64(),
            len: from.u32(),
            stream: StreamId(from.u32()),
            class: ClassId(from.u16()),
            op: Op::from_byte(from.u8()).expect("it was an operation"),
            prio: Prio(from.u8()),
            flags: Flags::from_bits(from.u8()),
        }
    }
}
