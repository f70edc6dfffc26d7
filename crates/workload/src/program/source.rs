//! Tasks on their way through the phases of their programs.

use std::collections::VecDeque;

use penstock_core::{ClassId, Done, Io, Request, Rng, Seed, Source, StreamId, Time};
use rand::RngExt;

use super::arrivals::Calendar;
use super::cpus::{CpuChange, Cpus, Scheduler};
use super::phases::{Phase, Program};
use crate::agent::Pattern;

/// An event of a task, for an observer that measures.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Event {
    /// A task arrived.
    Arrived {
        /// The class of the task.
        class: ClassId,
        /// Time of the event.
        at: Time,
    },
    /// A processor was given to a task.
    On {
        /// Number of the processor.
        cpu: u32,
        /// Slot of the task, which no other task has before this one has ended.
        task: u32,
        /// The class of the task.
        class: ClassId,
        /// Time of the event.
        at: Time,
    },
    /// A processor was taken from its task.
    Off {
        /// Number of the processor.
        cpu: u32,
        /// Time of the event.
        at: Time,
    },
    /// A task has finished its program.
    Ended {
        /// Slot of the task.
        task: u32,
        /// The class of the task.
        class: ClassId,
        /// Time at which the task arrived.
        arrived: Time,
        /// Time of the event.
        at: Time,
        /// Whether no task of the class is left and none will arrive.
        last: bool,
    },
    /// A task arrived while the largest allowed number of tasks was active. It does not begin, and
    /// the run stops.
    Full {
        /// The class of the task.
        class: ClassId,
        /// Time of the event.
        at: Time,
    },
}

/// All programs of a job as one source; `observer` gets the events of their tasks.
pub struct Programs<O> {
    kinds: Vec<Kind>,
    scheduler: Scheduler,
    /// Largest number of active tasks.
    tasks_most: usize,
    tasks: Vec<Task>,
    free: Vec<u32>,
    /// Requests of this instant that have not been taken.
    pending: VecDeque<Io>,
    now: Time,
    /// Whether a completion may have made a task ready since processors were last allocated.
    unsettled: bool,
    observer: O,
}

/// A program, and its progress.
struct Kind {
    program: Program,
    calendar: Calendar,
    rng: Rng,
    /// The position of a sequential pattern.
    cursor: u64,
    /// Number of tasks that have not ended.
    alive: u32,
}

#[derive(Clone, Copy)]
struct Task {
    kind: u32,
    arrived: Time,
    phase: u32,
    /// Number of times that the task has gone through all phases.
    rounds: u32,
}

impl<O: FnMut(Event)> Programs<O> {
    /// Creates a source of `programs` on `cpus`. Each program has its own streams of random numbers
    /// from `seed`. At most `tasks_most` tasks may be active.
    ///
    /// # Panics
    /// If there is no processor, or a program has no phase or a region too small for its requests.
    pub fn new(
        programs: Vec<Program>,
        cpus: Cpus,
        tasks_most: u32,
        seed: Seed,
        observer: O,
    ) -> Self {
        assert!(cpus.count > 0, "tasks without a processor");
        let kind = |(index, program): (u64, Program)| {
            let room = program.region.end - program.region.start;
            assert!(room >= u64::from(program.longest()), "program {index} has no room");
            assert!(!program.phases.is_empty() && program.repeat > 0, "program {index} is idle");
            let (starts, active) = (program.starts.clone(), program.active.clone());
            let calendar = Calendar::new(starts, active, seed.stream("program-starts", index));
            let rng = seed.stream("program", index);
            Kind { cursor: program.region.start, program, calendar, rng, alive: 0 }
        };
        Self {
            kinds: (0..).zip(programs).map(kind).collect(),
            scheduler: Scheduler::new(cpus),
            tasks_most: tasks_most as usize,
            tasks: Vec::new(),
            free: Vec::new(),
            pending: VecDeque::new(),
            now: Time::ZERO,
            unsettled: false,
            observer,
        }
    }

    /// Time of the next event that is not a completion.
    fn due(&self) -> Time {
        let arrival = self.kinds.iter().map(|kind| kind.calendar.next()).min();
        arrival.unwrap_or(Time::NEVER).min(self.scheduler.next_end())
    }

