//! The threads engine: blocking calls, with a worker thread for each slot.
//!
//! Use it where io_uring is missing or forbidden, and to compare with it. It costs more processor
//! time: a wake-up for each command and one for each result. Each command is submitted at once,
//! because a worker takes one at a time.
//!
//! Task slots and an outbox of our own rather than channels: a channel allocates when a thread first
//! sleeps on it, which for the last of many workers is long after the run began.
//!
//! Invariants: a worker uses only the buffer of the command that it holds; dropping the pool ends
//! every worker, and so every call, before the buffers are freed; no lock is held over a call.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::engine::blocking::Call;
use crate::engine::driver::{Bell, Command, Driver, Outcome};
use crate::engine::error::EngineError;
use crate::engine::psync::Psync;

/// The limit on workers: with more, the machine is busy scheduling threads.
pub(crate) const MAX_SLOTS: u32 = 1024;

/// Stack of a worker in bytes: its calls are not deep.
const STACK: usize = 128 << 10;

/// The workers, and what they share with the loop.
pub(crate) struct Pool {
    task_slots: Vec<Arc<TaskSlot>>,
    outbox: Arc<Outbox>,
    workers: Vec<JoinHandle<()>>,
}

/// The mailbox of the worker of one slot.
#[derive(Default)]
struct TaskSlot {
    task: Mutex<Task>,
    added: Condvar,
}

/// The content of a task slot.
#[derive(Clone, Copy, Default)]
enum Task {
    #[default]
    Nothing,
    Serve(Command),
    Stop,
}

/// The mailbox of all workers' results.
struct Outbox {
    ended: Mutex<Ended>,
    /// Notified only while the loop waits: a wake-up is a system call even if no thread sleeps.
    added: Condvar,
    /// The number of results, readable without the lock while spinning.
    count: AtomicU32,
}

struct Ended {
    outcomes: Vec<Outcome>,
    waiting: bool,
    /// Another thread wants the wait to end.
    rung: bool,
}

impl Pool {
    /// Starts `slots` workers that make `calls`.
    pub(crate) fn new(slots: u32, calls: &Psync) -> Result<Self, EngineError> {
        let outcomes = Vec::with_capacity(slots as usize);
        let ended = Ended { outcomes, waiting: false, rung: false };
        let outbox =
            Outbox { ended: Mutex::new(ended), added: Condvar::new(), count: AtomicU32::new(0) };
        let outbox = Arc::new(outbox);
        let mut pool =
            Self { task_slots: Vec::new(), outbox: Arc::clone(&outbox), workers: Vec::new() };
        let (started, starts) = std::sync::mpsc::channel();
        for slot in 0..slots {
            let started = started.clone();
            let task_slot = Arc::new(TaskSlot::default());
            let (task_slot_of_worker, outbox) = (Arc::clone(&task_slot), Arc::clone(&outbox));
            let calls = calls.clone();
            let mut worker = Worker { slot, calls, task_slot: task_slot_of_worker, outbox };
            let thread = std::thread::Builder::new()
                .name(format!("penstock-io-{slot}"))
                .stack_size(STACK)
                .spawn(move || {
                    let _ = started.send(());
                    worker.work();
                });
            let thread = thread
                .map_err(|source| EngineError::System { doing: "start a worker thread", source })?;
            pool.task_slots.push(task_slot);
            pool.workers.push(thread);
        }
        // A thread allocates when it first runs, which must not happen during the run.
        starts.iter().take(slots as usize).for_each(drop);
        Ok(pool)
    }
}

/// Checks that a worker can be started.
pub(crate) fn probe() -> Result<(), EngineError> {
    let thread = std::thread::Builder::new().stack_size(STACK).spawn(|| {});
    let ended = thread.map(JoinHandle::join);
    ended.map(drop).map_err(|source| EngineError::System { doing: "start a worker thread", source })
}

impl Driver for Pool {
    fn queue(&mut self, slot: u32, command: &Command) {
        self.task_slots[slot as usize].put(Task::Serve(*command));
    }

    fn submit(&mut self) {}

    fn ready(&mut self) -> bool {
        self.outbox.count.load(Ordering::Relaxed) > 0
    }

    fn reap(&mut self, outcomes: &mut Vec<Outcome>) {
        if self.ready() {
            let mut ended = lock(&self.outbox.ended);
            outcomes.append(&mut ended.outcomes);
            self.outbox.count.store(0, Ordering::Relaxed);
        }
    }

    fn wait(&mut self, longest: Duration) {
        let mut ended = lock(&self.outbox.ended);
        ended.waiting = true;
        let none = |ended: &mut Ended| ended.outcomes.is_empty() && !ended.rung;
        let waited = self.outbox.added.wait_timeout_while(ended, longest, none);
        let mut ended = waited.unwrap_or_else(PoisonError::into_inner).0;
        (ended.waiting, ended.rung) = (false, false);
    }

    fn bell(&mut self) -> Option<Bell> {
        let outbox = Arc::clone(&self.outbox);
        Some(Bell::new(move || {
            let mut ended = lock(&outbox.ended);
            ended.rung = true;
            let waiting = ended.waiting;
            drop(ended);
            if waiting {
                outbox.added.notify_one();
            }
        }))
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.task_slots.iter().for_each(|task_slot| task_slot.stop());
        for worker in self.workers.drain(..) {
            // A panic of a worker is on stderr already; a second panic would hide the first.
            let _ = worker.join();
        }
    }
}

impl TaskSlot {
    /// Puts `task` into the empty slot.
    fn put(&self, task: Task) {
        let mut current = lock(&self.task);
        assert!(matches!(*current, Task::Nothing), "one command for each slot");
        *current = task;
        drop(current);
        self.added.notify_one();
    }

    /// Waits for the task in the slot and takes it.
    fn take(&self) -> Task {
        let empty = |task: &mut Task| matches!(task, Task::Nothing);
        let waited = self.added.wait_while(lock(&self.task), empty);
        std::mem::take(&mut waited.unwrap_or_else(PoisonError::into_inner))
    }

    /// Ends the worker. A command that it has not begun is discarded.
    fn stop(&self) {
        *lock(&self.task) = Task::Stop;
        self.added.notify_one();
    }
}

/// Locks `mutex`, even after a panic: its content is consistent between any two statements.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The state of a worker.
struct Worker {
    slot: u32,
    calls: Psync,
    task_slot: Arc<TaskSlot>,
    outbox: Arc<Outbox>,
}

impl Worker {
    /// Serves commands until it is stopped.
    fn work(&mut self) {
        while let Task::Serve(command) = self.task_slot.take() {
            let result = self.calls.serve(&command);
            let mut ended = lock(&self.outbox.ended);
            ended.outcomes.push(Outcome { slot: self.slot, result });
            self.outbox.count.store(ended.outcomes.len() as u32, Ordering::Relaxed);
            let waiting = ended.waiting;
            drop(ended);
            if waiting {
                self.outbox.added.notify_one();
            }
        }
    }
}
