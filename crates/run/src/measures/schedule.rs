//! Measures how well a live run kept its schedule: how late requests were handed over that were
//! planned ahead.
//!
//! Open loops and traces at a pace have a schedule. Closed loops and traces as fast as possible
//! have none, and in virtual time nothing is late: neither has a result.

use penstock_core::{Request, Source, Span, StreamId, Time};

use crate::measures::machine::processor_wait;
use crate::measures::measure::{Finished, Measure};
use crate::measures::subject::Subject;
use crate::measures::values::{Values, ratio};
use crate::result::parts::{ThreadPart, unpack};
use crate::result::{Held, RunResult, ScheduleResult};

/// Whether a stream's requests are planned ahead.
type Planned<'a> = Box<dyn Fn(StreamId) -> bool + 'a>;

/// Largest lateness of a request that counts as on time, in the order of [`Held`].
const ON_TIME: [Span; 3] = [Span::from_us(100), Span::from_ms(1), Span::from_ms(10)];

/// Lateness above which the queue is checked for a reason.
const LATE: Span = ON_TIME[1];

/// The most arrivals that are counted when a run ends early: a run of hours may have billions to
/// come, and counting them all would take too long.
const LEFT_MOST: u32 = 1 << 22;

/// Observes the arrivals of a live run.
struct Schedule<'a> {
    /// Requests due earlier are not counted.
    warmup: Time,
    planned: Planned<'a>,
    /// Requests that fill the device's queue.
    depth: u32,
    outstanding: u32,
    /// Whether the queue was full when the turn began, and so while time went by.
    full: bool,
    all: Tally,
    classes: Vec<Tally>,
    /// Time that this thread had waited for a processor when the run began, and that it waited
    /// during the run.
    waited_before: Option<Span>,
    waited: Option<Span>,
}

struct Tally {
    lateness: Values,
    on_time: [u64; 3],
    late_while_full: u64,
    made: u64,
    /// Arrivals due during the run that were not handed over.
    missed: u64,
    /// Arrivals due after its end.
    rest: u64,
    last_due: Time,
    last_made: Time,
}

/// Returns the measure for a run in real time; `None` in virtual time, which is never late.
pub(crate) fn measure<'a>(subject: &Subject<'a>) -> Option<Box<dyn Measure + 'a>> {
    let Subject { load, warmup, depth, .. } = *subject;
    let planned = Box::new(|stream| load.workload.is_planned(stream));
    subject.live.then(|| Box::new(Schedule::new(load.classes.len(), warmup, depth, planned)) as _)
}

impl<'a> Schedule<'a> {
    /// Creates the schedule of `classes` classes, over a device whose queue holds `depth` commands.
    fn new(classes: usize, warmup: Time, depth: u32, planned: Planned<'a>) -> Self {
        let tally = || Tally::new(warmup);
        let classes = (0..classes).map(|_| tally()).collect();
        Self {
            warmup,
            planned,
            depth,
            outstanding: 0,
            full: false,
            all: tally(),
            classes,
            waited_before: processor_wait(),
            waited: None,
        }
    }
}

impl Measure for Schedule<'_> {
    fn needs_turns(&self) -> bool {
        true
    }

    fn turn(&mut self) {
        self.full = self.outstanding >= self.depth;
    }

    fn arrived(&mut self, now: Time, req: &Request) {
        self.outstanding += 1;
        if req.due >= self.warmup && (self.planned)(req.stream) {
            for tally in [&mut self.all, &mut self.classes[req.class.index()]] {
                tally.made(now, req.due, self.full);
            }
        }
    }

    fn finished(&mut self, _: Time, _: &Request, _: &Finished) {
        self.outstanding -= 1;
    }

    /// Counts the arrivals that `source` still has planned.
    fn ended(&mut self, source: &mut dyn Source, end: Time, until: Time) {
        let waited = processor_wait().zip(self.waited_before);
        self.waited = waited.map(|(after, before)| after - before);
        // A run that goes until everything is done has no request at its end's own instant to lose.
        let last = if until == Time::NEVER { until } else { until - Span::from_ns(1) };
        for _ in 0..LEFT_MOST {
            let Some(io) = source.take(last) else { break };
            if io.due < self.warmup || !(self.planned)(io.stream) {
                continue;
            }
            for tally in [&mut self.all, &mut self.classes[io.class.index()]] {
                tally.not_made(io.due, end);
            }
        }
    }

    fn part(&mut self, _: Time) -> Option<ThreadPart> {
        let warmup = self.warmup;
        let all = std::mem::replace(&mut self.all, Tally::new(warmup));
        Some(Box::new((all, std::mem::take(&mut self.classes), self.waited)))
    }

    fn join(&mut self, part: ThreadPart) {
        let (all, classes, waited): (Tally, Vec<Tally>, Option<Span>) = unpack(part);
        self.all.join(&all);
        self.classes.iter_mut().zip(&classes).for_each(|(class, other)| class.join(other));
        self.waited = waited.map(|waited| waited + self.waited.unwrap_or_default());
    }

    fn write(&mut self, _: Time, result: &mut RunResult) {
        let processor_wait_s = self.waited.map(|waited| waited.ns() as f64 / 1e9);
        let all = self.all.result(self.warmup);
        result.schedule = all.map(|all| ScheduleResult { processor_wait_s, ..all });
        for (class, tally) in result.classes.iter_mut().zip(&self.classes) {
            class.schedule = tally.result(self.warmup);
        }
    }
}

impl Tally {
    fn new(start: Time) -> Self {
        Self {
            lateness: Values::new(),
            on_time: [0; 3],
            late_while_full: 0,
            made: 0,
            missed: 0,
            rest: 0,
            last_due: start,
            last_made: start,
        }
    }

    fn made(&mut self, now: Time, due: Time, full: bool) {
        let late = now.since(due);
        self.lateness.add(late);
        self.made += 1;
        self.late_while_full += u64::from(full && late > LATE);
        for (count, most) in self.on_time.iter_mut().zip(ON_TIME) {
            *count += u64::from(late <= most);
        }
        self.last_due = self.last_due.max(due);
        self.last_made = now;
    }

    fn join(&mut self, other: &Self) {
        self.lateness.join(&other.lateness);
        for (count, others) in self.on_time.iter_mut().zip(other.on_time) {
            *count += others;
        }
        self.late_while_full += other.late_while_full;
        self.made += other.made;
        self.missed += other.missed;
        self.rest += other.rest;
        self.last_due = self.last_due.max(other.last_due);
        self.last_made = self.last_made.max(other.last_made);
    }

    fn not_made(&mut self, due: Time, end: Time) {
        *(if due <= end { &mut self.missed } else { &mut self.rest }) += 1;
        self.last_due = self.last_due.max(due);
    }

    fn result(&self, start: Time) -> Option<ScheduleResult> {
        let due = self.made + self.missed;
        let scheduled = due + self.rest;
        let held = self.on_time.map(|count| ratio(count as f64, due as f64));
        let seconds = |at: Time| at.since(start).ns() as f64 / 1e9;
        (scheduled > 0).then(|| ScheduleResult {
            scheduled,
            due,
            made: self.made,
            scheduled_s: seconds(self.last_due),
            taken_s: seconds(self.last_made),
            lateness_ns: self.lateness.distribution(),
            held: Held { within_100us: held[0], within_1ms: held[1], within_10ms: held[2] },
            late_while_full: self.late_while_full,
            processor_wait_s: None,
        })
    }
}

#[cfg(test)]
mod tests;
