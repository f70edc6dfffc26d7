//! A meter of the latencies of a disk's requests, by classes of threads.
//!
//! It reads the kernel's block events while a disk is used by any programs. A request counts for the
//! thread that queued it. That is the program's own thread for direct requests and for reads; what a
//! program wrote to the page cache is queued later, mostly by threads of the kernel, which are in the
//! default class unless they are assigned to another. Latency counts from the moment at which the
//! request was queued, so it has the time in the scheduler and before it, up to the completion of its
//! last sector.
//!
//! Invariants: memory is bounded; nothing is allocated per event once tables have grown.

mod figures;
mod letters;
mod pending;

use std::collections::BTreeMap;
use std::path::Path;

use penstock_workload::trace::capture::{Action, CapturedDisk, CapturedEvent, Incoming};
use serde::Serialize;

use self::figures::{ClassCounts, ClassWindow};
use self::letters::{Direction, Letters};
use self::pending::{Pending, PendingRequest};
use crate::failure::Failure;
use crate::traces::kernel_layout::{event_failure, kernel_layout};

/// Bytes of a sector.
const SECTOR: u64 = 512;
/// Classes at most.
const CLASSES_MOST: usize = 64;
/// Age at which a request that may have completed, because events were lost, is dropped: the kernel
/// itself gives up a command after thirty seconds.
const DOUBTFUL_NS: u64 = 30_000_000_000;

/// A meter of a disk.
pub struct Meter {
    incoming: Incoming,
    events: Vec<&'static str>,
    counts: MeterCounts,
}

/// The counts of a window, and what is pending.
struct MeterCounts {
    pending: Pending,
    classes: ThreadClasses,
    /// By class.
    counts: Vec<ClassCounts>,
    lost: u64,
    untracked: u64,
    from_ns: u64,
}

/// The classes of threads.
struct ThreadClasses {
    names: Vec<String>,
    /// Threads with their classes, in the order of their numbers.
    threads: Vec<(u32, u16)>,
    default: u16,
}

/// The figures of a window.
#[derive(Serialize)]
pub struct MeterWindow {
    from_ns: u64,
    to_ns: u64,
    /// Events that the kernel lost: the counts lack requests, and some latencies are missing.
    lost: u64,
    /// Requests for which there was no room.
    untracked: u64,
    classes: BTreeMap<String, ClassWindow>,
}

impl Meter {
    /// Creates a meter of the disk `name`, whose own number and those of its partitions are `numbers`,
    /// from the tracefs at `tracefs`. The first window begins at `begun_ns`. All threads have the class
    /// `others`.
    ///
    /// # Errors
    /// If this kernel has other events.
    pub fn new(
        tracefs: &Path,
        name: String,
        numbers: Vec<u32>,
        begun_ns: u64,
    ) -> Result<Self, Failure> {
        let is_needed = |action| matches!(action, Action::Queued | Action::Completed);
        let (kernel, events) = kernel_layout(tracefs, is_needed)?;
        let incoming = Incoming::new(kernel, CapturedDisk { name, numbers });
        Ok(Self { incoming, events, counts: MeterCounts::new(begun_ns) })
    }

    /// Names of the events to switch on.
    pub fn events(&self) -> &[&'static str] {
        &self.events
    }

    /// Adds a page of events of the processor `cpu`.
    ///
    /// # Errors
    /// If it is no such page.
    pub fn add(&mut self, cpu: u32, page: &[u8]) -> Result<(), Failure> {
        self.incoming.add(cpu, page).map_err(|error| event_failure(cpu, &error))
    }

    /// Notes that the kernel lost events. What is pending may have completed: it no longer waits, and
    /// counts only if its completion comes.
    pub fn lose(&mut self, events: u64) {
        if events > 0 {
            self.counts.lost += events;
            self.counts.pending.doubt();
        }
    }

    /// Assigns threads to classes; all others have the class `default`. It replaces the assignment
    /// before it, also for the pending requests of threads that had the default class, because a thread
    /// may queue requests before the caller knows it.
    ///
    /// # Errors
    /// If there are too many classes.
    pub fn assign(&mut self, threads: BTreeMap<u32, String>, default: &str) -> Result<(), Failure> {
        self.counts.assign(threads, default)
    }

