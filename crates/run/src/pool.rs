//! Threads that work on numbered items and report to the thread that started them.
//!
//! Cells of a design on all cores, the parts of a load, the programs of a paper: each run of several
//! threads goes through [`scatter`] or [`one_each`]. Results are never lost. Progress is, where the
//! caller is slow, so that no queue grows. A thread that panics ends the others, and its panic goes
//! on in the caller. A ticket of a [`StartLine`] that is dropped counts as arrival, so no thread waits
//! for one that has ended.

use std::any::Any;
use std::io;
use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Condvar, Mutex, PoisonError};
use std::thread::{self, Builder};
use std::time::Duration;

/// The longest time without a call of the caller's function, which may stop the work.
const BEAT: Duration = Duration::from_millis(50);

/// Messages that wait for the caller, for each thread. With two a thread need not wait for the
/// caller between its progress and its result.
const WAITING_PER_THREAD: usize = 2;

/// A message to the thread that started the work.
pub(crate) enum Message<P, R> {
    /// Progress of the item with this number.
    Progress(usize, P),
    /// The result of the item with this number.
    Done(usize, R),
    /// No message has come for [`BEAT`].
    Beat,
}

/// A message from a thread of the pool; a panic carries its payload.
enum Sent<P, R> {
    Progress(usize, P),
    Done(usize, R),
    Panicked(Box<dyn Any + Send>),
}

/// How the work on an item reports its progress and learns that it is to stop.
pub(crate) struct Reports<'a, P, R> {
    number: usize,
    sender: &'a SyncSender<Sent<P, R>>,
    stop: &'a AtomicBool,
}

impl<P, R> Reports<'_, P, R> {
    /// Sends `progress`, unless the caller has not yet taken what was sent before.
    pub(crate) fn offer(&self, progress: P) {
        let _ = self.sender.try_send(Sent::Progress(self.number, progress));
    }

    /// Whether the caller wants no more, or another thread has panicked.
    pub(crate) fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

/// Where threads wait for each other before they begin.
#[derive(Default)]
pub(crate) struct StartLine {
    missing: Mutex<usize>,
    complete: Condvar,
}

impl StartLine {
    /// A place at the line. All tickets have to be taken before the first of their threads starts.
    pub(crate) fn ticket(&self) -> Ticket<'_> {
        *self.missing.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        Ticket(self)
    }
}

/// A place at a [`StartLine`]; dropping it, as a panic does, counts as arrival.
pub(crate) struct Ticket<'a>(&'a StartLine);

impl Ticket<'_> {
    /// Waits until the other tickets have arrived.
    pub(crate) fn wait(self) {
        let line = self.0;
        drop(self);
        let missing = line.missing.lock().unwrap_or_else(PoisonError::into_inner);
        drop(line.complete.wait_while(missing, |missing| *missing > 0));
    }
}

impl Drop for Ticket<'_> {
    fn drop(&mut self) {
        *self.0.missing.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
        self.0.complete.notify_all();
    }
}

/// How far [`scatter`] may run ahead of the caller, who tells it how many results it has used up.
#[derive(Default)]
pub(crate) struct Window {
    used: Mutex<usize>,
    moved: Condvar,
    ahead: Option<NonZeroUsize>,
}

impl Window {
    /// At most `ahead` items are begun whose results are not used up; `None` for any number.
    pub(crate) fn new(ahead: Option<NonZeroUsize>) -> Self {
        Self { ahead, ..Self::default() }
    }

    /// Notes that the caller keeps nothing large of the first `count` results.
    pub(crate) fn used(&self, count: usize) {
        *self.used.lock().unwrap_or_else(PoisonError::into_inner) = count;
        self.moved.notify_all();
    }

