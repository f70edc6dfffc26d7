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

/// Merges side by side on disks of one address space, each of which begins where the one before it
/// ends. A job's class and stream have its number.
#[derive(Clone, Debug)]
pub struct Merge {
    /// What the jobs are alike in.
    pub shape: Shape,
    /// Where everything lies; there are as many jobs as it has.
    pub layout: Layout,
    /// Bytes of a disk.
    pub disk: u64,
    /// How many blocks may be in memory.
    pub memory: Memory,
    /// What a job does whose memory is full.
    pub when_full: WhenFull,
    /// Which run is used up next.
    pub depletion: Depletion,
    /// From the beginning of one job to that of the next.
    pub stagger: Span,
    /// Time of a processor for each block; each job has a processor of its own.
    pub cpu: Span,
    /// The priority of each job's class.
    pub prios: Vec<Prio>,
    /// The only job that takes part, if not all do.
    pub only: Option<u32>,
}

impl Merge {
    /// How many jobs there are.
    pub fn jobs(&self) -> u32 {
        self.layout.jobs.len() as u32
    }

    /// Whether `job` takes part.
    pub fn has(&self, job: u32) -> bool {
        self.only.is_none_or(|only| only == job)
    }
}

/// What happens to a job.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Event {
    /// It has used up so many blocks.
    UsedUp {
        /// The job.
        job: u32,
        /// Blocks since its beginning.
        blocks: u64,
        /// When.
        at: Time,
    },
    /// It begins to wait.
    Waits {
        /// The job.
        job: u32,
        /// For what.
        wait: Wait,
        /// Since when.
        at: Time,
    },
    /// It goes on.
    GoesOn {
        /// The job.
        job: u32,
        /// When.
        at: Time,
    },
    /// Its last block is written.
    Finished {
        /// The job.
        job: u32,
        /// When.
        at: Time,
    },
}

/// The source of a [`Merge`]; `observer` gets the events of its jobs.
pub struct Merges<O> {
    merge: Arc<Merge>,
    jobs: Vec<Job>,
    memory: Accounts,
    /// Requests at this instant that have not gone out.
    asked: VecDeque<Io>,
    /// When something happens next that is not a completion.
    next: Time,
    observer: O,
}

