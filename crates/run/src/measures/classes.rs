//! Measures what each class got: its requests, their latencies and waits, its device time.

use penstock_core::{ClassId, Op, Request, Span, Time};

use crate::measures::completed::{Completed, Rated};
use crate::measures::errors::Errors;
use crate::measures::ledger::Spent;
use crate::measures::measure::{Finished, Measure};
use crate::measures::subject::Subject;
use crate::measures::values::{Values, ratio};
use crate::result::parts::{ThreadPart, unpack};
use crate::result::{ByOpResult, ClassResult, OpsResult, RunResult, ShareResult};

/// Figures of the requests of a class with one operation.
struct OpFigures {
    arrivals: u64,
    measured: Completed,
    completed: Completed,
    latency: Values,
}

impl OpFigures {
    fn new() -> Self {
        let (measured, completed) = <(Completed, Completed)>::default();
        Self { arrivals: 0, measured, completed, latency: Values::new() }
    }

    fn join(&mut self, other: &Self) {
        self.arrivals += other.arrivals;
        self.measured.join(&other.measured);
        self.completed.join(&other.completed);
        self.latency.join(&other.latency);
    }

    /// Returns their result, with rates over `seconds`.
    fn result(&self, seconds: f64) -> ByOpResult {
        ByOpResult {
            requests: self.measured.requests,
            bytes: self.measured.bytes,
            iops: ratio(self.completed.requests as f64, seconds),
            bw_bytes: ratio(self.completed.bytes as f64, seconds),
            lat_ns: self.latency.distribution(),
        }
    }
}

/// The requests of a class by operation.
struct OpsFigures([OpFigures; 4]);

impl OpsFigures {
    fn new() -> Self {
        Self(std::array::from_fn(|_| OpFigures::new()))
    }

    fn for_op(&mut self, op: Op) -> &mut OpFigures {
        &mut self.0[op as usize]
    }

    fn result(&self, seconds: f64) -> OpsResult {
        let [read, write, flush, discard] =
            [Op::Read, Op::Write, Op::Flush, Op::Discard].map(|op| &self.0[op as usize]);
        let if_any = |figures: &OpFigures| (figures.arrivals > 0).then(|| figures.result(seconds));
        OpsResult {
            read: read.result(seconds),
            write: write.result(seconds),
            discard: if_any(discard),
            flush: if_any(flush),
        }
    }
}

struct ClassFigures {
    open_loop: bool,
    /// Figures by operation, if an agent of the class mixes operations.
    ops: Option<Box<OpsFigures>>,
    arrivals: u64,
    /// Requests that were due after the warm-up.
    measured: Completed,
    /// Requests that completed after the warm-up, whenever they were due.
    completed: Completed,
    errors: Errors,
    latency: Values,
    wait: Values,
    service: Values,
    device_time: Span,
}

impl ClassFigures {
    fn new(open_loop: bool, mixes: bool) -> Self {
        Self {
            open_loop,
            ops: mixes.then(|| Box::new(OpsFigures::new())),
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

impl ClassFigures {
    fn join(&mut self, other: &Self) {
        if let (Some(ops), Some(others)) = (&mut self.ops, &other.ops) {
            ops.0.iter_mut().zip(&others.0).for_each(|(figures, other)| figures.join(other));
        }
        self.arrivals += other.arrivals;
        self.measured.join(&other.measured);
        self.completed.join(&other.completed);
        self.errors.join(&other.errors);
        for (values, others) in [
            (&mut self.latency, &other.latency),
            (&mut self.wait, &other.wait),
            (&mut self.service, &other.service),
        ] {
            values.join(others);
        }
        self.device_time += other.device_time;
    }
}

/// The figures of every class. Requests due during the warm-up are served. They count only for
/// rates, if they complete after it, and for shares, if they are sent after it.
struct Classes<'a> {
    names: Vec<&'a str>,
    warmup: Time,
    rated: Rated,
    figures: Vec<ClassFigures>,
}

/// Returns the measure of all classes of `subject`.
pub(crate) fn measure<'a>(subject: &Subject<'a>) -> Box<dyn Measure + 'a> {
    let workload = &subject.load.workload;
    let classes = (0..subject.load.classes.len()).map(|index| ClassId(index as u16));
    Box::new(Classes {
        names: subject.class_names(),
        warmup: subject.warmup,
        rated: Rated::of(subject),
        figures: classes
            .map(|class| ClassFigures::new(workload.is_open(class), workload.mixes(class)))
            .collect(),
    })
}

