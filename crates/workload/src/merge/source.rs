//! All jobs of a merge as one source of requests.

use std::collections::VecDeque;
use std::sync::Arc;

use penstock_core::{
    ClassId, Done, Flags, Io, Op, Prio, Request, Seed, Source, Span, StreamId, Time,
};

use super::depletion::{Depletion, DepletionOrder};
use super::job::{Job, MergePhase, Transfer, Wait};
use super::memory::{Accounts, Memory, WhenFull};
use super::placement::Layout;
use super::shape::Shape;

/// Merges side by side. Their disks lie behind each other in one address space. The class and
/// stream of a job have its number.
#[derive(Clone, Debug)]
pub struct Merge {
    /// The sizes that all jobs share.
    pub shape: Shape,
    /// The places of all data, and with them the number of jobs.
    pub layout: Layout,
    /// Bytes of a disk.
    pub disk: u64,
    /// The limit on blocks in memory.
    pub memory: Memory,
    /// The behaviour of a job whose memory is full.
    pub when_full: WhenFull,
    /// The rule that chooses the run whose next block is used up.
    pub depletion: Depletion,
    /// Time from the beginning of a job to that of the next.
    pub stagger: Span,
    /// Processor time for each block; each job has a processor of its own.
    pub cpu: Span,
    /// The priority of each job's class.
    pub prios: Vec<Prio>,
    /// The only job that takes part, if not all do.
    pub only: Option<u32>,
}

impl Merge {
    /// Number of jobs.
    pub fn jobs(&self) -> u32 {
        self.layout.jobs.len() as u32
    }

    /// Whether `job` takes part.
    pub fn has(&self, job: u32) -> bool {
        self.only.is_none_or(|only| only == job)
    }
}

/// An event of a job, for an observer that measures.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Event {
    /// A job has used up blocks.
    UsedUp {
        /// The job.
        job: u32,
        /// Number of blocks since its beginning.
        blocks: u64,
        /// Time of the event.
        at: Time,
    },
    /// A job begins to wait.
    Waits {
        /// The job.
        job: u32,
        /// The reason.
        wait: Wait,
        /// Time of the event.
        at: Time,
    },
    /// A job continues after a wait.
    GoesOn {
        /// The job.
        job: u32,
        /// Time of the event.
        at: Time,
    },
    /// The last block of a job is written.
    Finished {
        /// The job.
        job: u32,
        /// Time of the event.
        at: Time,
    },
}

/// The source of a [`Merge`]; `observer` gets the events of its jobs.
pub struct Merges<O> {
    merge: Arc<Merge>,
    jobs: Vec<Job>,
    memory: Accounts,
    /// Requests of this instant that have not been taken.
    pending: VecDeque<Io>,
    /// Time of the next event that is not a completion.
    next: Time,
    observer: O,
}

impl<O: FnMut(Event)> Merges<O> {
    /// Creates the source. Each job has its own stream of random numbers from `seed`.
    pub fn new(merge: Arc<Merge>, seed: Seed, observer: O) -> Self {
        let job = |number: u32| {
            let order = DepletionOrder::new(
                merge.depletion,
                &merge.shape,
                seed.stream("merge", number.into()),
            );
            let begins = Time::ZERO + merge.stagger.share(number.into(), 1);
            let phase =
                if merge.has(number) { MergePhase::Begins(begins) } else { MergePhase::Over };
            Job::new(merge.shape, merge.layout.jobs[number as usize].clone(), order, phase)
        };
        let mut merges = Self {
            jobs: (0..merge.jobs()).map(job).collect(),
            memory: Accounts::new(merge.memory, merge.jobs(), 1),
            pending: VecDeque::new(),
            next: Time::NEVER,
            observer,
            merge,
        };
        merges.update_next();
        merges
    }

