//! The one loop that drives every stack in every world.
//!
//! A turn: (1) advance the device and hand out completions; (2) take due requests of the source
//! while there is room; (3) park until the earliest wake-up. There is no event heap: each layer
//! names its next wake-up and the loop takes the minimum. If a real clock wakes late, requests that
//! were due before the device's own wake-up come first, in a turn of their own: see the table of
//! [`run`].

use alloc::vec::Vec;
use core::fmt;

use crate::clock::Clock;
use crate::device::Device;
use crate::request::{ClassId, Done, Request};
use crate::source::Source;
use crate::table::Table;
use crate::time::{Span, Time};

/// Observes the requests and completions at the top of the stack. Every method has an empty
/// default.
pub trait Observer {
    /// A turn begins. Returning `false` ends the run here, as after Ctrl-C.
    fn turn(&mut self, _now: Time) -> bool {
        true
    }
    /// A request was submitted, and this turn may submit more. Returning `false` ends the run here:
    /// a turn in which millions of requests arrive at one instant takes long.
    fn continues(&mut self, _now: Time) -> bool {
        true
    }
    /// A request was handed to the device.
    fn arrived(&mut self, _now: Time, _req: &Request) {}
    /// A request has finished.
    fn finished(&mut self, _now: Time, _req: &Request, _done: &Done) {}
}

impl Observer for () {}

/// The end of a run, and its limit on outstanding requests.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The run ends at this time even if requests are outstanding; with [`Time::NEVER`] it ends
    /// when everything has completed.
    pub until: Time,
    /// Requests that may be outstanding at once.
    pub max_outstanding: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self { until: Time::NEVER, max_outstanding: 1 << 20 }
    }
}

/// The end of a successful run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct End {
    /// Time of the last turn.
    pub at: Time,
    /// Whether the observer ended it.
    pub interrupted: bool,
    /// Number of turns of the loop.
    pub turns: u64,
}

/// The reason why a run failed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RunError {
    /// More requests were outstanding than the job allows.
    Overload {
        /// The class of the request that did not fit.
        class: ClassId,
        /// Time of the failure.
        at: Time,
        /// The limit, from [`Limits`].
        max_outstanding: u32,
    },
    /// Requests are outstanding, and no layer names a wake-up.
    Stalled {
        /// Time of the failure.
        at: Time,
        /// Number of outstanding requests.
        outstanding: u32,
    },
    /// The source waits for a completion, but no request is outstanding.
    Deadlock {
        /// Time of the failure.
        at: Time,
    },
    /// The run went on beyond [`Time::LAST`].
    Endless {
        /// Number of outstanding requests.
        outstanding: u32,
    },
    /// Time stood still over many turns: the device takes no time, and the source does not wait.
    Spinning {
        /// The instant of these turns.
        at: Time,
    },
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Overload { class, at, max_outstanding } => write!(
                f,
                "class {} found {max_outstanding} requests outstanding at {at:?}",
                class.index()
            ),
            Self::Stalled { at, outstanding } => {
                write!(f, "{outstanding} requests are outstanding at {at:?} and nothing goes on")
            }
            Self::Deadlock { at } => {
                write!(f, "nothing is outstanding at {at:?} and the source waits for something")
            }
            Self::Endless { outstanding } => {
                write!(f, "{outstanding} requests are outstanding after a hundred years")
            }
            Self::Spinning { at } => write!(f, "time stands still at {at:?}"),
        }
    }
}

impl core::error::Error for RunError {}

