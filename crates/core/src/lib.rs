//! The base of all crates: time, requests, four traits, one loop.
//!
//! A [`Policy`] is a pure state machine. [`Queued`] puts one in front of a [`Device`] and is itself
//! a device. [`run`] drives a [`Source`] and a device under a [`Clock`]: virtual time jumps, real
//! time waits, and no code above the clock can tell which of the two it runs in.
//!
//! Invariants: no operating system, no clock of its own, no unsafe code; the same calls give the
//! same answers; no allocation per request once tables have reached their high-water mark.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod bounded;
mod clock;
mod counter;
mod device;
mod event_loop;
mod in_flight;
mod io_prio;
mod policy;
mod queued;
mod request;
mod rng;
mod served;
mod sharing;
mod source;
mod table;
mod tap;
mod time;
mod unscheduled;
mod witness;

pub use bounded::Bounded;
pub use clock::{Clock, Virtual};
pub use counter::{Counter, Moves};
pub use device::Device;
pub use event_loop::{End, Limits, Observer, RunError, run};
pub use in_flight::InFlight;
pub use io_prio::{IoClass, IoPrio, NoIoPrio};
pub use policy::{Follower, Go, Out, Part, Policy};
pub use queued::Queued;
pub use request::{ClassId, Done, Errno, Flags, Io, Op, Prio, ReqId, Request, StreamId};
pub use rng::{Rng, Seed};
pub use served::{ClassInfo, Served};
pub use sharing::{Sharing, Started};
pub use source::Source;
pub use table::Table;
pub use tap::Tap;
pub use time::{Span, Time};
pub use unscheduled::Unscheduled;
pub use witness::{Decision, PolicyObserver, Witness};
