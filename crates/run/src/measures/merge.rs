//! Measures merges side by side: when each has finished, how far they drift apart, what they wait
//! for, and how many writes are queued at a disk.

use std::cell::RefCell;
use std::rc::Rc;

use penstock_core::{Op, Request, Source, Span, Time};
use penstock_workload::Merge;
use penstock_workload::merge::{Event, Held, Memory, Shape, Wait};

use crate::measures::measure::{Finished, Measure};
use crate::measures::values::ratio;
use crate::result::{BlockedResult, MergeResult, RunResult};

/// The events of the merges of a run. Clones share their data.
#[derive(Clone)]
pub(crate) struct MergeBook(Rc<RefCell<MergeEntries>>);

struct MergeEntries {
    /// Whether the run has ended: later requests to the source do not take place.
    ended: bool,
    /// Jobs that take part, in the order of their numbers.
    jobs: Vec<MergeFigures>,
    memory: Memory,
    /// Blocks of memory that always suffice, if there is a bound.
    enough: Option<u64>,
    shape: Shape,
    /// Bytes of a disk.
    disk: u64,
    apart: Apart,
    /// Writes at each disk, and the most that ever were.
    writes: Vec<u64>,
    most_writes: u64,
    read: Services,
    write: Services,
}

struct MergeFigures {
    number: u32,
    used_up: u64,
    finished: Option<Time>,
    /// The wait that the job is in, and since when.
    waits: Option<(Wait, Time)>,
    for_reads: Span,
    for_memory: Span,
}

/// The lead of the first job over the last, in blocks.
#[derive(Default)]
struct Apart {
    most: u64,
    now: u64,
    since: Time,
    /// Blocks times nanoseconds.
    area: u128,
}

/// Device time of some requests.
#[derive(Default)]
struct Services {
    count: u64,
    sum: Span,
}

impl MergeBook {
    /// Creates the book of the jobs of `merge` that take part.
    pub(crate) fn new(merge: &Merge) -> Self {
        let job = |number| MergeFigures {
            number,
            used_up: 0,
            finished: None,
            waits: None,
            for_reads: Span::ZERO,
            for_memory: Span::ZERO,
        };
        Self(Rc::new(RefCell::new(MergeEntries {
            ended: false,
            jobs: (0..merge.jobs()).filter(|job| merge.has(*job)).map(job).collect(),
            memory: merge.memory,
            enough: merge.memory.always_enough(&merge.shape, merge.jobs()),
            shape: merge.shape,
            disk: merge.disk,
            apart: Apart::default(),
            writes: vec![0; merge.layout.used.len()],
            most_writes: 0,
            read: Services::default(),
            write: Services::default(),
        })))
    }

    /// Returns a function that books the events it is called with.
    pub(crate) fn receiver(self) -> Box<dyn FnMut(Event)> {
        Box::new(move |event| self.0.borrow_mut().book(event))
    }

    /// Returns the first job that waits for memory, with what it holds, and how much would suffice.
    pub(crate) fn starved(&self) -> Option<Starved> {
        let entries = self.0.borrow();
        let waits = |job: &MergeFigures| match job.waits {
            Some((Wait::Memory { needs, holds }, _)) => Some((job.number, needs, holds)),
            _ => None,
        };
        let (job, needs, holds) = entries.jobs.iter().find_map(waits)?;
        Some(Starved { job, needs, holds, memory: entries.memory, enough: entries.enough? })
    }
}

/// A job that waits for memory in a deadlock.
pub(crate) struct Starved {
    pub(crate) job: u32,
    needs: u32,
    holds: Held,
    memory: Memory,
    enough: u64,
}

impl Starved {
    /// Describes what it holds and what it lacks.
    pub(crate) fn what(&self) -> String {
        let Held { read, output } = self.holds;
        let of = match self.memory {
            Memory::Pool(blocks) => format!("{blocks} of all jobs"),
            memory => memory.blocks().unwrap_or(0).to_string(),
        };
        let needs = self.needs;
        format!(
            "holds {read} blocks of its runs and {output} of its output, and needs {needs} more of {of}"
        )
    }

    /// Tells how much memory would suffice.
    pub(crate) fn hint(&self) -> String {
        let key = match self.memory {
            Memory::Pool(_) => "pool",
            _ => "partition",
        };
        let enough = self.enough;
        format!("{enough} blocks are always enough: --set merge.memory.{key}={enough}")
    }
}

impl MergeEntries {
    fn job(&mut self, number: u32) -> &mut MergeFigures {
        let job = self.jobs.iter_mut().find(|job| job.number == number);
        job.expect("events are of jobs that take part")
    }

