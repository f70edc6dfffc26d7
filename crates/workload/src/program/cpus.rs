//! Who has which processor.

use std::collections::VecDeque;

use penstock_core::{Span, Time};

/// The processors and how they are given out. A task stays on the processor that it is given first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cpus {
    /// How many there are.
    pub count: u32,
    /// So long a task computes at most before the next has its turn.
    pub slice: Span,
    /// Who goes first.
    pub order: Order,
    /// Under [`Order::Priority`]: who finds no idle processor takes one from a task of lower
    /// priority at once, and not when its slice ends.
    pub preempt: bool,
    /// Which idle processor a task is given first.
    pub pick: Pick,
}

/// Who goes first among tasks that wait for a processor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Order {
    /// Who has waited longest.
    Fifo,
    /// The class with the lower `prio`; among equals who has waited longest.
    Priority,
}

/// Which idle processor a task is given first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pick {
    /// The next one behind the last that was given so.
    RoundRobin,
    /// That with the lowest number.
    Lowest,
}

/// Priorities that there are.
const LEVELS: usize = 8;

/// What a processor does.
#[derive(Clone, Copy, Debug)]
struct Running {
    task: u32,
    level: usize,
    /// Since when, and until when at the latest.
    since: Time,
    until: Time,
    /// What was left of its burst then.
    left: Span,
}

/// A task that wants a processor.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    task: u32,
    left: Span,
}

/// The processors, and a queue for each priority.
#[derive(Debug)]
pub(super) struct Scheduler {
    cpus: Cpus,
    running: Vec<Option<Running>>,
    ready: [VecDeque<Waiting>; LEVELS],
    /// Of each task, the processor that it stays on.
    bound: Vec<Option<usize>>,
    /// Where the search for an idle processor begins.
    next: usize,
}

/// A processor was given to a task, or taken from it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Moved {
    On { cpu: usize, task: u32 },
    Off { cpu: usize },
}

impl Scheduler {
    pub(super) fn new(cpus: Cpus) -> Self {
        let running = vec![None; cpus.count as usize];
        Self { cpus, running, ready: Default::default(), bound: Vec::new(), next: 0 }
    }

    /// A new task takes the slot `task`.
    pub(super) fn born(&mut self, task: u32) {
        let slot = task as usize;
        if self.bound.len() <= slot {
            self.bound.resize(slot + 1, None);
        }
        self.bound[slot] = None;
    }

    /// `task` wants to compute for `left`.
    pub(super) fn ready(&mut self, task: u32, prio: u8, left: Span) {
        let level = self.level(prio);
        self.ready[level].push_back(Waiting { task, left });
    }

    fn level(&self, prio: u8) -> usize {
        match self.cpus.order {
            Order::Fifo => 0,
            Order::Priority => usize::from(prio).min(LEVELS - 1),
        }
    }

    /// When the next slice or burst ends.
    pub(super) fn next_end(&self) -> Time {
        self.running.iter().flatten().map(|run| run.until).min().unwrap_or(Time::NEVER)
    }

    /// The next task, by the number of its processor, whose burst is over at `now`. Tasks before it
    /// whose slice is over wait again.
    pub(super) fn ended(&mut self, now: Time, moved: &mut impl FnMut(Moved)) -> Option<u32> {
        for cpu in 0..self.running.len() {
            let Some(run) = self.running[cpu].filter(|run| run.until <= now) else { continue };
            self.running[cpu] = None;
            moved(Moved::Off { cpu });
            let left = run.left - run.until.since(run.since);
            if left == Span::ZERO {
                return Some(run.task);
            }
            self.ready[run.level].push_back(Waiting { task: run.task, left });
        }
        None
    }

    /// Gives out what is idle: by priority, who has waited longest first. Who may not go where there
    /// is an idle processor is passed over.
    pub(super) fn dispatch(&mut self, now: Time, moved: &mut impl FnMut(Moved)) {
        for level in 0..LEVELS {
            let mut at = 0;
            while at < self.ready[level].len() {
                if self.running.iter().all(Option::is_some) {
                    break;
                }
                match self.idle_for(self.ready[level][at].task) {
                    Some(cpu) => self.run(now, level, at, cpu, moved),
                    None => at += 1,
                }
            }
        }
        if self.cpus.preempt && self.cpus.order == Order::Priority {
            self.preempt(now, moved);
        }
    }

    /// The idle processor that `task` may have.
    fn idle_for(&mut self, task: u32) -> Option<usize> {
        let count = self.running.len();
        if let Some(cpu) = self.bound[task as usize] {
            return self.running[cpu].is_none().then_some(cpu);
        }
        let from = if self.cpus.pick == Pick::RoundRobin { self.next } else { 0 };
        let mut each = (0..count).map(|step| (from + step) % count);
        let cpu = each.find(|&cpu| self.running[cpu].is_none())?;
        self.next = (cpu + 1) % count;
        Some(cpu)
    }

    /// Takes processors from tasks of lower priority; these are the next of their queue.
    fn preempt(&mut self, now: Time, moved: &mut impl FnMut(Moved)) {
        for level in 0..LEVELS {
            let mut at = 0;
            while at < self.ready[level].len() {
                if self.running.iter().flatten().all(|run| run.level <= level) {
                    break;
                }
                let below = |cpu: usize| self.running[cpu].is_some_and(|run| run.level > level);
                let task = self.ready[level][at].task;
                let victim = match self.bound[task as usize] {
                    Some(cpu) => Some(cpu).filter(|&cpu| below(cpu)),
                    None => (0..self.running.len()).find(|&cpu| below(cpu)),
                };
                let Some(cpu) = victim else {
                    at += 1;
                    continue;
                };
                let run = self.running[cpu].take().expect("it runs a task of lower priority");
                moved(Moved::Off { cpu });
                let left = run.left - now.since(run.since);
                self.ready[run.level].push_front(Waiting { task: run.task, left });
                self.run(now, level, at, cpu, moved);
            }
        }
    }

    /// Puts the task at place `at` of its queue on `cpu`, for good.
    fn run(
        &mut self,
        now: Time,
        level: usize,
        at: usize,
        cpu: usize,
        moved: &mut impl FnMut(Moved),
    ) {
        let Waiting { task, left } = self.ready[level].remove(at).expect("it waits there");
        self.bound[task as usize] = Some(cpu);
        let until = now + left.min(self.cpus.slice);
        self.running[cpu] = Some(Running { task, level, since: now, until, left });
        moved(Moved::On { cpu, task });
    }
}

#[cfg(test)]
impl Scheduler {
    /// Whether a task waits that could have an idle processor.
    pub(super) fn wastes(&self) -> bool {
        let idle = |cpu: usize| self.running[cpu].is_none();
        let any = (0..self.running.len()).any(idle);
        self.ready.iter().flatten().any(|one| self.bound[one.task as usize].map_or(any, idle))
    }
}
