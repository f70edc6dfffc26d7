//! Issues the requests of a trace again: at their own times, faster or slower, a think time after
//! the completions that they waited for, or as fast as the device takes them.
//!
//! [`Places`] has the place of each request. Each process number is a stream; the caller provides
//! the class of each request. Each run reads the requests of the trace one after another, in little
//! memory whatever its length. Before the first run they are read once to check that each has a
//! place and to count classes and streams, unless the trace has this information.
//!
//! Invariant: every request of the trace is issued once. Requests keep the order of the trace; in a
//! closed replay, those of a thread of control do.

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

/// The times at which requests are issued.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Timing {
    /// At the recorded times. In a trace recorded one request at a time, each request keeps its
    /// recorded distance from the previous completion.
    Original,
    /// At a multiple of the recorded speed: at 2 a trace lasts half as long, at 0.5 twice as long.
    Scaled(f64),
    /// The times of the programs: each process (each class if no process was recorded) waits
    /// for the completions that it had waited for, and thinks for the recorded time.
    Closed {
        /// Assumed latency of requests without a recorded completion. By default it is the median
        /// of the others; then at least half of all requests must have one.
        latency: Option<Span>,
    },
    /// The fastest possible: the next request is issued as soon as fewer than `depth` are
    /// outstanding. It is due when its place became free.
    Afap {
        /// Largest number of outstanding requests, at least 1.
        depth: u32,
    },
}

impl Timing {
    /// The due time of a request that was recorded at `at`. Floating point, but a single quotient,
    /// so that every machine computes the same.
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

/// The rule for the class and priority of each request.
pub enum ClassOf {
    /// All requests have the same.
    One(ClassId, Prio),
    /// A function returns those of each request.
    Each(Box<Classify>),
}

/// A function that returns the class and priority of a request.
type Classify = dyn Fn(&Record) -> (ClassId, Prio) + Send + Sync;

impl ClassOf {
    /// Creates the rule from a function that returns the class and priority of a request.
    pub fn each(class: impl Fn(&Record) -> (ClassId, Prio) + Send + Sync + 'static) -> Self {
        Self::Each(Box::new(class))
    }

    fn classify(&self, record: &Record) -> (ClassId, Prio) {
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

/// A trace as a source. A clone made before the run replays the trace again; they share it.
#[derive(Clone, Debug)]
pub struct Replay {
    plan: Arc<Plan>,
    /// The only class that is replayed; `None` for all.
    only: Option<ClassId>,
    pace: ReplayPace,
    /// The place of the requests after `next` in the trace. A closed replay has its own order.
    cursor: Cursor,
    /// Recorded completion time of the last request read, in a trace of one request at a time.
    before: Time,
    /// The next request. In a trace of one request at a time its `due` is the gap after the last
    /// completion.
    next: Option<Io>,
    /// Time at which the next request is due.
    due: Time,
    issued: u64,
}

/// A trace, the rules of its replay, and the facts about all its requests.
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
    /// Counts of requests by class.
    classes: Vec<ClassTally>,
}

/// Numbers of all requests of a class, and of those that are not reads.
#[derive(Clone, Copy, Debug, Default)]
struct ClassTally {
    requests: u64,
    non_reads: u64,
}

#[derive(Clone, Debug)]
enum ReplayPace {
    /// Each request is due at its own time.
    Timed,
    /// Each request is due some time after the completion of the previous one: at `ready`.
    OneByOne { ready: Time },
    /// Each request is due a think time after the completions that it waits for.
    Closed(Box<ClosedLoops>),
    /// A request is due when a place is free: number of places not used yet, and the times at which
    /// others became free, earliest first.
    Afap { unused: u32, free: VecDeque<Time> },
}

impl Replay {
    /// Creates a replay of `trace` at the given places, with the given timing and classes.
    ///
    /// # Errors
    /// If a request does not fit the device, the timing needs completions that the trace lacks, or
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
        plan.survey()?;
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
        replay.read_next();
        replay.due = replay.next_due_time();
        replay
    }

    /// A replay of the requests of `class` only, from the beginning.
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

    /// Reads the next request of the replayed classes.
    fn read_next(&mut self) {
        self.next = None;
        while let Some(record) = self.cursor.next(&self.plan.trace.records) {
            let start = self.plan.places.known_place(&record);
            let io = self.plan.io(&record, start, &mut self.before);
            if self.only.is_none_or(|only| io.class == only) {
                self.next = Some(io);
                return;
            }
        }
    }