    /// Updates the time of the next event.
    fn update_next(&mut self) {
        let at = |job: &Job| match job.phase {
            // A job that waits for memory begins when it gets it.
            MergePhase::Begins(_) if job.waits.is_some() => Time::NEVER,
            MergePhase::Begins(at) | MergePhase::Computes(at) => at,
            _ => Time::NEVER,
        };
        self.next = self.jobs.iter().map(at).min().unwrap_or(Time::NEVER);
    }

    /// Handles the events that are due at `now`, except completions.
    fn settle(&mut self, now: Time) {
        // The second condition ends the loop if `now` is `Time::NEVER`.
        while self.next <= now && self.next < Time::NEVER {
            let at = self.next;
            for job in 0..self.merge.jobs() {
                match self.jobs[job as usize].phase {
                    MergePhase::Begins(begins) if begins == at => self.begin(job, at),
                    MergePhase::Computes(until) if until == at => {
                        self.jobs[job as usize].phase = MergePhase::Merges;
                        self.use_up(job, at);
                        self.go_on(job, at);
                    }
                    _ => {}
                }
            }
            self.update_next();
        }
    }

    /// Requests the first groups of `job`, if there is memory for them.
    fn begin(&mut self, job: u32, at: Time) {
        let needs = self.merge.shape.first_groups();
        if !self.memory.take(job, needs) {
            return self.wait_for_memory(job, needs as u32, at);
        }
        self.jobs[job as usize].phase = MergePhase::Fills(self.merge.shape.runs);
        for run in 0..self.merge.shape.runs {
            let transfer = self.jobs[job as usize].request_group(run);
            self.send(job, transfer, at);
        }
        self.wait(job, Wait::Read, at);
    }

    /// Lets `job` merge until it has to wait, and reports its events.
    fn go_on(&mut self, job: u32, at: Time) {
        let before = self.jobs[job as usize].used;
        let wait = self.merge_blocks(job, at);
        let Job { used, phase, .. } = self.jobs[job as usize];
        if used > before {
            self.resume(job, at);
            (self.observer)(Event::UsedUp { job, blocks: used, at });
        }
        match (wait, phase) {
            (Some(wait), _) => self.wait(job, wait, at),
            (None, MergePhase::Over) => {}
            (None, _) => self.resume(job, at),
        }
    }

    /// Lets `job` merge until it has to wait. Returns the reason; `None` if it waits only for its
    /// processor or its last writes.
    fn merge_blocks(&mut self, job: u32, at: Time) -> Option<Wait> {
        let number = job as usize;
        loop {
            let short = self.read_ahead(job, at);
            if let Some(needs) = short.filter(|_| self.merge.when_full == WhenFull::Block) {
                return Some(self.memory_wait(job, needs));
            }
            if let Some(run) = self.jobs[number].blocked_run() {
                let put_off = short.filter(|_| self.jobs[number].is_postponed(run));
                return Some(put_off.map_or(Wait::Read, |needs| self.memory_wait(job, needs)));
            }
            if self.jobs[number].is_used_up() {
                if let Some(write) = self.jobs[number].flush() {
                    self.send(job, write, at);
                }
                self.jobs[number].phase = MergePhase::Writes;
                return None;
            }
            if let Memory::Writes(limit) = self.merge.memory
                && self.jobs[number].unwritten() >= limit.into()
            {
                return Some(self.memory_wait(job, 1));
            }
            if self.merge.cpu > Span::ZERO {
                self.jobs[number].phase = MergePhase::Computes(at + self.merge.cpu);
                return None;
            }
            self.use_up(job, at);
        }
    }

    /// Uses up a block of `job`, and writes if that fills a write.
    fn use_up(&mut self, job: u32, at: Time) {
        if let Some(write) = self.jobs[job as usize].use_up() {
            self.send(job, write, at);
        }
        if self.merge.cpu > Span::ZERO {
            let blocks = self.jobs[job as usize].used;
            (self.observer)(Event::UsedUp { job, blocks, at });
        }
    }