    fn book(&mut self, event: Event) {
        if self.ended {
            return;
        }
        match event {
            Event::UsedUp { job, blocks, at } => {
                self.job(job).used_up = blocks;
                let used = || self.jobs.iter().map(|job| job.used_up);
                let apart = used().max().unwrap_or(0) - used().min().unwrap_or(0);
                self.apart.is(apart, at);
            }
            Event::Waits { job, wait, at } => self.job(job).waits(Some(wait), at),
            Event::GoesOn { job, at } => self.job(job).waits(None, at),
            Event::Finished { job, at } => self.job(job).finished = Some(at),
        }
    }
}

impl MergeEntries {
    /// Returns the write time of a block, times the number of disks that an output leaves for runs,
    /// over the read time of a block.
    fn f_eff(&self) -> Option<f64> {
        let of_block = |services: &Services, at_once| services.mean_ms() / f64::from(at_once);
        let write = of_block(&self.write, self.shape.write);
        let read = of_block(&self.read, self.shape.read);
        let others = self.writes.len() as f64 - 1.0;
        (read > 0.0 && write > 0.0).then(|| write * others / read)
    }
}

impl MergeFigures {
    /// Records that the job waits for `wait` from `at` on; `None`: it goes on.
    fn waits(&mut self, wait: Option<Wait>, at: Time) {
        self.add_wait(at);
        self.waits = wait.map(|wait| (wait, at));
    }

    fn add_wait(&mut self, until: Time) {
        match self.waits {
            None => {}
            Some((Wait::Read, since)) => self.for_reads += until.since(since),
            Some((Wait::Memory { .. }, since)) => self.for_memory += until.since(since),
        }
    }
}

impl Apart {
    fn is(&mut self, blocks: u64, at: Time) {
        self.area += u128::from(self.now) * u128::from(at.since(self.since).ns());
        self.most = self.most.max(blocks);
        (self.now, self.since) = (blocks, at);
    }
}

impl Services {
    fn add(&mut self, service: Span) {
        self.count += 1;
        self.sum += service;
    }

    /// The mean in milliseconds.
    fn mean_ms(&self) -> f64 {
        ratio(self.sum.ns() as f64 / 1e6, self.count as f64)
    }
}

impl Measure for MergeBook {
    fn arrived(&mut self, _: Time, req: &Request) {
        if req.op == Op::Write {
            let MergeEntries { writes, most_writes, disk, .. } = &mut *self.0.borrow_mut();
            let queued = &mut writes[(req.start / *disk) as usize];
            *queued += 1;
            *most_writes = (*queued).max(*most_writes);
        }
    }

    fn finished(&mut self, _: Time, req: &Request, how: &Finished) {
        let entries = &mut *self.0.borrow_mut();
        if req.op == Op::Write {
            entries.writes[(req.start / entries.disk) as usize] -= 1;
            entries.write.add(how.service);
        } else {
            entries.read.add(how.service);
        }
    }

    fn ended(&mut self, _: &mut dyn Source, _: Time, _: Time) {
        self.0.borrow_mut().ended = true;
    }

    fn write(&mut self, end: Time, result: &mut RunResult) {
        let entries = &mut *self.0.borrow_mut();
        let seconds = |span: Span| span.ns() as f64 / 1e9;
        let finished: Option<Vec<Time>> = entries.jobs.iter().map(|job| job.finished).collect();
        let makespan = finished.and_then(|all| all.into_iter().max());
        let until = makespan.unwrap_or(end);
        entries.apart.is(0, until);
        let blocks = entries.shape.blocks() as f64;
        let blocked = |job: &mut MergeFigures| {
            job.waits(None, until);
            BlockedResult { read: seconds(job.for_reads), memory: seconds(job.for_memory) }
        };
        let of_start = |at: Time| seconds(at.since(Time::ZERO));
        result.merge = Some(MergeResult {
            makespan_s: makespan.map(of_start),
            finish_s: entries.jobs.iter().map(|job| job.finished.map(of_start)).collect(),
            divergence_max: ratio(entries.apart.most as f64, blocks),
            divergence_mean: ratio(entries.apart.area as f64, blocks * of_start(until) * 1e9),
            max_queued_writes: entries.most_writes,
            blocked_s: entries.jobs.iter_mut().map(blocked).collect(),
            read_ms: entries.read.mean_ms(),
            write_ms: entries.write.mean_ms(),
            f_eff: entries.f_eff(),
        });
    }
}
