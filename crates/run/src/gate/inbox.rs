//! Orders of an application's threads on their way to the dispatcher.

use std::collections::VecDeque;
use std::io::{self, ErrorKind};
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use penstock_core::{Errno, Op, Time};
use penstock_live::Bell;

/// One thing that is asked for.
pub(super) struct Order {
    pub(super) op: Op,
    /// Which of the gate's files.
    pub(super) file: u32,
    pub(super) offset: u64,
    /// What is to be written, or room for what is to be read.
    pub(super) bytes: Vec<u8>,
    /// On stable media when it is answered.
    pub(super) sync: bool,
    /// When it was asked for.
    pub(super) at: Time,
    pub(super) reply: SyncSender<Answer>,
}

/// How it ended.
pub(super) struct Answer {
    /// As they were given, or read.
    pub(super) bytes: Vec<u8>,
    /// How many from the first on are certainly done.
    pub(super) done: u64,
    pub(super) error: Option<Errno>,
}

/// Orders, and how many there may be.
pub(super) struct Inbox {
    state: Mutex<InboxState>,
    /// Notified when an order has been answered.
    room: Condvar,
    most: u32,
    bell: Bell,
}

struct InboxState {
    orders: VecDeque<Order>,
    /// Left here, and not yet answered.
    outstanding: u32,
    /// Why nothing is taken any more.
    closed: Option<Closed>,
}

/// Why an inbox takes nothing any more.
#[derive(Clone, Debug)]
pub(super) struct Closed {
    pub(super) kind: ErrorKind,
    pub(super) why: Arc<str>,
}

impl Closed {
    /// By its owner.
    fn asked() -> Self {
        Self { kind: ErrorKind::BrokenPipe, why: "the gate is closed".into() }
    }

    /// As an error of a request.
    pub(super) fn error(&self) -> io::Error {
        io::Error::new(self.kind, &*self.why)
    }

    /// For one request, which is not wanted any more.
    pub(super) fn interrupted() -> Self {
        Self { kind: ErrorKind::Interrupted, why: "the wait for it was interrupted".into() }
    }

    /// By itself, and it has not said why.
    fn ended() -> Self {
        Self { kind: ErrorKind::Other, why: "the gate has ended".into() }
    }
}

impl Inbox {
    /// An inbox for `most` orders that are not yet answered, whose dispatcher is woken by `bell`.
    pub(super) fn new(most: u32, bell: Bell) -> Self {
        let state = InboxState { orders: VecDeque::new(), outstanding: 0, closed: None };
        Self { state: Mutex::new(state), room: Condvar::new(), most, bell }
    }

    /// Adds an order once there is room for it. It calls `interrupted` once a `beat`, and gives up
    /// if that says that the order is not wanted any more.
    ///
    /// # Errors
    /// Why it is not taken.
    pub(super) fn put(
        &self,
        order: Order,
        beat: Duration,
        interrupted: impl Fn() -> bool,
    ) -> Result<(), Closed> {
        let full =
            |state: &mut InboxState| state.closed.is_none() && state.outstanding >= self.most;
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
        state.outstanding += 1;
        state.orders.push_back(order);
        // The caller that added the first of several has rung.
        let first = state.orders.len() == 1;
        drop(state);
        if first {
            self.bell.ring();
        }
        Ok(())
    }

    /// Takes nothing more. What was left is still to be served.
    pub(super) fn close(&self) {
        self.shut(Closed::asked);
    }

    /// Nothing goes on, because of `why`. Waiting callers get that reason, although the inbox may
    /// have been closed meanwhile.
    pub(super) fn fail(&self, kind: ErrorKind, why: &str) {
        self.lock().closed = Some(Closed { kind, why: why.into() });
    }

    /// The dispatcher has gone: every waiting thread gets that as its answer.
    pub(super) fn end(&self) {
        self.shut(Closed::ended);
        self.lock().orders.clear();
    }

    fn shut(&self, why: fn() -> Closed) {
        self.lock().closed.get_or_insert_with(why);
        self.room.notify_all();
        self.bell.ring();
    }

    /// Why nothing is taken any more, if nothing is.
    pub(super) fn why_closed(&self) -> Option<Closed> {
        self.lock().closed.clone()
    }

    /// Why nothing is taken any more.
    pub(super) fn closed(&self) -> Closed {
        self.why_closed().unwrap_or_else(Closed::ended)
    }

    /// When there is an order to be taken: when it was asked for, or later, or never again. The loop
    /// may be behind the time at which a caller asks, and a device must not begin before.
    pub(super) fn next_due(&self) -> Time {
        /// The loop would end if there were never anything: it sleeps until the bell instead.
        const SOME_DAY: Time = Time::from_ns(Time::NEVER.ns() - 1);
        let state = self.lock();
        match (state.orders.front(), &state.closed) {
            (Some(order), _) => order.at,
            (None, None) => SOME_DAY,
            (None, Some(_)) => Time::NEVER,
        }
    }

    pub(super) fn take(&self) -> Option<Order> {
        self.lock().orders.pop_front()
    }

    /// An order has been answered.
    pub(super) fn answered(&self) {
        self.lock().outstanding -= 1;
        self.room.notify_one();
    }

    fn lock(&self) -> MutexGuard<'_, InboxState> {
        // What it guards is whole between any two statements.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
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
        let (bytes, at) = (vec![1], Time::ZERO);
        let reply = sync_channel(1).0;
        Order { op: Op::Write, file: 0, offset: 0, bytes, sync: false, at, reply }
    }

    #[test]
    fn who_asks_for_more_than_there_is_room_for_waits_until_something_is_answered() {
        let inbox = Inbox::new(1, LiveClock::bare().bell().expect("it can be woken"));
        assert!(inbox.put(order(), BEAT, || false).is_ok());
        let through = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let second = scope.spawn(|| {
                let put = inbox.put(order(), BEAT, || false);
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
        let interrupted = inbox.put(order(), BEAT, || true).map_err(|closed| closed.kind);
        assert_eq!(interrupted, Err(ErrorKind::Interrupted), "it is full again");
    }

    #[test]
    fn a_closed_inbox_says_why_and_serves_what_it_has() {
        let inbox = Inbox::new(2, LiveClock::bare().bell().expect("it can be woken"));
        let refused = || {
            inbox
                .put(order(), BEAT, || false)
                .map_err(|closed| (closed.kind, closed.why.to_string()))
        };
        assert!(inbox.put(order(), BEAT, || false).is_ok());
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