    /// Computes the time at which the next request is due.
    fn next_due_time(&self) -> Time {
        match (&self.pace, &self.next) {
            (ReplayPace::Closed(loops), _) => loops.next_due(),
            (_, None) => Time::NEVER,
            (ReplayPace::Timed, Some(io)) => io.due,
            (ReplayPace::OneByOne { ready }, _) => *ready,
            (ReplayPace::Afap { unused: 1.., .. }, _) => Time::ZERO,
            (ReplayPace::Afap { free, .. }, _) => free.front().copied().unwrap_or(Time::NEVER),
        }
    }

    /// Number of requests of the replayed classes in the whole trace.
    pub fn len(&self) -> u64 {
        self.tally().requests
    }

    /// Whether there are no requests.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether it has requests other than reads.
    pub fn writes(&self) -> bool {
        self.tally().non_reads > 0
    }

    fn tally(&self) -> ClassTally {
        let of_class = |class: ClassId| self.plan.classes.get(class.index()).copied();
        match self.only {
            Some(class) => of_class(class).unwrap_or_default(),
            None => self.plan.classes.iter().fold(ClassTally::default(), |sum, class| ClassTally {
                requests: sum.requests + class.requests,
                non_reads: sum.non_reads + class.non_reads,
            }),
        }
    }

    /// Whether it has requests of this class.
    pub fn has(&self, class: ClassId) -> bool {
        self.plan.classes.get(class.index()).is_some_and(|class| class.requests > 0)
    }

    /// Number of requests that have not been issued yet.
    pub fn left(&self) -> u64 {
        self.len() - self.issued
    }

    /// Due time of the last request; `None` if it depends on completions.
    pub fn last_due(&self) -> Option<Time> {
        match self.pace {
            ReplayPace::Timed => self.plan.trace.records.last().map(|last| self.plan.due(&last)),
            _ => None,
        }
    }

    /// Checks that every request could be read.
    ///
    /// # Errors
    /// If the temporary file could not be read to its end, so that requests are missing.
    pub fn check(&self) -> Result<(), ReplayError> {
        if let ReplayPace::Closed(loops) = &self.pace {
            loops.check()?;
        }
        Ok(self.plan.trace.records.check()?)
    }
}

impl Plan {
    /// Reads all requests: checks that each has a place, and counts classes and streams. Keeps the
    /// requests of a closed replay.
    fn survey(&mut self) -> Result<(), ReplayError> {
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
                    ClassTally { requests: records.len() as u64, non_reads: records.non_reads() };
                return Ok(());
            }
            _ => {}
        }
        let mut before = Time::ZERO;
        for record in records {
            self.streams.add(record.pid);
            let io = self.io(&record, self.places.place(&record)?, &mut before);
            self.count(&io);
            if let Some(assumed) = closed {
                let took = record.latency().unwrap_or(assumed);
                self.timed.push(TimedIo { io, took })?;
            }
        }
        Ok(records.check()?)
    }

    /// The request of `record`, from byte `start` on. In a trace of one request at a time, `before`
    /// is the recorded completion time of the previous one, and becomes that of this one.
    #[expect(
        clippy::inline_always,
        reason = "copying a value just after it was built in memory stalls on its stores"
    )]
    #[inline(always)]
    fn io(&self, record: &Record, start: u64, before: &mut Time) -> Io {
        let &Record { len, op, .. } = record;
        let due = if self.one_by_one {
            let gap = record.at.since(*before);
            *before = record.at + record.latency().unwrap_or(Span::ZERO);
            self.timing.due(Time::ZERO + gap)
        } else {
            self.due(record)
        };
        let (class, prio) = self.class.classify(record);
        let stream = self.streams.stream(record.pid);
        let flags = self.trace.flags(record);
        Io { due, start, len, stream, class, op, prio, flags }
    }

    /// Due time of `record`, unless it depends on completions.
    fn due(&self, record: &Record) -> Time {
        self.timing.due(record.at)
    }

    fn count(&mut self, io: &Io) {
        if self.classes.len() <= io.class.index() {
            self.classes.resize(io.class.index() + 1, ClassTally::default());
        }
        let class = &mut self.classes[io.class.index()];
        class.requests += 1;
        class.non_reads += u64::from(io.op != Op::Read);
    }

    /// The pace of closed loops of all classes, or only of the class `only`.
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
        self.read_next();
        self.due = self.next_due_time();
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
        self.due = self.next_due_time();
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