    /// Counts the events before `before_ns`.
    pub fn take(&mut self, before_ns: u64) {
        let Self { incoming, counts, .. } = self;
        incoming.take(before_ns, |event| counts.event(event));
    }

    /// Counts the events before `now_ns`, closes the window there and returns its figures.
    pub fn window(&mut self, now_ns: u64) -> MeterWindow {
        self.take(now_ns);
        self.counts.close(now_ns)
    }
}

impl MeterCounts {
    fn new(from_ns: u64) -> Self {
        let classes =
            ThreadClasses { names: vec!["others".into()], threads: Vec::new(), default: 0 };
        let counts = vec![ClassCounts::default()];
        Self { pending: Pending::new(), classes, counts, lost: 0, untracked: 0, from_ns }
    }

    fn assign(&mut self, threads: BTreeMap<u32, String>, default: &str) -> Result<(), Failure> {
        let before = self.classes.default;
        self.classes.assign(threads, default)?;
        self.counts.resize_with(self.classes.names.len(), ClassCounts::default);
        let classes = &self.classes;
        self.pending.classify(|request| match request.class {
            class if class == before => classes.of(request.thread),
            class => class,
        });
        Ok(())
    }

    fn event(&mut self, event: &CapturedEvent<'_>) {
        let letters = Letters::parse(event.letters);
        let range = (event.sector, event.sectors);
        match event.action {
            Action::Queued => {
                let thread = (event.pid, self.classes.of(event.pid));
                let is_held = self.pending.queued(event.at_ns, thread, letters, range);
                self.untracked += u64::from(!is_held);
            }
            Action::Completed => {
                let counts = &mut self.counts;
                self.pending.completed(letters, range, |request: &PendingRequest| {
                    let latency_ns = event.at_ns.saturating_sub(request.at_ns);
                    let counts = &mut counts[usize::from(request.class)];
                    counts.of(request.direction).ended(request.sectors * SECTOR, latency_ns);
                    if request.writes_and_flushes() {
                        counts.of(Direction::Flush).ended(0, latency_ns);
                    }
                });
            }
            _ => {}
        }
    }

    fn close(&mut self, now_ns: u64) -> MeterWindow {
        self.pending.drop_doubtful(now_ns.saturating_sub(DOUBTFUL_NS));
        for request in self.pending.waiting() {
            let age_ns = now_ns.saturating_sub(request.at_ns);
            let counts = &mut self.counts[usize::from(request.class)];
            counts.of(request.direction).waits(age_ns);
            if request.writes_and_flushes() {
                counts.of(Direction::Flush).waits(age_ns);
            }
        }
        let figures = self.counts.iter_mut().map(ClassCounts::take);
        let classes = self.classes.names.iter().cloned().zip(figures).collect();
        let window = MeterWindow {
            from_ns: self.from_ns,
            to_ns: now_ns,
            lost: std::mem::take(&mut self.lost),
            untracked: std::mem::take(&mut self.untracked),
            classes,
        };
        self.from_ns = now_ns;
        window
    }
}

impl ThreadClasses {
    /// The class of a thread.
    fn of(&self, thread: u32) -> u16 {
        let place = self.threads.binary_search_by_key(&thread, |&(thread, _)| thread);
        place.map_or(self.default, |place| self.threads[place].1)
    }

    fn assign(&mut self, threads: BTreeMap<u32, String>, default: &str) -> Result<(), Failure> {
        let mut names = self.names.clone();
        let mut number = |name: &str| {
            let known = names.iter().position(|known| known == name);
            known.unwrap_or_else(|| {
                names.push(name.into());
                names.len() - 1
            }) as u16
        };
        let default = number(default);
        let threads: Vec<_> =
            threads.into_iter().map(|(thread, name)| (thread, number(&name))).collect();
        if names.len() > CLASSES_MOST {
            let message = format!(
                "found {} classes of threads; expected {CLASSES_MOST} at most",
                names.len()
            );
            return Err(Failure::wrong(message, "give several programs one class"));
        }
        (self.names, self.threads, self.default) = (names, threads, default);
        Ok(())
    }
}

#[cfg(test)]
mod tests;
