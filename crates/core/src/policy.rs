//! The scheduling policy: who is next, and how much of it.

use alloc::boxed::Box;
use alloc::vec::Vec;

use crate::device::Device;
use crate::request::{Errno, ReqId, Request};
use crate::time::{Span, Time};

/// Send this much of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Go {
    /// Which request.
    pub id: ReqId,
    /// Bytes of it; 0 means all that is left.
    pub len: u32,
}

impl Go {
    /// All that is left of `id`.
    pub const fn all(id: ReqId) -> Self {
        Self { id, len: 0 }
    }
}

/// What a decision may look at and fill beside its answer.
pub struct Out<'a> {
    /// Neighbours merged behind the answer, in address order. The answer must then be
    /// [`Go::all`] of a request of which nothing was sent, and so must each of these.
    pub chain: &'a mut Vec<ReqId>,
    /// The device below: its `room`, what it `admits`, what a `position` would cost.
    pub below: &'a dyn Device,
}

/// What a policy hears once for every request and piece.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Part {
    /// When it finished.
    pub at: Time,
    /// Device time that it cost.
    pub service: Span,
    /// Bytes that it carried.
    pub len: u32,
    /// The request is finished.
    pub last: bool,
    /// Why it failed, if it did.
    pub error: Option<Errno>,
}

/// A scheduling policy: a pure state machine with no clock, no I/O, no thread and no random source.
///
/// It never sees a flush. Tickets are slots of one dense table, so state may be indexed by
/// [`ReqId::index`]. Integers decide: no floating point, so that every machine decides alike.
pub trait Policy {
    /// A request has arrived.
    fn enqueue(&mut self, now: Time, req: &Request);

    /// The device has room: what goes next? `None` while something is queued is allowed only if
    /// something is in flight or [`wakeup`](Self::wakeup) names a time.
    fn dispatch(&mut self, now: Time, out: &mut Out<'_>) -> Option<Go>;

    /// A piece of a request, or all of it, has finished.
    fn complete(&mut self, now: Time, req: &Request, part: &Part);

    /// When to ask again. Called after `dispatch` said `None` and the device has room; the call
    /// that follows may come late, never early.
    fn wakeup(&self) -> Time {
        Time::NEVER
    }

    /// Tells the name and the value of each counter of its own, for the result of a run that has
    /// ended.
    fn counters(&self, _tell: &mut dyn FnMut(&str, u64)) {}
}

impl<P: Policy + ?Sized> Policy for Box<P> {
    fn enqueue(&mut self, now: Time, req: &Request) {
        (**self).enqueue(now, req);
    }
    fn dispatch(&mut self, now: Time, out: &mut Out<'_>) -> Option<Go> {
        (**self).dispatch(now, out)
    }
    fn complete(&mut self, now: Time, req: &Request, part: &Part) {
        (**self).complete(now, req, part);
    }
    fn wakeup(&self) -> Time {
        (**self).wakeup()
    }
    fn counters(&self, tell: &mut dyn FnMut(&str, u64)) {
        (**self).counters(tell);
    }
}
