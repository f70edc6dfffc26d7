//! What a run is measured by: latencies, waits and device time of each class.

use penstock_core::{Done, Observer, Request, Source, Span, Time};
use penstock_live::{Pace, ReportTimer};

use crate::busy::Busy;
use crate::detail::{Detail, Details};
use crate::errors::Errors;
use crate::ledger::{Ledger, Spent};
use crate::record::Recorder;
use crate::result::{ClassResult, ScheduleResult};
use crate::schedule::Schedule;
use crate::snapshot::{Snapshot, Watched};
use crate::values::{Values, ratio};
use crate::windows::Finished;

/// What completed without error.
#[derive(Default)]
struct Completed {
    requests: u64,
    bytes: u64,
    /// When the last of it did.
    last: Time,
}

impl Completed {
    fn add(&mut self, at: Time, len: u32) {
        self.requests += 1;
        self.bytes += u64::from(len);
        self.last = at;
    }
}

struct Class {
    arrivals: u64,
    /// Of what was due after the warm-up.
    measured: Completed,
    /// After the warm-up, whenever it was due.
    completed: Completed,
    errors: Errors,
    latency: Values,
    wait: Values,
    service: Values,
    device_time: Span,
}

impl Class {
    fn new() -> Self {
        Self {
            arrivals: 0,
            measured: Completed::default(),
            completed: Completed::default(),
            errors: Errors::default(),
            latency: Values::new(),
            wait: Values::new(),
            service: Values::new(),
            device_time: Span::ZERO,
        }
    }
}

/// Told how far a run has come; `false` ends it with what there is.
pub(crate) trait Progress {
    /// `fraction` of the run's time is over, 0 to 1; `now` is how it goes, if somebody watches.
    fn update(&mut self, fraction: f64, now: Option<&Snapshot>) -> bool;
}

impl Progress for () {
    fn update(&mut self, _: f64, _: Option<&Snapshot>) -> bool {
        true
    }
}

/// How often a live run reports progress; a modelled one when its [`ReportTimer`] says so.
const TIME_A_REPORT: Span = Span::from_ms(50);

/// Measures a run. Requests due before the warm-up's end are served but not counted.
pub(crate) struct Stats<'a> {
    warmup: Time,
    duration: Span,
    /// Until when the load asks, as far as that is known.
    asks_until: Time,
    classes: Vec<Class>,
    /// How the schedule was held, live only: virtual time is never late.
    schedule: Option<Schedule<'a>>,
    progress: &'a mut dyn Progress,
    report_timer: ReportTimer,
    reported: Time,
    recorder: Option<Recorder>,
    details: Option<Details>,
    watched: Option<Watched>,
    /// Every response time, if they are to be compared.
    responses: Option<Vec<u64>>,
    /// Knows what the device's time was spent on, if completions do not: below a page cache.
    ledger: Option<Ledger>,
    /// Knows when a modelled run that keeps step with real time is to report.
    pace: Option<&'a Pace>,
}

impl<'a> Stats<'a> {
    /// For `classes` classes and a run of `duration`.
    pub(crate) fn new(
        classes: usize,
        warmup: Span,
        duration: Span,
        schedule: Option<Schedule<'a>>,
        progress: &'a mut dyn Progress,
        recorder: Option<Recorder>,
    ) -> Self {
        Self {
            warmup: Time::ZERO + warmup,
            duration,
            asks_until: Time::NEVER,
            classes: (0..classes).map(|_| Class::new()).collect(),
            schedule,
            progress,
            report_timer: ReportTimer::default(),
            reported: Time::ZERO,
            recorder,
            details: None,
            watched: None,
            responses: None,
            ledger: None,
            pace: None,
        }
    }

    /// Books device time from `ledger`, and not from completions.
    pub(crate) fn charged_by(mut self, ledger: Option<Ledger>) -> Self {
        self.ledger = ledger;
        self
    }

    /// The load asks until `asks_until`; as long as the run lasts if that is not known.
    pub(crate) fn rated(mut self, asks_until: Option<Time>) -> Self {
        self.asks_until = asks_until.unwrap_or(Time::NEVER);
        self
    }

    /// Tells with each report how the run goes.
    pub(crate) fn watched(mut self, watched: Watched) -> Self {
        self.watched = Some(watched);
        self
    }

    /// Reports when `pace` says so.
    pub(crate) fn paced(mut self, pace: &'a Pace) -> Self {
        self.pace = Some(pace);
        self
    }

    /// Keeps every response time, `count` of them.
    pub(crate) fn compared(mut self, count: usize) -> Self {
        self.responses = Some(Vec::with_capacity(count));
        self
    }

    /// The response times, in nanoseconds, if they were kept.
    pub(crate) fn take_responses(&mut self) -> Option<Vec<u64>> {
        self.responses.take()
    }

    /// Keeps the detail of the run too.
    pub(crate) fn detailed(mut self) -> Self {
        self.details = Some(Details::new(self.classes.len(), self.duration));
        self
    }

    /// The detail of a run that ended at `end`, if it was kept.
    pub(crate) fn take_detail(&mut self, names: &[&str], end: Time) -> Option<Detail> {
        self.details.take().map(|details| details.told(names, end))
    }

    /// The run ended at `end`, of which nothing is heard at or behind `until`.
    pub(crate) fn ended(&mut self, source: &mut impl Source, end: Time, until: Time) {
        self.book();
        if let Some(schedule) = &mut self.schedule {
            schedule.ended(source, end, until);
        }
    }

