//! Sources of requests: agents, programs, traces, clients.

use alloc::boxed::Box;

use crate::request::{Done, Io, Request};
use crate::time::Time;

/// A generator of requests. Pure: the loop passes the time in.
pub trait Source {
    /// Time at which the next request is due, as far as that is known; [`Time::NEVER`] while the
    /// source waits for a completion, and after its last request.
    fn next_due(&self) -> Time;

    /// The next request that is due at `now`, if any. Its `due` is the intended arrival.
    fn take(&mut self, now: Time) -> Option<Io>;

    /// A request has finished: closed loops and programs issue their next requests after this.
    fn finished(&mut self, now: Time, req: &Request, done: &Done);

    /// Whether it has more requests although `next_due` names no time. If nothing is outstanding
    /// then, nothing can wake it, and the run fails.
    fn waits(&self) -> bool {
        false
    }
}

/// Implements [`Source`] for a pointer to a source.
macro_rules! held {
    ($holder:ty) => {
        impl<S: Source + ?Sized> Source for $holder {
            fn next_due(&self) -> Time {
                (**self).next_due()
            }
            fn take(&mut self, now: Time) -> Option<Io> {
                (**self).take(now)
            }
            fn finished(&mut self, now: Time, req: &Request, done: &Done) {
                (**self).finished(now, req, done);
            }
            fn waits(&self) -> bool {
                (**self).waits()
            }
        }
    };
}

held!(Box<S>);
held!(&mut S);
