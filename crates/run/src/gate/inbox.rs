//! Orders of other threads on their way to a dispatcher.

use std::collections::VecDeque;
use std::io::{self, ErrorKind};
use std::mem;
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use penstock_core::{ClassId, Errno, Op, Prio, Time};
use penstock_live::Bell;
use penstock_live::serve::BlockRequest;

use super::data_pool::DataPool;
use super::locks::lock;

/// A request to the gate.
pub(super) struct Order {
    pub(super) op: Op,
    /// Number of the gate's file.
    pub(super) file: u32,
    pub(super) offset: u64,
    /// The bytes to write, or the buffer to read into.
    pub(super) bytes: Vec<u8>,
    /// Bytes of its range.
    pub(super) len: u32,
    /// Whether it must be on stable media when it is answered.
    pub(super) sync: bool,
    pub(super) class: ClassId,
    pub(super) prio: Prio,
    /// Number of the counters in which it is booked.
    pub(super) book: usize,
    pub(super) reply: Reply,
}

/// The way of an answer back.
pub(super) enum Reply {
    /// To a thread that waits for it.
    Thread(SyncSender<Answer>),
    /// To the kernel, whose request it answers; the buffer goes to the pool.
    Kernel(BlockRequest, Arc<DataPool>),
    /// To a function, on the thread of the gate.
    Function(Callback),
}

impl Reply {
    /// Sends `answer`, if anybody still waits for it.
    pub(super) fn send(self, answer: Answer) {
        match self {
            // The caller may have been interrupted.
            Self::Thread(reply) => drop(reply.send(answer)),
            Self::Kernel(request, pool) => pool.answer(request, answer.bytes, answer.error),
            Self::Function(mut callback) => callback.call(Some(answer)),
        }
    }
}

/// A function that is called once: with the answer, or with `None` when the gate has ended without one.
pub(super) struct Callback(Option<Box<dyn FnOnce(Option<Answer>) + Send>>);

impl Callback {
    pub(super) fn new(function: impl FnOnce(Option<Answer>) + Send + 'static) -> Self {
        Self(Some(Box::new(function)))
    }

    fn call(&mut self, answer: Option<Answer>) {
        if let Some(function) = self.0.take() {
            function(answer);
        }
    }
}

impl Drop for Callback {
    fn drop(&mut self) {
        self.call(None);
    }
}

/// The answer to an order.
pub(super) struct Answer {
    /// The bytes that were written or read.
    pub(super) bytes: Vec<u8>,
    /// Bytes from the first on that are certainly done.
    pub(super) done: u64,
    pub(super) error: Option<Errno>,
}

/// A queue of orders `T` with a limit.
pub(super) struct Inbox<T> {
    state: Mutex<InboxState<T>>,
    /// Notified when an order has been answered.
    room: Condvar,
    most: u32,
    bell: Bell,
}

struct InboxState<T> {
    /// Orders, each with the time at which it was put.
    orders: VecDeque<(Time, T)>,
    /// Orders taken in and not yet answered.
    outstanding: u32,
    /// Why no order is taken any more; `None` while the inbox is open.
    closed: Option<Closed>,
}

/// The reason why an inbox takes no orders any more.
#[derive(Clone, Debug)]
pub(super) struct Closed {
    pub(super) kind: ErrorKind,
    pub(super) why: Arc<str>,
}

impl Closed {
    /// Closed by its owner.
    fn asked() -> Self {
        Self { kind: ErrorKind::BrokenPipe, why: "the gate is closed".into() }
    }

    /// The error of a request.
    pub(super) fn error(&self) -> io::Error {
        io::Error::new(self.kind, &*self.why)
    }

    /// A request is not wanted any more.
    pub(super) fn interrupted() -> Self {
        Self { kind: ErrorKind::Interrupted, why: "the wait for it was interrupted".into() }
    }

    /// The dispatcher has ended without a reason.
    fn ended() -> Self {
        Self { kind: ErrorKind::Other, why: "the gate has ended".into() }
    }
}

