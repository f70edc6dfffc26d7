//! Issues the requests of a trace again: at their own times, faster or slower, a think time after
//! the completions that they waited for, or as fast as the device takes them.
//!
//! A trace comes from another device, mostly a larger one. A request past the end of this one is an
//! error unless a [`Fit`] is given. Each process number is one stream; the caller names the class
//! of each request. Invariant: every request of the trace is issued once and lies inside the
//! device; they keep the order of the trace, in a closed replay those of one thread of control do.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use penstock_core::{ClassId, Done, Io, Op, Prio, Request, Source, Span, StreamId, Time};
use thiserror::Error;

use super::closed::{ClosedLoops, durations};
use super::record::{Record, Trace};

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

/// What happens to requests past the end of the device.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fit {
    /// They wrap around: offsets modulo the capacity. Distances stay, distant places meet.
    Wrap,
    /// If the trace reaches past the end, its whole range is mapped to the device, with offsets in
    /// steps of 4 KiB. Order and coverage stay. Neighbours overlap, so that sequential runs are
    /// broken up.
    Scale,
}

/// Offsets that a fit computes are multiples of this, a block of any present device.
const ALIGN_BYTES: u64 = 4096;

/// A trace that does not fit the device.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum ReplayError {
    /// A request ends past the end of the device. How a [`Fit`] is asked for, the caller knows.
    #[error(
        "line {line} of the trace: found a request of {len} B at {start} B, expected it to end \
         within the device's {capacity} B"
    )]
    Past {
        /// Line of the trace's file.
        line: u32,
        /// First byte.
        start: u64,
        /// Bytes.
        len: u32,
        /// Bytes of the device.
        capacity: u64,
    },
    /// A closed replay needs to know when requests completed.
    #[error(
        "found completions of {known} of {requests} requests, expected them of half or more: a \
         closed replay counts think times from them\nhint: trace.timing.latency=5ms sets how long \
         requests took that have none; trace.timing=original plays them at their own times"
    )]
    Completions {
        /// Requests that have a completion.
        known: usize,
        /// All requests.
        requests: usize,
    },
    /// There is no memory for its requests.
    #[error(
        "found {requests} requests, expected as many as memory holds\nhint: replay a part of the \
         trace, or on a machine with more memory"
    )]
    Memory {
        /// How many it has.
        requests: usize,
    },
    /// A request is larger than the whole device, which no fit can help.
    #[error(
        "line {line} of the trace: found a request of {len} B, expected at most the device's \
         {capacity} B\nhint: replay it on a larger device"
    )]
    TooLong {
        /// Line of the trace's file.
        line: u32,
        /// Bytes.
        len: u32,
        /// Bytes of the device.
        capacity: u64,
    },
}

/// A trace as a source. A clone made before the run replays it once more, without a copy.
#[derive(Clone, Debug)]
pub struct Replay {
    /// Each with its time; in a trace of one request at a time, with the time since the last
    /// completion.
    ios: Arc<Vec<Io>>,
    /// How many were issued: the next request, unless the replay is closed.
    next: usize,
    pace: ReplayPace,
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
    /// The requests of `trace` for a device of `capacity` bytes. `class` returns the class and
    /// priority of each. Without a `fit` every request must lie inside the device.
    ///
    /// # Errors
    /// If a request does not fit the device, or the timing needs completions that are not there.
    ///
    /// # Panics
    /// If a speed or a depth is not above zero.
    pub fn new(
        trace: &Trace,
        capacity: u64,
        fit: Option<Fit>,
        timing: Timing,
        mut class: impl FnMut(&Record) -> (ClassId, Prio),
    ) -> Result<Self, ReplayError> {
        let mut pace = match timing {
            Timing::Afap { depth } => ReplayPace::Afap { unused: depth, free: VecDeque::new() },
            // Made below, of all requests.
            Timing::Closed { .. } => ReplayPace::Timed,
            _ if trace.one_by_one => ReplayPace::OneByOne { ready: Time::ZERO },
            Timing::Original | Timing::Scaled(_) => ReplayPace::Timed,
        };
        assert!(!matches!(timing, Timing::Scaled(speed) if speed.is_nan() || speed <= 0.0));
        assert!(!matches!(timing, Timing::Afap { depth: 0 }));
        let mut streams = Streams::default();
        let end = trace.end();
        let (mut ios, requests) = (Vec::new(), trace.records.len());
        ios.try_reserve_exact(requests).map_err(|_| ReplayError::Memory { requests })?;
        // When the last request had completed, in a trace of one request at a time.
        let mut before = Time::ZERO;
        for record in &trace.records {
            let start = place(record, capacity, end, fit)?;
            let mut due = timing.due(record.at);
            if let ReplayPace::OneByOne { .. } = pace {
                due = timing.due(Time::ZERO + record.at.since(before));
                before = record.at + record.latency().unwrap_or(Span::ZERO);
            }
            let &Record { len, op, flags, pid, .. } = record;
            let ((class, prio), stream) = (class(record), streams.of(pid));
            ios.push(Io { due, start, len, stream, class, op, prio, flags });
        }
        if let Timing::Closed { latency } = timing {
            let Some(took) = durations(&trace.records, latency) else {
                let known = trace.records.iter().filter_map(Record::latency).count();
                return Err(ReplayError::Completions { known, requests });
            };
            pace = ReplayPace::Closed(Box::new(ClosedLoops::new(&trace.records, &ios, took)));
        }
        Ok(Self { ios: Arc::new(ios), next: 0, pace })
    }