impl Measure for Classes<'_> {
    fn arrived(&mut self, _: Time, req: &Request) {
        let class = &mut self.figures[req.class.index()];
        if req.due >= self.warmup {
            class.arrivals += 1;
        }
        if let Some(ops) = &mut class.ops {
            ops.for_op(req.op).arrivals += 1;
        }
    }

    fn finished(&mut self, _: Time, req: &Request, how: &Finished) {
        let class = &mut self.figures[req.class.index()];
        if how.error.is_none() && (how.counted || how.at > self.warmup) {
            class.completed.add(how.at, req);
            if let Some(ops) = &mut class.ops {
                ops.for_op(req.op).completed.add(how.at, req);
            }
        }
        // If only requests due after the warm-up counted, a loop would lose as many as it has
        // outstanding. Requests sent before its end are left out: part of their device time may lie
        // before.
        if req.due + how.wait >= self.warmup {
            class.device_time += how.charged;
        }
        if !how.counted {
            return;
        }
        if let Some(error) = how.error {
            class.errors.add(error, how.at, req);
            return;
        }
        class.measured.add(how.at, req);
        if let Some(ops) = &mut class.ops {
            let of_op = ops.for_op(req.op);
            of_op.measured.add(how.at, req);
            of_op.latency.add(how.latency);
        }
        class.latency.add(how.latency);
        class.wait.add(how.wait);
        class.service.add(how.service);
    }

    fn spent(&mut self, spent: &Spent) {
        // How much of a command lay after the end of the warm-up is unknown: all of it counts, or
        // nothing.
        if spent.begun >= self.warmup {
            self.figures[spent.class.index()].device_time += spent.service;
        }
    }

    fn part(&mut self, _: Time) -> Option<ThreadPart> {
        Some(Box::new(std::mem::take(&mut self.figures)))
    }

    fn join(&mut self, part: ThreadPart) {
        let others: Vec<ClassFigures> = unpack(part);
        self.figures.iter_mut().zip(&others).for_each(|(class, other)| class.join(other));
    }

    fn write(&mut self, end: Time, result: &mut RunResult) {
        result.duration_s = end.since(self.warmup).ns() as f64 / 1e9;
        let all: f64 = self.figures.iter().map(|class| class.device_time.ns() as f64).sum();
        let of_class = |(class, name): (&ClassFigures, &&str)| ClassResult {
            name: (*name).to_owned(),
            open_loop: class.open_loop,
            demand: None,
            requests: class.measured.requests,
            bytes: class.measured.bytes,
            discarded_bytes: class.measured.discarded,
            iops: self.rated.rate(class.completed.requests, &class.completed, end),
            bw_bytes: self.rated.rate(class.completed.bytes, &class.completed, end),
            ops: class
                .ops
                .as_ref()
                .map(|ops| ops.result(self.rated.seconds(&class.completed, end))),
            lat_ns: class.latency.distribution(),
            wait_ns: class.wait.distribution(),
            service_ns: class.service.distribution(),
            device_time_s: class.device_time.ns() as f64 / 1e9,
            share: ratio(class.device_time.ns() as f64, all),
            kernel_weight: None,
            added_ns: None,
            shares: ShareResult::default(),
            errors: class.errors.count(),
            error_codes: class.errors.by_name(),
            unfinished: class.arrivals - class.measured.requests - class.errors.count(),
            schedule: None,
            programs: None,
        };
        result.classes = self.figures.iter().zip(&self.names).map(of_class).collect();
    }
}