impl<T> Inbox<T> {
    /// Creates an inbox for `most` unanswered orders, whose dispatcher is woken by `bell`.
    pub(super) fn new(most: u32, bell: Bell) -> Self {
        let state = InboxState { orders: VecDeque::new(), outstanding: 0, closed: None };
        Self { state: Mutex::new(state), room: Condvar::new(), most, bell }
    }

    /// Adds an order of the time `at` once there is room for it. Meanwhile calls `interrupted` once a `beat`, and
    /// gives up if that returns `true`.
    ///
    /// # Errors
    /// The reason why the order is not taken.
    pub(super) fn put(
        &self,
        at: Time,
        order: T,
        beat: Duration,
        interrupted: impl Fn() -> bool,
    ) -> Result<(), Closed> {
        let full =
            |state: &mut InboxState<T>| state.closed.is_none() && state.outstanding >= self.most;
        let mut state = self.lock();
        while full(&mut state) {
            let waited = self.room.wait_timeout_while(state, beat, full);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
            if full(&mut state) {
                drop(state);
                if interrupted() {
                    return Err(Closed::interrupted());
                }
                state = self.lock();
            }
        }
        if let Some(why) = &state.closed {
            return Err(why.clone());
        }
        self.push(state, at, order);
        Ok(())
    }

    /// Adds an order of the time `at`, which is made only if there is room for it now.
    ///
    /// # Errors
    /// The reason why no order is taken any more; `None` if there is no room.
    pub(super) fn try_put(
        &self,
        at: Time,
        order: impl FnOnce() -> T,
    ) -> Result<(), Option<Closed>> {
        let state = self.lock();
        if state.closed.is_some() || state.outstanding >= self.most {
            return Err(state.closed.clone());
        }
        self.push(state, at, order());
        Ok(())
    }

    fn push(&self, mut state: MutexGuard<'_, InboxState<T>>, at: Time, order: T) {
        state.outstanding += 1;
        state.orders.push_back((at, order));
        // A caller whose order was not the first relies on the ring for the first.
        let first = state.orders.len() == 1;
        drop(state);
        if first {
            self.bell.ring();
        }
    }

    /// Closes the inbox. Earlier orders are still served.
    pub(super) fn close(&self) {
        self.shut(Closed::asked);
    }

    /// Closes the inbox because of a failure. Waiting callers get `why`, even if the inbox was
    /// closed meanwhile.
    pub(super) fn fail(&self, kind: ErrorKind, why: &str) {
        self.lock().closed = Some(Closed { kind, why: why.into() });
    }

    /// Records that the dispatcher has ended, which every waiting thread gets as its answer.
    pub(super) fn end(&self) {
        self.shut(Closed::ended);
        // Outside the lock: the replies of orders may ask why it is closed.
        let orders = mem::take(&mut self.lock().orders);
        drop(orders);
    }

    fn shut(&self, why: fn() -> Closed) {
        self.lock().closed.get_or_insert_with(why);
        self.room.notify_all();
        self.bell.ring();
    }

    /// Why no order is taken any more; `None` while the inbox is open.
    pub(super) fn why_closed(&self) -> Option<Closed> {
        self.lock().closed.clone()
    }

    /// Why no order is taken any more.
    pub(super) fn closed(&self) -> Closed {
        self.why_closed().unwrap_or_else(Closed::ended)
    }

    /// Time of the first order: never before its request, as the loop may be behind the caller's
    /// time and a device must not begin earlier. A far time if there may be orders later, `NEVER`
    /// if not.
    pub(super) fn next_due(&self) -> Time {
        /// `NEVER` would end the loop: instead it sleeps until the bell.
        const SOME_DAY: Time = Time::from_ns(Time::NEVER.ns() - 1);
        let state = self.lock();
        match (state.orders.front(), &state.closed) {
            (Some((at, _)), _) => *at,
            (None, None) => SOME_DAY,
            (None, Some(_)) => Time::NEVER,
        }
    }

    /// Takes the first order, with the time at which it was put.
    pub(super) fn take(&self) -> Option<(Time, T)> {
        self.lock().orders.pop_front()
    }

    /// Wakes the dispatcher.
    pub(super) fn ring(&self) {
        self.bell.ring();
    }