    /// The same with the requests of one class only, before any was issued.
    #[must_use]
    pub fn only(&self, class: ClassId) -> Self {
        if let ReplayPace::Closed(closed) = &self.pace {
            let (ios, closed) = closed.only(&self.ios, |io| io.class == class);
            let pace = ReplayPace::Closed(Box::new(closed));
            return Self { ios: Arc::new(ios), next: 0, pace };
        }
        let ios = self.ios.iter().filter(|io| io.class == class).copied().collect();
        Self { ios: Arc::new(ios), next: 0, pace: self.pace.clone() }
    }

    /// Requests of the whole trace.
    pub fn len(&self) -> usize {
        self.ios.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.ios.is_empty()
    }

    /// Whether it has requests other than reads.
    pub fn writes(&self) -> bool {
        self.ios.iter().any(|io| io.op != Op::Read)
    }

    /// Requests that were not issued yet.
    pub fn left(&self) -> usize {
        self.ios.len() - self.next
    }

    /// When the last request is due; `None` if that depends on completions.
    pub fn last_due(&self) -> Option<Time> {
        let last = self.ios.last().map_or(Time::ZERO, |last| last.due);
        matches!(self.pace, ReplayPace::Timed).then_some(last)
    }
}

impl Source for Replay {
    fn next_due(&self) -> Time {
        match (self.ios.get(self.next), &self.pace) {
            (None, _) => Time::NEVER,
            (Some(_), ReplayPace::Closed(closed)) => closed.next_due(),
            (Some(io), ReplayPace::Timed) => io.due,
            (Some(_), ReplayPace::OneByOne { ready }) => *ready,
            (Some(_), ReplayPace::Afap { unused: 1.., .. }) => Time::ZERO,
            (Some(_), ReplayPace::Afap { free, .. }) => {
                free.front().copied().unwrap_or(Time::NEVER)
            }
        }
    }

    fn take(&mut self, now: Time) -> Option<Io> {
        let due = self.next_due();
        if due > now || self.left() == 0 {
            return None;
        }
        let mut index = self.next;
        match &mut self.pace {
            ReplayPace::Timed => {}
            ReplayPace::Closed(closed) => index = closed.take()?,
            ReplayPace::OneByOne { ready } => *ready = Time::NEVER,
            ReplayPace::Afap { unused, free } => match unused.checked_sub(1) {
                Some(fewer) => *unused = fewer,
                None => drop(free.pop_front()),
            },
        }
        let io = Io { due, ..self.ios[index] };
        self.next += 1;
        Some(io)
    }

    fn finished(&mut self, now: Time, req: &Request, _: &Done) {
        match &mut self.pace {
            ReplayPace::Timed => {}
            ReplayPace::Closed(closed) => closed.finished(now, &req.io),
            ReplayPace::OneByOne { ready } => {
                let think = self.ios.get(self.next).map_or(Time::ZERO, |io| io.due);
                *ready = now + think.since(Time::ZERO);
            }
            ReplayPace::Afap { free, .. } => free.push_back(now),
        }
    }
}

/// The place of a request on a device of `capacity` bytes, if the trace ends at `end`.
fn place(record: &Record, capacity: u64, end: u64, fit: Option<Fit>) -> Result<u64, ReplayError> {
    let &Record { start, len, line, .. } = record;
    if record.op == Op::Flush {
        return Ok(0);
    }
    let Some(room) = capacity.checked_sub(u64::from(len)) else {
        return Err(ReplayError::TooLong { line, len, capacity });
    };
    // The last aligned place, so that a request moved inside stays aligned.
    let last = room - room % ALIGN_BYTES;
    match fit {
        None | Some(Fit::Scale) if end <= capacity => Ok(start),
        None if start <= room => Ok(start),
        None => Err(ReplayError::Past { line, start, len, capacity }),
        Some(Fit::Wrap) => {
            let whole = capacity - capacity % ALIGN_BYTES;
            let start = start % if whole == 0 { capacity } else { whole };
            Ok(if start <= room { start } else { last })
        }
        Some(Fit::Scale) => {
            let scaled = u128::from(start) * u128::from(capacity) / u128::from(end);
            let scaled = scaled as u64;
            Ok((scaled - scaled % ALIGN_BYTES).min(last))
        }
    }
}

/// Streams of process numbers, numbered as they come.
#[derive(Default)]
struct Streams {
    known: BTreeMap<u32, StreamId>,
    /// The last process: mostly the next request is of the same one.
    last: Option<(u32, StreamId)>,
}

impl Streams {
    fn of(&mut self, pid: u32) -> StreamId {
        if let Some((known, stream)) = self.last
            && known == pid
        {
            return stream;
        }
        let next = StreamId(self.known.len() as u32);
        let stream = *self.known.entry(pid).or_insert(next);
        self.last = Some((pid, stream));
        stream
    }
}