impl<O: FnMut(Event)> Merges<O> {
    /// At its beginning; each job has a stream of random numbers of its own from `seed`.
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
            asked: VecDeque::new(),
            next: Time::NEVER,
            observer,
            merge,
        };
        merges.look();
        merges
    }

    /// Finds out when something happens next.
    fn look(&mut self) {
        let at = |job: &Job| match job.phase {
            // One that waits for memory begins when it has that.
            MergePhase::Begins(_) if job.waits.is_some() => Time::NEVER,
            MergePhase::Begins(at) | MergePhase::Computes(at) => at,
            _ => Time::NEVER,
        };
        self.next = self.jobs.iter().map(at).min().unwrap_or(Time::NEVER);
    }

    /// Handles all that is due at `now`.
    fn settle(&mut self, now: Time) {
        // Who asks what will never take place asks until the end of all time.
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
            self.look();
        }
    }

    /// Asks for the first groups of `job`, if there is memory for them.
    fn begin(&mut self, job: u32, at: Time) {
        let needs = self.merge.shape.first_groups();
        if !self.memory.take(job, needs) {
            return self.wait_for_memory(job, needs as u32, at);
        }
        self.jobs[job as usize].phase = MergePhase::Fills(self.merge.shape.runs);
        for run in 0..self.merge.shape.runs {
            let transfer = self.jobs[job as usize].ask(run);
            self.send(job, transfer, at);
        }
        self.wait(job, Wait::Read, at);
    }

    /// `job` merges until it has to wait.
    fn go_on(&mut self, job: u32, at: Time) {
        let before = self.jobs[job as usize].used;
        let wait = self.merge_on(job, at);
        let Job { used, phase, .. } = self.jobs[job as usize];
        if used > before {
            self.goes_on(job, at);
            (self.observer)(Event::UsedUp { job, blocks: used, at });
        }
        match (wait, phase) {
            (Some(wait), _) => self.wait(job, wait, at),
            (None, MergePhase::Over) => {}
            (None, _) => self.goes_on(job, at),
        }
    }

    /// The same; what it then waits for, if for anything but its processor and its last writes.
    fn merge_on(&mut self, job: u32, at: Time) -> Option<Wait> {
        let number = job as usize;
        loop {
            let short = self.read_ahead(job, at);
            if let Some(needs) = short.filter(|_| self.merge.when_full == WhenFull::Block) {
                return Some(self.for_memory(job, needs));
            }
            if let Some(run) = self.jobs[number].lacks() {
                let put_off = short.filter(|_| self.jobs[number].puts_off(run));
                return Some(put_off.map_or(Wait::Read, |needs| self.for_memory(job, needs)));
            }
            if self.jobs[number].is_used_up() {
                if let Some(write) = self.jobs[number].flush() {
                    self.send(job, write, at);
                }
                self.jobs[number].phase = MergePhase::Writes;
                return None;
            }
            if let Memory::Writes(most) = self.merge.memory
                && self.jobs[number].unwritten() >= most.into()
            {
                return Some(self.for_memory(job, 1));
            }
            if self.merge.cpu > Span::ZERO {
                self.jobs[number].phase = MergePhase::Computes(at + self.merge.cpu);
                return None;
            }
            self.use_up(job, at);
        }
    }

    /// `job` uses up a block, and writes if that is enough for a write.
    fn use_up(&mut self, job: u32, at: Time) {
        if let Some(write) = self.jobs[job as usize].use_up() {
            self.send(job, write, at);
        }
        if self.merge.cpu > Span::ZERO {
            let blocks = self.jobs[job as usize].used;
            (self.observer)(Event::UsedUp { job, blocks, at });
        }
    }

    /// Asks for the groups that `job` wants, as far as there is memory. Returns how many blocks the first
    /// has for which there is none.
    fn read_ahead(&mut self, job: u32, at: Time) -> Option<u32> {
        while let Some((run, blocks)) = self.jobs[job as usize].wanted() {
            if !self.memory.take(job, blocks.into()) {
                return Some(blocks);
            }
            let transfer = self.jobs[job as usize].ask(run);
            self.jobs[job as usize].asked(run);
            self.send(job, transfer, at);
        }
        None
    }

    /// So many blocks of `job` are written and their memory is free.
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

    /// `job` tries again what it had no memory for.
    fn retry(&mut self, job: u32, at: Time) {
        let Job { phase, waits, .. } = self.jobs[job as usize];
        match phase {
            MergePhase::Begins(_) if waits.is_some() => self.begin(job, at),
            MergePhase::Merges => self.go_on(job, at),
            MergePhase::Computes(_) => drop(self.read_ahead(job, at)),
            _ => {}
        }
    }

    fn for_memory(&self, job: u32, needs: u32) -> Wait {
        Wait::Memory { needs, holds: self.jobs[job as usize].holds() }
    }

    fn wait_for_memory(&mut self, job: u32, needs: u32, at: Time) {
        let wait = self.for_memory(job, needs);
        self.wait(job, wait, at);
    }

    fn wait(&mut self, job: u32, wait: Wait, at: Time) {
        let waits = &mut self.jobs[job as usize].waits;
        if *waits != Some(wait) {
            *waits = Some(wait);
            (self.observer)(Event::Waits { job, wait, at });
        }
    }

    fn goes_on(&mut self, job: u32, at: Time) {
        if self.jobs[job as usize].waits.take().is_some() {
            (self.observer)(Event::GoesOn { job, at });
        }
    }

    /// `job` asks for `transfer`.
    fn send(&mut self, job: u32, transfer: Transfer, at: Time) {
        let Transfer { op, disk, block, blocks } = transfer;
        let Merge { shape, disk: bytes, prios, .. } = &*self.merge;
        self.asked.push_back(Io {
            due: at,
            start: u64::from(disk) * bytes + block * u64::from(shape.block),
            len: blocks * shape.block,
            stream: StreamId(job),
            class: ClassId(job as u16),
            op,
            prio: prios[job as usize],
            flags: Flags::NONE,
        });
    }
}

impl<O: FnMut(Event)> Source for Merges<O> {
    fn next_due(&self) -> Time {
        self.asked.front().map_or(self.next, |io| io.due)
    }

    fn take(&mut self, now: Time) -> Option<Io> {
        if self.asked.is_empty() {
            self.settle(now);
        }
        self.asked.pop_front()
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
            self.jobs[job as usize].wrote(blocks);
            self.release(job, blocks, now);
            if self.jobs[job as usize].is_over() {
                self.jobs[job as usize].phase = MergePhase::Over;
                (self.observer)(Event::Finished { job, at: now });
            }
        }
        self.look();
    }

    fn waits(&self) -> bool {
        self.jobs.iter().any(|job| job.phase != MergePhase::Over)
    }
}