    /// Number of orders that are not answered.
    pub(super) fn outstanding(&self) -> u32 {
        self.lock().outstanding
    }

    /// Records that an order has been answered.
    pub(super) fn answered(&self) {
        self.lock().outstanding -= 1;
        self.room.notify_one();
    }

    fn lock(&self) -> MutexGuard<'_, InboxState<T>> {
        lock(&self.state)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::sync::mpsc::sync_channel;

    use penstock_live::LiveClock;

    use super::*;

    const BEAT: Duration = Duration::from_millis(1);

    fn order() -> Order {
        let reply = Reply::Thread(sync_channel(1).0);
        let (class, prio, book) = (ClassId(0), Prio(0), 0);
        let (file, offset, bytes, len, sync) = (0, 0, vec![1], 1, false);
        Order { op: Op::Write, file, offset, bytes, len, sync, class, prio, book, reply }
    }

    #[test]
    fn who_asks_for_more_than_there_is_room_for_waits_until_something_is_answered() {
        let inbox = Inbox::new(1, LiveClock::bare().bell().expect("it can be woken"));
        assert!(inbox.put(Time::ZERO, order(), BEAT, || false).is_ok());
        let through = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let second = scope.spawn(|| {
                let put = inbox.put(Time::ZERO, order(), BEAT, || false);
                through.store(true, Ordering::Relaxed);
                put.is_ok()
            });
            (0..10_000).for_each(|_| std::thread::yield_now());
            assert!(!through.load(Ordering::Relaxed), "taken, and not yet answered");
            assert!(inbox.take().is_some() && inbox.take().is_none());
            inbox.answered();
            assert!(second.join().unwrap());
        });
        assert!(inbox.take().is_some());
        let interrupted =
            inbox.put(Time::ZERO, order(), BEAT, || true).map_err(|closed| closed.kind);
        assert_eq!(interrupted, Err(ErrorKind::Interrupted), "it is full again");
    }

    #[test]
    fn an_order_that_is_never_answered_calls_its_function_which_may_ask_why() {
        let inbox = Arc::new(Inbox::new(1, LiveClock::bare().bell().expect("it can be woken")));
        let (sender, called) = sync_channel(2);
        let replying = || {
            let (sender, inbox) = (sender.clone(), Arc::clone(&inbox));
            let function = move |answer: Option<Answer>| {
                let why = answer.is_none().then(|| inbox.closed().kind);
                sender.send(why).expect("the test is there");
            };
            Order { reply: Reply::Function(Callback::new(function)), ..order() }
        };
        assert!(inbox.try_put(Time::ZERO, replying).is_ok());
        let full = inbox.try_put(Time::ZERO, || unreachable!("there is no room"));
        assert!(full.is_err_and(|closed| closed.is_none()));
        inbox.fail(ErrorKind::TimedOut, "no answer");
        inbox.end();
        assert_eq!(called.recv().unwrap(), Some(ErrorKind::TimedOut));
        let closed = inbox.try_put(Time::ZERO, || unreachable!("it is closed"));
        assert_eq!(closed.unwrap_err().map(|closed| closed.kind), Some(ErrorKind::TimedOut));
        assert!(called.try_recv().is_err(), "each is called once");
    }

    #[test]
    fn a_closed_inbox_says_why_and_serves_what_it_has() {
        let inbox = Inbox::new(2, LiveClock::bare().bell().expect("it can be woken"));
        let refused = || {
            inbox
                .put(Time::ZERO, order(), BEAT, || false)
                .map_err(|closed| (closed.kind, closed.why.to_string()))
        };
        assert!(inbox.put(Time::ZERO, order(), BEAT, || false).is_ok());
        inbox.close();
        assert_eq!(refused(), Err((ErrorKind::BrokenPipe, "the gate is closed".into())));
        inbox.fail(ErrorKind::TimedOut, "no answer");
        inbox.close();
        assert_eq!(refused(), Err((ErrorKind::TimedOut, "no answer".into())));
        assert_eq!(inbox.next_due(), Time::ZERO);
        assert!(inbox.take().is_some());
        assert_eq!(inbox.next_due(), Time::NEVER);
    }
}