/// Runs `source` on `device` until nothing is left, the limit is reached, or `observer` ends the
/// run.
///
/// Order at one instant: finish, inner pick, outer refill, arrivals, dispatch. A clock that wakes
/// late may report two instants as one: the earlier instant is then handled first. So a turn has
/// two phases, and phase 2 is left out if phase 1 submits a request. `due` is the time of the
/// source's next request; the first row that applies to a turn at `now` counts:
///
/// | `due` | device | phase 1 | phase 2 |
/// |---|---|---|---|
/// | before `now`, the wake-up and the limit | has room | submits what is due before these | |
/// | any | any; `now` is at or past the limit | | advances if a wake-up is due; ends the run |
/// | up to `now` | has room; wake-up due or polled | | advances; submits what is due |
/// | up to `now` | has room; no wake-up due | | submits what is due |
/// | up to `now` | full; wake-up due or polled | | advances; submits what now has room |
/// | never; no request outstanding | any | | ends, or fails with `Deadlock` if the source waits |
/// | after `now` | wake-up due or polled | | advances; submits what completions made due |
/// | never, or no room | no wake-up named, not polled | | fails with `Stalled` |
/// | any other time | no wake-up due | | only parks |
///
/// # Errors
/// [`RunError`]: too many requests outstanding, or a run that cannot continue.
pub fn run(
    source: &mut impl Source,
    device: &mut impl Device,
    clock: &mut impl Clock,
    observer: &mut impl Observer,
    limits: Limits,
) -> Result<End, RunError> {
    let mut table: Table<Request> = Table::new();
    // Most disks finish fewer than 256 commands between two turns. The loop must not allocate in
    // the middle of a run because the machine was busy for a while.
    let mut done: Vec<Done> = Vec::with_capacity(256);
    let (mut turns, mut last, mut turns_at_last) = (0_u64, Time::NEVER, 0_u64);
    // Each turn of an instant either finishes or sends something, so an instant has at most twice
    // as many turns as the table has slots.
    let turns_per_instant = 2 * u64::from(limits.max_outstanding) + 64;
    let polled = device.polled();
    loop {
        let now = clock.now();
        turns += 1;
        turns_at_last = if now == last { turns_at_last + 1 } else { 0 };
        last = now;
        if turns_at_last > turns_per_instant {
            return Err(RunError::Spinning { at: now });
        }
        if now > Time::LAST {
            return Err(RunError::Endless { outstanding: table.len() });
        }
        if !observer.turn(now) {
            return Ok(End { at: now, interrupted: true, turns });
        }
        let (next, mut due) = (device.wakeup(), source.next_due());
        // Phase 1. A clock that wakes late finds several events due. Requests that were due before
        // everything else are submitted first, in a turn of their own.
        let first = now.min(next).min(limits.until);
        let mut submitted = Submitted::Nothing;
        if due < first {
            submitted = submit(source, &mut due, device, &mut table, observer, now, first, limits)?;
        }
        let mut interrupted = submitted == Submitted::Interrupted;
        // Phase 2.
        if submitted == Submitted::Nothing {
            if polled || next <= now {
                device.advance(now, &mut done);
                hand_out(&mut done, &mut table, source, observer, now);
                due = source.next_due();
            }
            if now >= limits.until {
                return Ok(End { at: now, interrupted: false, turns });
            }
            if due <= now {
                let later = now + Span::from_ns(1);
                let submitted =
                    submit(source, &mut due, device, &mut table, observer, now, later, limits)?;
                interrupted = submitted == Submitted::Interrupted;
            }
        }
        if interrupted {
            return Ok(End { at: now, interrupted, turns });
        }
        if table.is_empty() && due == Time::NEVER {
            let end = End { at: now, interrupted: false, turns };
            return if source.waits() { Err(RunError::Deadlock { at: now }) } else { Ok(end) };
        }
        let due = if device.room() > 0 { due } else { Time::NEVER };
        let until = device.wakeup().min(due);
        if until == Time::NEVER && !polled || !clock.park(until.min(limits.until)) {
            return Err(RunError::Stalled { at: now, outstanding: table.len() });
        }
    }
}

/// Hands the completions `done` to `source` and to `observer`.
#[inline]
fn hand_out(
    done: &mut Vec<Done>,
    table: &mut Table<Request>,
    source: &mut impl Source,
    observer: &mut impl Observer,
    now: Time,
) {
    for d in done.iter() {
        let req = table.get(d.id).expect("a request finishes once");
        source.finished(now, req, d);
        observer.finished(now, req, d);
        table.remove(d.id);
    }
    done.clear();
}

/// The result of submitting requests of the source in a turn.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Submitted {
    Nothing,
    Requests,
    /// The observer ended the run while requests were submitted.
    Interrupted,
}

/// Submits to `device` the requests of `source` that are due before `before`, while there is room.
/// Keeps `due` at the time of the source's next request.
#[expect(clippy::too_many_arguments, reason = "the loop's own state, once a turn or twice")]
fn submit(
    source: &mut impl Source,
    due: &mut Time,
    device: &mut impl Device,
    table: &mut Table<Request>,
    observer: &mut impl Observer,
    now: Time,
    before: Time,
    Limits { max_outstanding, .. }: Limits,
) -> Result<Submitted, RunError> {
    let mut submitted = Submitted::Nothing;
    while *due < before && device.room() > 0 {
        let Some(io) = source.take(now) else { break };
        *due = source.next_due();
        if table.len() >= max_outstanding {
            return Err(RunError::Overload { class: io.class, at: now, max_outstanding });
        }
        let req = io.with(table.insert_with(|id| io.with(id)));
        observer.arrived(now, &req);
        device.start(now, &req);
        submitted = Submitted::Requests;
        if !observer.continues(now) {
            return Ok(Submitted::Interrupted);
        }
    }
    Ok(submitted)
}