    /// Handles the events that are due at `now`, except completions.
    fn settle(&mut self, now: Time) {
        self.now = now;
        self.unsettled = false;
        while let Some(task) = self.ended(now) {
            self.tasks[task as usize].phase += 1;
            self.go_on(task, now);
        }
        for kind in 0..self.kinds.len() {
            while self.kinds[kind].calendar.next() <= now {
                if self.tasks.len() - self.free.len() == self.tasks_most {
                    let class = self.kinds[kind].program.class;
                    return (self.observer)(Event::Full { class, at: now });
                }
                self.arrive(kind, now);
            }
        }
        let Self { scheduler, tasks, kinds, observer, .. } = self;
        scheduler.dispatch(now, &mut |change| observer(event(change, now, tasks, kinds)));
    }

    fn ended(&mut self, now: Time) -> Option<u32> {
        let Self { scheduler, tasks, kinds, observer, .. } = self;
        scheduler.ended(now, &mut |change| observer(event(change, now, tasks, kinds)))
    }

    fn arrive(&mut self, kind: usize, now: Time) {
        let arrived = self.kinds[kind].calendar.next();
        self.kinds[kind].calendar.advance();
        self.kinds[kind].alive += 1;
        let task = Task { kind: kind as u32, arrived, phase: 0, rounds: 0 };
        let slot = self.free.pop().unwrap_or(self.tasks.len() as u32);
        if slot as usize == self.tasks.len() {
            self.tasks.push(task);
        }
        self.tasks[slot as usize] = task;
        self.scheduler.add_task(slot);
        (self.observer)(Event::Arrived { class: self.kinds[kind].program.class, at: arrived });
        self.go_on(slot, now);
    }

    /// Begins the current phase of a task, or ends the task after its last round.
    fn go_on(&mut self, slot: u32, now: Time) {
        let task = &mut self.tasks[slot as usize];
        let kind = &mut self.kinds[task.kind as usize];
        if task.phase as usize == kind.program.phases.len() {
            (task.phase, task.rounds) = (0, task.rounds + 1);
        }
        if task.rounds == kind.program.repeat {
            return self.end(slot, now);
        }
        match kind.program.phases[task.phase as usize] {
            Phase::Cpu(left) => self.scheduler.ready(slot, kind.program.prio.0, left),
            Phase::Io { op, flags, len } => self.pending.push_back(Io {
                due: now,
                start: kind.place(len),
                len,
                stream: StreamId(slot),
                class: kind.program.class,
                op,
                prio: kind.program.prio,
                flags,
            }),
        }
    }

    fn end(&mut self, slot: u32, now: Time) {
        let Task { kind, arrived, .. } = self.tasks[slot as usize];
        let class = self.kinds[kind as usize].program.class;
        self.kinds[kind as usize].alive -= 1;
        self.free.push(slot);
        let more = |kind: &Kind| kind.alive > 0 || kind.calendar.next() < Time::NEVER;
        let last = !self.kinds.iter().any(|kind| kind.program.class == class && more(kind));
        (self.observer)(Event::Ended { task: slot, class, arrived, at: now, last });
    }

    #[cfg(test)]
    pub(super) fn scheduler(&self) -> &Scheduler {
        &self.scheduler
    }
}

fn event(change: CpuChange, at: Time, tasks: &[Task], kinds: &[Kind]) -> Event {
    match change {
        CpuChange::On { cpu, task } => {
            let class = kinds[tasks[task as usize].kind as usize].program.class;
            Event::On { cpu: cpu as u32, task, class, at }
        }
        CpuChange::Off { cpu } => Event::Off { cpu: cpu as u32, at },
    }
}

impl Kind {
    /// The place of the next request of `len` bytes.
    fn place(&mut self, len: u32) -> u64 {
        let (region, len) = (&self.program.region, u64::from(len));
        match self.program.pattern {
            Pattern::Sequential => {
                let start = if self.cursor + len > region.end { region.start } else { self.cursor };
                self.cursor = start + len;
                start
            }
            Pattern::Backwards => {
                let before = self.cursor.checked_sub(len).filter(|start| *start >= region.start);
                let start = before.unwrap_or(region.end - len);
                self.cursor = start;
                start
            }
            Pattern::Random => {
                let slots = (region.end - region.start) / len;
                region.start + self.rng.random_range(0..slots) * len
            }
        }
    }
}

impl<O: FnMut(Event)> Source for Programs<O> {
    fn next_due(&self) -> Time {
        if self.unsettled || !self.pending.is_empty() { self.now } else { self.due() }
    }

    fn take(&mut self, now: Time) -> Option<Io> {
        if self.unsettled || self.due() <= now {
            self.settle(now);
        }
        self.pending.pop_front()
    }

    fn finished(&mut self, now: Time, req: &Request, _: &Done) {
        self.now = now;
        self.unsettled = true;
        let slot = req.stream.0;
        self.tasks[slot as usize].phase += 1;
        self.go_on(slot, now);
    }
}
