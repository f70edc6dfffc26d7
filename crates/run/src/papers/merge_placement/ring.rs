//! The model of a race: as many jobs as disks, in a ring. Job `i` reads from disk `i` and writes to the next.
//!
//! Each job has one read outstanding at any time. When the read has ended, the job writes the data,
//! as far as it makes whole writes, without waiting, and its next read goes to the end of the
//! queue. A disk serves in the order of arrival.
//!
//! The paper has two and three disks. Work that waits at a disk keeps the job that reads there from
//! writing, and so on around the ring.

use std::collections::VecDeque;

use penstock_core::{
    ClassId, Device, Done, Flags, Io, Limits, Op, Prio, Queued, Request, Rng, Seed, Source, Span,
    StreamId, Time, Virtual, run,
};
use penstock_device::Rack;
use penstock_policy::fcfs::Fcfs;
use rand::RngExt;
use serde::Serialize;

use crate::failure::Failure;
use crate::pool;

/// Bytes from the begin of one disk to the next in the address space of the ring.
const DISK: u64 = 1 << 40;

/// The stream of the write that is queued when a run begins; the stream of a job is its number.
const QUEUED: StreamId = StreamId(u32::MAX);

/// Minimum height of a peak, in tenths of the work of one read's data, or of one write if that is
/// more: less waits behind the write in service when a read more than usual came before the disk
/// was empty again.
const LEAST_PEAK_TENTHS: u64 = 22;

/// Distribution of the service times.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Service {
    /// Always the mean time.
    Constant,
    /// Uniform between zero and twice the mean.
    Uniform,
}

/// A run of the model.
#[derive(Clone, Debug)]
pub struct Ring {
    /// Number of disks, and of jobs.
    pub disks: u32,
    /// Mean time of a read.
    pub read: Span,
    /// Mean time of writing the data of one read.
    pub work: Span,
    /// Blocks of a read.
    pub read_blocks: u32,
    /// Blocks of a write.
    pub write_blocks: u32,
    /// Time of a write that is queued at the first disk when the run begins.
    pub queued: Span,
    /// Distribution of the service times.
    pub service: Service,
    /// The end of the run.
    pub until: Time,
    /// Seed of its random numbers.
    pub seed: u64,
    /// Interval at which to record the writes at each disk; also records the work queued before
    /// reads of the first job. `None` records neither.
    pub course: Option<Span>,
}

/// The result of a run.
#[derive(Debug, Default, Serialize)]
pub struct RingRun {
    /// Number of reads of each job.
    pub reads: Vec<u64>,
    /// Maximum numbers of writes at a disk between two times at which it had none, in the order in
    /// which these ended.
    pub peaks: Vec<Peak>,
    /// Maximum number of writes at a disk.
    pub most: u64,
    /// Work that was queued before each read of the first job except its first, in nanoseconds.
    pub queued_ns: Vec<u64>,
    /// Numbers of writes at each disk, at equal intervals of time.
    pub writes: Vec<Vec<u64>>,
}

/// The maximum number of writes at a disk between two times at which it had none.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Peak {
    /// The disk.
    pub disk: usize,
    /// Number of writes.
    pub writes: u64,
}

/// Runs each of `rings` on all cores; fewer if `go_on` returns `false`.
///
/// # Errors
/// [`Failure`]: a ring of fewer than two disks, or one whose requests take no time.
pub fn rings(rings: &[Ring], go_on: &mut dyn FnMut() -> bool) -> Result<Vec<RingRun>, Failure> {
    rings.iter().try_for_each(Ring::check)?;
    pool::map(rings, Ring::run, go_on)
        .map_err(|error| Failure::here("start a thread for the rings", &error))
}

impl Ring {
    fn check(&self) -> Result<(), Failure> {
        if self.disks < 2 {
            let message = format!("found a ring of {} disks; expected two at least", self.disks);
            return Err(Failure::wrong(message, "a job reads from one disk and writes to another"));
        }
        let none = [self.read, self.write()].contains(&Span::ZERO);
        if none || self.course == Some(Span::ZERO) || self.read_blocks == 0 {
            let message = "found requests that take no time; expected a time above zero";
            return Err(Failure::wrong(message, "a microsecond is enough"));
        }
        Ok(())
    }

    /// Mean time of a write.
    fn write(&self) -> Span {
        let blocks = u64::from(self.read_blocks.max(1));
        self.work.share(self.write_blocks.into(), blocks)
    }

    /// Runs the model.
    fn run(&self) -> RingRun {
        let disk = |number: u32| {
            Queued::new(Fcfs::default(), RingDisk::new(self, Seed(self.seed), number))
        };
        let mut stack = Rack::new((0..self.disks).map(disk).collect());
        let mut jobs = RingJobs::new(self);
        let limits = Limits { until: self.until, ..Limits::default() };
        run(&mut jobs, &mut stack, &mut Virtual::default(), &mut (), limits)
            .expect("every disk goes on, and no queue of a run that ends is too long");
        jobs.found
    }
}

/// All jobs of a ring.
struct RingJobs<'a> {
    ring: &'a Ring,
    asked: VecDeque<Io>,
    /// Blocks read by each job that do not yet make a write.
    left: Vec<u32>,
    /// State of the writes at each disk.
    writes: Vec<Writes>,
    /// Time of the next record of the writes.
    look: Time,
    found: RingRun,
}

#[derive(Clone, Copy, Default)]
struct Writes {
    now: u64,
    most: u64,
    work: Span,
}

