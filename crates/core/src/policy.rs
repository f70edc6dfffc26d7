//! The scheduling policy: it chooses the next request, and the number of its bytes.

use alloc::boxed::Box;
use alloc::vec::Vec;

use crate::counter::Counter;
use crate::device::Device;
use crate::request::{Errno, ReqId, Request};
use crate::time::{Span, Time};

/// A decision: send this many bytes of this request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Go {
    /// The request.
    pub id: ReqId,
    /// Number of its bytes to send; 0 means all that are left.
    pub len: u32,
}

impl Go {
    /// Sends the rest of request `id`.
    pub const fn all(id: ReqId) -> Self {
        Self { id, len: 0 }
    }
}

/// Input and further output of a decision: the device that it may query, the chain that it may
/// fill.
pub struct Out<'a> {
    /// Neighbours merged behind the answer, in address order. The answer must then be [`Go::all`]
    /// of a request of which no byte was sent. The same holds for each neighbour.
    pub chain: &'a mut Vec<ReqId>,
    /// The device below, to ask for its `room`, what it `admits` and what a `position` would cost.
    pub below: &'a dyn Device,
}

/// A completed request, or a completed piece of one, as reported to the policy.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Part {
    /// Time of completion.
    pub at: Time,
    /// Device time that it cost.
    pub service: Span,
    /// Bytes that it carried.
    pub len: u32,
    /// Whether this was the last piece of the request.
    pub last: bool,
    /// The error, if it failed.
    pub error: Option<Errno>,
}

/// A scheduling policy: a pure state machine with no clock, no I/O, no thread and no random source.
///
/// It never sees a flush. Tickets are slots of one dense table, so state may be indexed by
/// [`ReqId::index`]. Integers decide: no floating point, so that every machine decides alike.
pub trait Policy {
    /// A request has arrived.
    fn enqueue(&mut self, now: Time, req: &Request);

    /// Decides what goes next, now that the device has room. While a request is queued, `None` is
    /// allowed only if a command is in flight or [`wakeup`](Self::wakeup) names a time.
    fn dispatch(&mut self, now: Time, out: &mut Out<'_>) -> Option<Go>;

    /// A piece of a request, or all of it, has finished.
    fn complete(&mut self, now: Time, req: &Request, part: &Part);

    /// Time of the next `dispatch`, called after `dispatch` returned `None` while the device has
    /// room. The next `dispatch` may come late, never early.
    fn wakeup(&self) -> Time {
        Time::NEVER
    }

    /// Reports each counter of the policy with its value: for the result of a finished run, and
    /// during the run for its series over time.
    fn counters(&self, _report: &mut dyn FnMut(Counter<'_>, u64)) {}
}

/// A policy that can be held against another scheduler: it follows that one's decisions, so that both
/// stand at the same place before each.
///
/// The policy is built without merging, so that every request is a command of its own.
pub trait Follower: Policy {
    /// Returns a copy in the same state. Its `dispatch` says what this policy would send.
    fn copy(&self) -> Box<dyn Follower>;

    /// Takes the queued request `req` out, as sent at `now`, in place of a decision of its own.
    fn follow(&mut self, now: Time, req: &Request);
}

#[deny(clippy::missing_trait_methods, reason = "a method left out would hide the policy's own")]
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
    fn counters(&self, report: &mut dyn FnMut(Counter<'_>, u64)) {
        (**self).counters(report);
    }
}