    /// Requests the next groups of `job` while there is memory. Returns the number of blocks of the
    /// first group for which there is none.
    fn read_ahead(&mut self, job: u32, at: Time) -> Option<u32> {
        while let Some((run, blocks)) = self.jobs[job as usize].next_group() {
            if !self.memory.take(job, blocks.into()) {
                return Some(blocks);
            }
            let transfer = self.jobs[job as usize].request_group(run);
            self.jobs[job as usize].group_requested(run);
            self.send(job, transfer, at);
        }
        None
    }

    /// Frees the memory of `blocks` written blocks of `job`, and lets waiting jobs try again.
    fn release(&mut self, job: u32, blocks: u32, at: Time) {
        self.memory.give(job, blocks.into());
        self.retry(job, at);
        while let Some(first) = self.memory.first_waiting() {
            self.retry(first, at);
            if self.memory.first_waiting() == Some(first) {
                break;
            }
        }
    }

    /// Lets `job` try again what it had no memory for.
    fn retry(&mut self, job: u32, at: Time) {
        let Job { phase, waits, .. } = self.jobs[job as usize];
        match phase {
            MergePhase::Begins(_) if waits.is_some() => self.begin(job, at),
            MergePhase::Merges => self.go_on(job, at),
            MergePhase::Computes(_) => drop(self.read_ahead(job, at)),
            _ => {}
        }
    }

    /// A wait of `job` for memory for `needs` blocks.
    fn memory_wait(&self, job: u32, needs: u32) -> Wait {
        Wait::Memory { needs, holds: self.jobs[job as usize].holds() }
    }

    fn wait_for_memory(&mut self, job: u32, needs: u32, at: Time) {
        let wait = self.memory_wait(job, needs);
        self.wait(job, wait, at);
    }

    fn wait(&mut self, job: u32, wait: Wait, at: Time) {
        let waits = &mut self.jobs[job as usize].waits;
        if *waits != Some(wait) {
            *waits = Some(wait);
            (self.observer)(Event::Waits { job, wait, at });
        }
    }

    /// Ends the wait of `job`, if it waits.
    fn resume(&mut self, job: u32, at: Time) {
        if self.jobs[job as usize].waits.take().is_some() {
            (self.observer)(Event::GoesOn { job, at });
        }
    }

    /// Queues the request of `job` for `transfer`.
    fn send(&mut self, job: u32, transfer: Transfer, at: Time) {
        let Transfer { op, disk, block, blocks } = transfer;
        let Merge { shape, disk: bytes, prios, .. } = &*self.merge;
        self.pending.push_back(Io {
            due: at,
            start: u64::from(disk) * bytes + block * u64::from(shape.block),
            len: blocks * shape.block,
            stream: StreamId(job),
            class: ClassId(job as u16),
            op,
            prio: prios[job as usize],
            flags: Flags::of_program(op),
        });
    }
}

impl<O: FnMut(Event)> Source for Merges<O> {
    fn next_due(&self) -> Time {
        self.pending.front().map_or(self.next, |io| io.due)
    }

    fn take(&mut self, now: Time) -> Option<Io> {
        if self.pending.is_empty() {
            self.settle(now);
        }
        self.pending.pop_front()
    }

    fn finished(&mut self, now: Time, req: &Request, _: &Done) {
        let (job, blocks) = (req.stream.0, req.len / self.merge.shape.block);
        if req.op == Op::Read {
            let disk = (req.start / self.merge.disk) as u32;
            let block = req.start % self.merge.disk / u64::from(self.merge.shape.block);
            if self.jobs[job as usize].arrived(disk, block, blocks) {
                self.go_on(job, now);
            }
        } else {
            self.jobs[job as usize].blocks_written(blocks);
            self.release(job, blocks, now);
            if self.jobs[job as usize].is_over() {
                self.jobs[job as usize].phase = MergePhase::Over;
                (self.observer)(Event::Finished { job, at: now });
            }
        }
        self.update_next();
    }

    fn waits(&self) -> bool {
        self.jobs.iter().any(|job| job.phase != MergePhase::Over)
    }
}