    /// Books what the ledger holds.
    fn book(&mut self) {
        let Some(ledger) = self.ledger.clone() else { return };
        ledger.book(|Spent { class, begun, at, service }| {
            let class = class.index();
            if let Some(details) = &mut self.details {
                details.spent(at, class, service);
            }
            if let Some(watched) = &mut self.watched {
                watched.spent(at, class, service);
            }
            // How much of a command lay behind the end of the warm-up is not known: all, or nothing.
            if begun >= self.warmup {
                self.classes[class].device_time += service;
            }
        });
    }

    /// How the schedule was held; `None` in virtual time, and if there is none.
    pub(crate) fn schedule(&self) -> Option<ScheduleResult> {
        self.schedule.as_ref().and_then(Schedule::all)
    }

    /// Tells how far the run has come; whether it goes on.
    fn report(&mut self, now: Time) -> bool {
        self.reported = now;
        let fraction = now.ns() as f64 / self.duration.ns() as f64;
        let now = self.watched.as_mut().map(|watched| watched.look(now));
        self.progress.update(fraction.min(1.0), now)
    }

    /// Requests that were handed over.
    pub(crate) fn arrivals(&self) -> u64 {
        self.classes.iter().map(|class| class.arrivals).sum()
    }

    /// Seconds from the end of the warm-up to `end`.
    pub(crate) fn measured_s(&self, end: Time) -> f64 {
        end.since(self.warmup).ns() as f64 / 1e9
    }

    /// Seconds that the rates of `class` are of, in a run that ended at `end`: as long as the load
    /// asks, or until the class has been served if that is later.
    fn rated_s(&self, class: &Class, end: Time) -> f64 {
        self.measured_s(self.asks_until.max(class.completed.last).min(end))
    }

    /// The share of the measured time in which a device was busy, of a run that ended at `end`.
    pub(crate) fn share_of(&self, busy: &Busy, end: Time) -> f64 {
        ratio(busy.until(end).ns() as f64, end.since(self.warmup).ns() as f64)
    }

    /// The classes' results, in the order of the job.
    pub(crate) fn classes(&self, names: &[&str], end: Time) -> Vec<ClassResult> {
        let all: f64 = self.classes.iter().map(|class| class.device_time.ns() as f64).sum();
        let held = |index| self.schedule.as_ref().and_then(|schedule| schedule.class(index));
        let result = |(index, (class, name)): (usize, (&Class, &&str))| ClassResult {
            name: (*name).to_owned(),
            requests: class.measured.requests,
            bytes: class.measured.bytes,
            iops: ratio(class.completed.requests as f64, self.rated_s(class, end)),
            bw_bytes: ratio(class.completed.bytes as f64, self.rated_s(class, end)),
            lat_ns: class.latency.distribution(),
            wait_ns: class.wait.distribution(),
            service_ns: class.service.distribution(),
            device_time_s: class.device_time.ns() as f64 / 1e9,
            share: ratio(class.device_time.ns() as f64, all),
            errors: class.errors.count(),
            error_codes: class.errors.told(),
            unfinished: class.arrivals - class.measured.requests - class.errors.count(),
            schedule: held(index),
            programs: None,
        };
        self.classes.iter().zip(names).enumerate().map(result).collect()
    }
}

impl Observer for Stats<'_> {
    fn turn(&mut self, now: Time) -> bool {
        self.book();
        if let Some(recorder) = &self.recorder {
            recorder.turn(now);
            if !recorder.sound() {
                return false;
            }
        }
        if let Some(schedule) = &mut self.schedule {
            schedule.turn();
        }
        let report = match (self.pace, &self.schedule) {
            (Some(pace), _) => pace.report_due(),
            (None, Some(_)) => now.since(self.reported) >= TIME_A_REPORT,
            (None, None) => self.report_timer.due(),
        };
        !report || self.report(now)
    }

    fn goes_on(&mut self, now: Time) -> bool {
        !self.report_timer.due() || self.report(now)
    }

    fn arrived(&mut self, now: Time, req: &Request) {
        if let Some(recorder) = &self.recorder {
            recorder.arrived(&req.io);
        }
        if let Some(details) = &mut self.details {
            details.arrived(now, req.class.index());
        }
        if let Some(watched) = &mut self.watched {
            watched.arrived(now, req.class.index());
        }
        if let Some(schedule) = &mut self.schedule {
            schedule.arrived(now, req);
        }
        if req.due >= self.warmup {
            self.classes[req.class.index()].arrivals += 1;
        }
    }

    fn finished(&mut self, now: Time, req: &Request, done: &Done) {
        if let Some(schedule) = &mut self.schedule {
            schedule.finished();
        }
        let (latency, wait) = (done.at.since(req.due), done.begun.since(req.due));
        let charged = if self.ledger.is_some() { Span::ZERO } else { done.service };
        let what = Finished { bytes: req.len, latency, service: charged, ok: done.error.is_none() };
        if let Some(details) = &mut self.details {
            details.finished(now, req.class.index(), &what);
        }
        if let Some(watched) = &mut self.watched {
            watched.finished(now, req.class.index(), &what);
        }
        let class = &mut self.classes[req.class.index()];
        let behind = req.due >= self.warmup;
        if done.error.is_none() && (behind || done.at > self.warmup) {
            class.completed.add(done.at, req.len);
        }
        if !behind {
            return;
        }
        class.device_time += charged;
        if let Some(error) = done.error {
            class.errors.add(error, done.at, req);
            return;
        }
        class.measured.add(done.at, req.len);
        class.latency.add(latency);
        if let Some(responses) = &mut self.responses {
            responses.push(latency.ns());
        }
        class.wait.add(wait);
        class.service.add(done.service);
        if let Some(details) = &mut self.details {
            details.measured(req.class.index(), latency, wait);
        }
    }
}