    /// Waits until the item `number` may begin, or `stop`.
    fn wait(&self, number: usize, stop: &AtomicBool) {
        let Some(ahead) = self.ahead else { return };
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        while number >= *used + ahead.get() && !stop.load(Ordering::Relaxed) {
            let waited = self.moved.wait_timeout(used, BEAT);
            used = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

/// Works on each number below `count` in their order, on all cores or on `workers` of them, and
/// calls `on` with each message. Once that returns `false`, the items under way are asked to stop.
///
/// `work` returns `Break` with a result after which no further item is to begin.
///
/// # Errors
/// The system grants no thread at all.
pub(crate) fn scatter<P: Send, R: Send>(
    count: usize,
    workers: Option<NonZeroUsize>,
    window: &Window,
    work: impl Fn(usize, &Reports<'_, P, R>) -> ControlFlow<R, R> + Sync,
    on: impl FnMut(Message<P, R>) -> bool,
) -> io::Result<()> {
    let all = || thread::available_parallelism().map_or(1, usize::from);
    let threads = workers.map_or_else(all, usize::from).min(count);
    let (next, closed) = (AtomicUsize::new(0), AtomicBool::new(false));
    let refused = crew(vec![(); threads], Needed::Any, on, |(), _, sender, stop| {
        while !closed.load(Ordering::Relaxed) {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= count {
                break;
            }
            window.wait(number, stop);
            let done = match work(number, &Reports { number, sender, stop }) {
                ControlFlow::Continue(done) => done,
                ControlFlow::Break(last) => {
                    closed.store(true, Ordering::Relaxed);
                    last
                }
            };
            let _ = sender.send(Sent::Done(number, done));
        }
    });
    // Fewer threads do the same in a longer time.
    if refused.len() < threads || threads == 0 {
        return Ok(());
    }
    Err(refused.into_iter().next().expect("one at least was refused").1)
}

/// Works on each of `items` on all cores and returns the results in order; fewer if `go_on`, which
/// is asked some times a second, returns `false`.
///
/// # Errors
/// The system grants no thread at all.
pub(crate) fn map<T: Sync, R: Send>(
    items: &[T],
    work: impl Fn(&T) -> R + Sync,
    go_on: &mut dyn FnMut() -> bool,
) -> io::Result<Vec<R>> {
    let mut results: Vec<Option<R>> = items.iter().map(|_| None).collect();
    let work = |number: usize, reports: &Reports<'_, (), Option<R>>| {
        if reports.stopped() {
            return ControlFlow::Break(None);
        }
        ControlFlow::Continue(Some(work(&items[number])))
    };
    scatter(items.len(), None, &Window::default(), work, |message| {
        if let Message::Done(number, result) = message {
            results[number] = result;
        }
        go_on()
    })?;
    Ok(results.into_iter().map_while(|result| result).collect())
}

/// Works on each number below `count` on a thread of its own, all at the same time, and calls `on`
/// with each message until all have ended; they are asked to stop once it returns `false`.
///
/// `work` gets a ticket of `line`. A thread that the system refuses has the result `refused`.
pub(crate) fn one_each<'l, P: Send, R: Send>(
    count: usize,
    line: &'l StartLine,
    work: impl Fn(usize, Ticket<'l>, &Reports<'_, P, R>) -> R + Sync,
    refused: impl Fn(io::Error) -> R,
    mut on: impl FnMut(Message<P, R>) -> bool,
) {
    let tickets = (0..count).map(|_| line.ticket()).collect();
    let missing = crew(tickets, Needed::All, &mut on, |ticket, number, sender, stop| {
        let done = work(number, ticket, &Reports { number, sender, stop });
        let _ = sender.send(Sent::Done(number, done));
    });
    for (number, error) in missing {
        on(Message::Done(number, refused(error)));
    }
}

/// Which threads the work needs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Needed {
    /// If one is refused, the others are to stop.
    All,
    /// The others do the work of one that is refused.
    Any,
}

/// Starts a thread for each of `kits`, which it gets, and calls `on` with each message until all
/// have ended. Returns the numbers of those that the system refused, with its reasons.
///
/// # Panics
/// With the panic of the first thread that panicked, once all have ended.
fn crew<K: Send, P: Send, R: Send>(
    kits: Vec<K>,
    needed: Needed,
    mut on: impl FnMut(Message<P, R>) -> bool,
    body: impl Fn(K, usize, &SyncSender<Sent<P, R>>, &AtomicBool) + Sync,
) -> Vec<(usize, io::Error)> {
    let stop = AtomicBool::new(false);
    let mut refused = Vec::new();
    let panicked = thread::scope(|scope| {
        // Should `on` panic, the threads end soon, and the scope with them.
        let _stop = StopOnDrop(&stop);
        let (sender, messages) = sync_channel(kits.len() * WAITING_PER_THREAD);
        for (number, kit) in kits.into_iter().enumerate() {
            let (sender, body, stop) = (sender.clone(), &body, &stop);
            let thread = move || {
                let work = AssertUnwindSafe(|| body(kit, number, &sender, stop));
                if let Err(panic) = catch_unwind(work) {
                    stop.store(true, Ordering::Relaxed);
                    let _ = sender.send(Sent::Panicked(panic));
                }
            };
            // With a refused thread its kit is dropped, and with that its ticket arrives.
            if let Err(error) = Builder::new().spawn_scoped(scope, thread) {
                refused.push((number, error));
                if needed == Needed::All {
                    stop.store(true, Ordering::Relaxed);
                }
            }
        }
        drop(sender);
        listen(&messages, &stop, &mut on)
    });
    if let Some(panic) = panicked {
        resume_unwind(panic);
    }
    refused
}

/// Passes `messages` on until no thread is left, and returns the first panic.
fn listen<P, R>(
    messages: &Receiver<Sent<P, R>>,
    stop: &AtomicBool,
    on: &mut impl FnMut(Message<P, R>) -> bool,
) -> Option<Box<dyn Any + Send>> {
    let mut panicked = None;
    loop {
        let message = match messages.recv_timeout(BEAT) {
            Ok(Sent::Progress(number, progress)) => Message::Progress(number, progress),
            Ok(Sent::Done(number, done)) => Message::Done(number, done),
            Ok(Sent::Panicked(panic)) => {
                panicked.get_or_insert(panic);
                continue;
            }
            Err(RecvTimeoutError::Timeout) => Message::Beat,
            Err(RecvTimeoutError::Disconnected) => return panicked,
        };
        if !on(message) {
            stop.store(true, Ordering::Relaxed);
        }
    }
}

/// Asks the threads to stop when it is dropped.
struct StopOnDrop<'a>(&'a AtomicBool);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The text of the panic of `work`.
    fn panic_of(work: impl FnOnce()) -> String {
        let panic = catch_unwind(AssertUnwindSafe(work)).expect_err("it panics");
        (*panic.downcast::<&str>().expect("a panic has a text")).into()
    }

    #[test]
    fn results_come_for_every_number_on_any_number_of_threads() {
        for workers in [1, 2, 7] {
            let mut results = vec![None; 100];
            let work = |number: usize, reports: &Reports<'_, usize, usize>| {
                reports.offer(number);
                ControlFlow::Continue(number * number)
            };
            let on = |message| {
                if let Message::Done(number, result) = message {
                    results[number] = Some(result);
                }
                true
            };
            scatter(100, NonZeroUsize::new(workers), &Window::default(), work, on).unwrap();
            assert!(
                results.iter().enumerate().all(|(number, &result)| result == Some(number * number))
            );
        }
    }

    #[test]
    fn a_worker_that_panics_ends_the_others_and_says_why() {
        let work = |number: usize, reports: &Reports<'_, (), ()>| {
            assert!(number != 3, "item three is broken");
            while number > 3 && !reports.stopped() {
                thread::yield_now();
            }
            ControlFlow::Continue(())
        };
        let ended = panic_of(|| {
            scatter(8, NonZeroUsize::new(4), &Window::default(), work, |_| true).unwrap();
        });
        assert_eq!(ended, "item three is broken");
    }

    #[test]
    fn a_panic_before_the_start_leaves_no_other_thread_waiting() {
        let line = StartLine::default();
        let work = |number: usize, ticket: Ticket<'_>, _: &Reports<'_, (), ()>| {
            assert!(number != 1, "it cannot begin");
            ticket.wait();
        };
        let ended = panic_of(|| one_each(4, &line, work, |_| (), |_| true));
        assert_eq!(ended, "it cannot begin");
    }

    #[test]
    fn a_ticket_of_a_thread_that_never_starts_counts_as_arrival() {
        let line = StartLine::default();
        let (own, other) = (line.ticket(), line.ticket());
        let refused = Builder::new().stack_size(1 << 60).spawn(move || 0).map(drop);
        assert!(refused.is_err(), "no system has a stack of an exbibyte");
        drop(other);
        own.wait();
    }

    #[test]
    fn after_the_last_wanted_item_none_begins() {
        let work = |number: usize, _: &Reports<'_, (), usize>| match number {
            5 => ControlFlow::Break(number),
            _ => ControlFlow::Continue(number),
        };
        let mut done = Vec::new();
        let on = |message| {
            if let Message::Done(number, _) = message {
                done.push(number);
            }
            true
        };
        scatter(1000, NonZeroUsize::new(1), &Window::default(), work, on).unwrap();
        assert_eq!(done, [0, 1, 2, 3, 4, 5]);
    }

    #[test]
    fn no_more_items_begin_than_the_window_holds() {
        let window = Window::new(NonZeroUsize::new(3));
        let (begun, mut used) = (AtomicUsize::new(0), 0);
        let work = |_: usize, _: &Reports<'_, (), ()>| {
            begun.fetch_add(1, Ordering::SeqCst);
            ControlFlow::Continue(())
        };
        let on = |message| {
            if let Message::Done(..) = message {
                assert!(begun.load(Ordering::SeqCst) <= used + 3);
                used += 1;
                window.used(used);
            }
            true
        };
        scatter(50, NonZeroUsize::new(8), &window, work, on).unwrap();
        assert_eq!(begun.load(Ordering::SeqCst), 50);
    }
}
