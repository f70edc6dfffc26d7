//! The model of a race: as many jobs as disks, in a ring. Job `i` reads from disk `i` and writes to the next.
//!
//! Each job has one read outstanding at any time. When it has ended, the job writes what it has read, as far
//! as that makes whole writes, waits for none of them, and its next read goes to the end of the queue. A
//! disk serves in the order of arrival.
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

/// Where a disk of the ring begins in the address space of all.
const DISK: u64 = 1 << 40;

/// The stream of the write that is queued when a run begins; those of jobs are their numbers.
const QUEUED: StreamId = StreamId(u32::MAX);

/// A peak is none if less work waits behind the write in service than so many tenths of what one read
/// makes, or of one write: a read more than usual came between two emptyings of the disk.
const LEAST_PEAK_TENTHS: u64 = 22;

/// How long a request takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Service {
    /// Its mean time.
    Constant,
    /// Anything from nothing to twice that, as likely.
    Uniform,
}

/// One run of the model.
#[derive(Clone, Debug)]
pub struct Ring {
    /// Disks, and jobs.
    pub disks: u32,
    /// Mean time of a read.
    pub read: Span,
    /// Mean time of writing what a read has brought.
    pub work: Span,
    /// Blocks of a read.
    pub read_blocks: u32,
    /// Blocks of a write.
    pub write_blocks: u32,
    /// What a write takes that is queued at the first disk when the run begins.
    pub queued: Span,
    /// How long requests take.
    pub service: Service,
    /// The end of the run.
    pub until: Time,
    /// Of its random numbers.
    pub seed: u64,
    /// Keep what the first job's reads have found queued, and the writes at each disk so often.
    pub course: Option<Span>,
}

/// What came of it.
#[derive(Debug, Default, Serialize)]
pub struct RingRun {
    /// Reads that each job has made.
    pub reads: Vec<u64>,
    /// How many writes there were at most at a disk between two times at which it had none, in the order
    /// in which these ended.
    pub peaks: Vec<Peak>,
    /// Writes that were at a disk at most.
    pub most: u64,
    /// Work that was queued before each read of the first job but its first, in nanoseconds.
    pub queued_ns: Vec<u64>,
    /// Writes at each disk, at equal distances of time.
    pub writes: Vec<Vec<u64>>,
}

/// The most writes at a disk between two times at which it had none.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Peak {
    /// The disk.
    pub disk: usize,
    /// How many.
    pub writes: u64,
}

/// Runs each of `rings` on all cores; fewer if `go_on` says no.
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

    /// The run.
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
    /// Blocks of each job that do not yet make a write.
    left: Vec<u32>,
    /// Writes at each disk, the most since it had none, and their work in nanoseconds.
    writes: Vec<Writes>,
    /// When the course is looked at next.
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

    /// A write at `disk` of `work` has ended.
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

    /// A read of `job` has ended.
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

    /// Notes the writes at each disk up to `now`.
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

/// A disk of a ring: a time for reads and one for writes.
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
