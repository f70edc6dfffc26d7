//! Measures programs: how long they took, how long they waited for the device, and which class had
//! the processors.

use std::cell::RefCell;
use std::rc::Rc;

use penstock_core::{ClassId, Device, Done, Request, Span, Tap, Time};
use penstock_workload::program::Event;

use crate::measures::measure::Measure;
use crate::measures::values::{Values, ratio};
use crate::result::{ProgramResult, RunResult};

/// The events of the programs of a run. Clones share their data.
#[derive(Clone)]
pub(crate) struct ProgramBook(Rc<RefCell<ProgramEntries>>);

struct ProgramEntries {
    warmup: Time,
    /// The run is over when all programs of this class have ended.
    until: Option<ClassId>,
    over: Option<Time>,
    /// The class of a program that arrived when as many were under way as may be, and when.
    full: Option<(ClassId, Time)>,
    /// The class that has each processor, and since when.
    cpus: Vec<Option<(ClassId, Time)>>,
    /// Time at which each task asked for the request that was sent last.
    sent: Vec<Time>,
    classes: Vec<ProgramFigures>,
}

struct ProgramFigures {
    arrived: u64,
    ended: u64,
    time: Values,
    wait: Values,
    cpu: Span,
}

impl ProgramBook {
    /// Creates the book of `classes` classes on `cpus` processors, measured after `warmup`; the run
    /// is over when all programs of `until` have ended, if it is given.
    pub(crate) fn new(classes: usize, cpus: u32, warmup: Span, until: Option<ClassId>) -> Self {
        let class = |_| ProgramFigures {
            arrived: 0,
            ended: 0,
            time: Values::new(),
            wait: Values::new(),
            cpu: Span::ZERO,
        };
        Self(Rc::new(RefCell::new(ProgramEntries {
            warmup: Time::ZERO + warmup,
            until,
            over: None,
            full: None,
            cpus: vec![None; cpus as usize],
            sent: Vec::new(),
            classes: (0..classes).map(class).collect(),
        })))
    }

    /// Returns a function that books the events it is called with.
    pub(crate) fn receiver(self) -> Box<dyn FnMut(Event)> {
        Box::new(move |event| self.0.borrow_mut().book(event))
    }

    /// Wraps `device` so that the waits of its requests are entered here.
    pub(crate) fn over_device<D: Device>(&self, device: D) -> impl Device + use<D> {
        let pages = Rc::clone(&self.0);
        let sent = move |now, req: &Request| pages.borrow_mut().send(now, req);
        Tap::new(device, sent, |_, _: &[Done]| {})
    }

    /// Returns when the run was over, if it is because of its programs.
    pub(crate) fn over(&self) -> Option<Time> {
        self.0.borrow().over
    }

    /// Returns the class of the program that arrived when too many were under way, and when.
    pub(crate) fn full(&self) -> Option<(ClassId, Time)> {
        self.0.borrow().full
    }
}

impl Measure for ProgramBook {
    fn write(&mut self, end: Time, result: &mut RunResult) {
        let pages = &mut *self.0.borrow_mut();
        for cpu in 0..pages.cpus.len() {
            pages.off(cpu, end);
        }
        let all = end.since(pages.warmup).ns() as f64 / 1e9 * pages.cpus.len() as f64;
        for (result, class) in result.classes.iter_mut().zip(&pages.classes) {
            let cpu_time_s = class.cpu.ns() as f64 / 1e9;
            result.programs = Some(ProgramResult {
                n: class.ended,
                unfinished: class.arrived - class.ended,
                time_ns: class.time.distribution(),
                wait_ns: class.wait.distribution(),
                cpu_time_s,
                cpu_share: ratio(cpu_time_s, all),
            });
        }
    }
}

impl ProgramEntries {
    fn book(&mut self, event: Event) {
        // Events after the end do not count.
        if self.over.is_some() {
            return;
        }
        match event {
            Event::Arrived { class, at } if at >= self.warmup => {
                self.classes[class.index()].arrived += 1;
            }
            Event::Arrived { .. } => {}
            Event::Full { class, at } => self.full = Some((class, at)),
            Event::On { cpu, class, at, .. } => self.cpus[cpu as usize] = Some((class, at)),
            Event::Off { cpu, at } => self.off(cpu as usize, at),
            Event::Ended { class, arrived, at, last, .. } => {
                if arrived >= self.warmup {
                    let class = &mut self.classes[class.index()];
                    class.ended += 1;
                    class.time.add(at.since(arrived));
                }
                if last && self.until == Some(class) {
                    self.over = Some(at);
                }
            }
        }
    }

    /// Records that a command was sent: the first of a request ends its wait. A task has one
    /// request at a time.
    fn send(&mut self, now: Time, req: &Request) {
        let task = req.stream.0 as usize;
        if self.sent.len() <= task {
            self.sent.resize(task + 1, Time::NEVER);
        }
        if self.sent[task] != req.due {
            self.sent[task] = req.due;
            if now >= self.warmup {
                self.classes[req.class.index()].wait.add(now.since(req.due));
            }
        }
    }

    fn off(&mut self, cpu: usize, at: Time) {
        if let Some((class, since)) = self.cpus[cpu].take() {
            self.classes[class.index()].cpu += at.since(since.max(self.warmup));
        }
    }
}