impl<'a> RingJobs<'a> {
    fn new(ring: &'a Ring) -> Self {
        let disks = ring.disks as usize;
        let mut jobs = Self {
            ring,
            asked: VecDeque::new(),
            left: vec![0; disks],
            writes: vec![Writes::default(); disks],
            look: Time::ZERO,
            found: RingRun { reads: vec![0; disks], ..RingRun::default() },
        };
        if ring.queued > Span::ZERO {
            jobs.write(QUEUED, 0, ring.queued, Time::ZERO);
        }
        (0..ring.disks).for_each(|job| jobs.read(job, Time::ZERO));
        jobs
    }

    fn ask(&mut self, op: Op, stream: StreamId, disk: usize, len: u32, due: Time) {
        self.asked.push_back(Io {
            due,
            start: disk as u64 * DISK,
            len,
            stream,
            class: ClassId(0),
            op,
            prio: Prio(0),
            flags: Flags::NONE,
        });
    }

    fn read(&mut self, job: u32, now: Time) {
        self.ask(Op::Read, StreamId(job), job as usize, self.ring.read_blocks, now);
    }

    fn write(&mut self, stream: StreamId, disk: usize, work: Span, now: Time) {
        let writes = &mut self.writes[disk];
        writes.now += 1;
        writes.work += work;
        writes.most = writes.most.max(writes.now);
        self.found.most = self.found.most.max(writes.now);
        self.ask(Op::Write, stream, disk, self.ring.write_blocks, now);
    }

    /// Records that a write of `work` at `disk` has ended.
    fn wrote(&mut self, disk: usize, work: Span) {
        let writes = &mut self.writes[disk];
        writes.now -= 1;
        writes.work = writes.work - work;
        if writes.now == 0 {
            let Ring { work, .. } = self.ring;
            let least = (*work).max(self.ring.write()).ns();
            let waited = (writes.most - 1) * self.ring.write().ns();
            if 10 * waited >= LEAST_PEAK_TENTHS * least {
                self.found.peaks.push(Peak { disk, writes: writes.most });
            }
            writes.most = 0;
        }
    }

    /// Records that a read of `job` has ended.
    fn has_read(&mut self, job: u32, now: Time) {
        let number = job as usize;
        self.found.reads[number] += 1;
        if job == 0 && self.ring.course.is_some() {
            self.found.queued_ns.push(self.writes[0].work.ns());
        }
        let next = (number + 1) % self.writes.len();
        self.left[number] += self.ring.read_blocks;
        while self.left[number] >= self.ring.write_blocks {
            self.left[number] -= self.ring.write_blocks;
            self.write(StreamId(job), next, self.ring.write(), now);
        }
        self.read(job, now);
    }

    /// Records the writes at each disk at every interval up to `now`.
    fn look(&mut self, now: Time) {
        let Some(every) = self.ring.course else { return };
        while self.look <= now {
            self.found.writes.push(self.writes.iter().map(|writes| writes.now).collect());
            self.look += every;
        }
    }
}

impl Source for RingJobs<'_> {
    fn next_due(&self) -> Time {
        self.asked.front().map_or(Time::NEVER, |io| io.due)
    }

    fn take(&mut self, _: Time) -> Option<Io> {
        self.asked.pop_front()
    }

    fn finished(&mut self, now: Time, req: &Request, _: &Done) {
        self.look(now);
        if req.op == Op::Read {
            self.has_read(req.stream.0, now);
        } else {
            let queued = req.stream == QUEUED;
            let work = if queued { self.ring.queued } else { self.ring.write() };
            self.wrote((req.start / DISK) as usize, work);
        }
    }
}

/// A disk of a ring: a time for reads and a time for writes.
struct RingDisk {
    read: Span,
    write: Span,
    queued: Span,
    service: Service,
    rng: Rng,
    serving: Option<(Request, Time, Time)>,
}

impl RingDisk {
    fn new(ring: &Ring, seed: Seed, number: u32) -> Self {
        Self {
            read: ring.read,
            write: ring.write(),
            queued: ring.queued,
            service: ring.service,
            rng: seed.stream("ring", number.into()),
            serving: None,
        }
    }

    fn time(&mut self, req: &Request) -> Span {
        let mean = match req.op {
            _ if req.stream == QUEUED => return self.queued,
            Op::Read => self.read,
            _ => self.write,
        };
        match self.service {
            Service::Constant => mean,
            Service::Uniform => Span::from_ns(self.rng.random_range(0..=2 * mean.ns())),
        }
    }
}

impl Device for RingDisk {
    fn capacity(&self) -> u64 {
        DISK
    }

    fn block(&self) -> u32 {
        1
    }

    fn room(&self) -> u32 {
        u32::from(self.serving.is_none())
    }

    fn start(&mut self, now: Time, req: &Request) {
        debug_assert!(self.room() > 0, "started without room");
        let ends = now + self.time(req);
        self.serving = Some((*req, now, ends));
    }

    fn wakeup(&self) -> Time {
        self.serving.as_ref().map_or(Time::NEVER, |(.., ends)| *ends)
    }

    fn advance(&mut self, now: Time, done: &mut Vec<Done>) {
        let Some((req, begun, ends)) = self.serving.take_if(|(.., ends)| *ends <= now) else {
            return;
        };
        let service = ends.since(begun);
        done.push(Done { id: req.id, at: now, begun, service, len: req.len, error: None });
    }
}
