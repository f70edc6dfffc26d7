//! The allocation of processors to tasks.

use std::collections::VecDeque;

use penstock_core::{Span, Time};

/// The processors and the rules of their allocation. A task stays on its first processor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cpus {
    /// Number of processors.
    pub count: u32,
    /// Longest time for which a task computes before the next one has its turn.
    pub slice: Span,
    /// The order of waiting tasks.
    pub order: Order,
    /// Whether, under [`Order::Priority`], a task that finds no idle processor takes one from a
    /// task of lower priority at once, not at the end of its slice.
    pub preempt: bool,
    /// The idle processor that a new task gets.
    pub pick: Pick,
}

/// The order of the tasks that wait for a processor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Order {
    /// The task that has waited longest.
    Fifo,
    /// The task with the lowest `prio`; among equals the one that has waited longest.
    Priority,
}

/// The idle processor that a new task gets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pick {
    /// The next idle one after the last allocated.
    RoundRobin,
    /// The idle one with the lowest number.
    Lowest,
}

/// Number of priorities.
const LEVELS: usize = 8;

/// A task on a processor.
#[derive(Clone, Copy, Debug)]
struct Running {
    task: u32,
    level: usize,
    /// The beginning of its slice, and the latest end.
    since: Time,
    until: Time,
    /// The rest of its burst at the beginning of the slice.
    left: Span,
}

/// A task that waits for a processor.
#[derive(Clone, Copy, Debug)]
struct ReadyTask {
    task: u32,
    left: Span,
}

/// The processors, and a queue for each priority.
#[derive(Debug)]
pub(super) struct Scheduler {
    cpus: Cpus,
    running: Vec<Option<Running>>,
    ready: [VecDeque<ReadyTask>; LEVELS],
    /// The processor that each task stays on, by task.
    bound: Vec<Option<usize>>,
    /// The processor at which the search for an idle one begins.
    next: usize,
}

/// A processor was given to a task, or taken from it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum CpuChange {
    On { cpu: usize, task: u32 },
    Off { cpu: usize },
}

impl Scheduler {
    pub(super) fn new(cpus: Cpus) -> Self {
        let running = vec![None; cpus.count as usize];
        Self { cpus, running, ready: Default::default(), bound: Vec::new(), next: 0 }
    }

    /// A new task takes the slot `task`.
    pub(super) fn add_task(&mut self, task: u32) {
        let slot = task as usize;
        if self.bound.len() <= slot {
            self.bound.resize(slot + 1, None);
        }
        self.bound[slot] = None;
    }

    /// `task` is ready to compute for `left`.
    pub(super) fn ready(&mut self, task: u32, prio: u8, left: Span) {
        let level = self.level(prio);
        self.ready[level].push_back(ReadyTask { task, left });
    }

    fn level(&self, prio: u8) -> usize {
        match self.cpus.order {
            Order::Fifo => 0,
            Order::Priority => usize::from(prio).min(LEVELS - 1),
        }
    }

    /// Time at which the next slice or burst ends.
    pub(super) fn next_end(&self) -> Time {
        self.running.iter().flatten().map(|run| run.until).min().unwrap_or(Time::NEVER)
    }

    /// Takes a task whose burst is over at `now` off its processor, in the order of processors, and
    /// returns it. Tasks before it whose slice is over wait again.
    pub(super) fn ended(
        &mut self,
        now: Time,
        on_change: &mut impl FnMut(CpuChange),
    ) -> Option<u32> {
        for cpu in 0..self.running.len() {
            let Some(run) = self.running[cpu].filter(|run| run.until <= now) else { continue };
            self.running[cpu] = None;
            on_change(CpuChange::Off { cpu });
            let left = run.left - run.until.since(run.since);
            if left == Span::ZERO {
                return Some(run.task);
            }
            self.ready[run.level].push_back(ReadyTask { task: run.task, left });
        }
        None
    }

    /// Allocates idle processors by priority, then by waiting time. Skips tasks whose own processor
    /// is busy.
    pub(super) fn dispatch(&mut self, now: Time, on_change: &mut impl FnMut(CpuChange)) {
        for level in 0..LEVELS {
            let mut at = 0;
            while at < self.ready[level].len() {
                if self.running.iter().all(Option::is_some) {
                    break;
                }
                match self.idle_for(self.ready[level][at].task) {
                    Some(cpu) => self.run(now, level, at, cpu, on_change),
                    None => at += 1,
                }
            }
        }
        if self.cpus.preempt && self.cpus.order == Order::Priority {
            self.preempt(now, on_change);
        }
    }

    /// The idle processor that `task` may use.
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

    /// Takes processors from tasks of lower priority, which become the first of their queue.
    fn preempt(&mut self, now: Time, on_change: &mut impl FnMut(CpuChange)) {
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
                on_change(CpuChange::Off { cpu });
                let left = run.left - now.since(run.since);
                self.ready[run.level].push_front(ReadyTask { task: run.task, left });
                self.run(now, level, at, cpu, on_change);
            }
        }
    }

    /// Runs the task at place `at` of its queue on `cpu`, and binds it to this processor.
    fn run(
        &mut self,
        now: Time,
        level: usize,
        at: usize,
        cpu: usize,
        on_change: &mut impl FnMut(CpuChange),
    ) {
        let ReadyTask { task, left } = self.ready[level].remove(at).expect("it waits there");
        self.bound[task as usize] = Some(cpu);
        let until = now + left.min(self.cpus.slice);
        self.running[cpu] = Some(Running { task, level, since: now, until, left });
        on_change(CpuChange::On { cpu, task });
    }
}

#[cfg(test)]
impl Scheduler {
    /// Whether a processor is idle although a waiting task could use it.
    pub(super) fn has_idle_cpu_for_waiting_task(&self) -> bool {
        let idle = |cpu: usize| self.running[cpu].is_none();
        let any = (0..self.running.len()).any(idle);
        self.ready.iter().flatten().any(|ready| self.bound[ready.task as usize].map_or(any, idle))
    }
}
