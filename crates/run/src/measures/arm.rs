//! The arm of the first disk in a stretch of a run, and the periods in which the policy held the
//! disk idle.
//!
//! The disk counts as held while requests are queued and none is at the disk. This is observed
//! where the policy is called, and only known if the policy serves this disk alone. Accesses are
//! observed at the disk, also during the warm-up.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use penstock_core::{Go, Op, Part, Policy, PolicyObserver, ReqId, Request, Span, Time, Witness};
use penstock_device::hdd::Access;
use penstock_jobs::units::parse_duration;
use penstock_live::Speed;

use crate::failure::Failure;
use crate::measures::measure::Measure;
use crate::result::{Arm, ArmAccess, HeldIdle, RunResult};

/// The most accesses that are kept, and the most periods in which the disk was held: no chart shows
/// more.
const MOST: usize = 20_000;

/// A stretch of a run.
#[derive(Clone, Copy)]
pub(crate) struct Stretch {
    from: Time,
    until: Time,
}

/// The arm of one run. Clones share their data.
#[derive(Clone)]
pub(crate) struct ArmCourse {
    course: Rc<RefCell<ArmStretch>>,
    /// Whether the policy of the first disk is known.
    witnessed: Rc<Cell<bool>>,
}

struct ArmStretch {
    stretch: Stretch,
    accesses: Vec<ArmAccess>,
    held: Vec<HeldIdle>,
    /// Requests that the policy knows of.
    outstanding: u32,
    /// Requests, and pieces of them, that it has sent.
    sent: u32,
    /// Commands at the disk, if that is observed: a flush never comes to a policy.
    at_disk: u32,
    /// When the disk began to be held, if it is.
    since: Option<Time>,
}

impl Stretch {
    /// Creates a stretch of `length`, by default two seconds, from `from` on, by default the
    /// beginning of the run.
    pub(crate) fn new(from: Option<&str>, length: Option<&str>) -> Result<Self, Failure> {
        let span = |option: &str, text: Option<&str>, otherwise| match text {
            None => Ok(otherwise),
            Some(text) => parse_duration(text).map_err(|error| {
                let found = format_args!("{option}: {}", error.message());
                Failure::wrong(found, "as in --from 1s --for 500ms")
            }),
        };
        let from = Time::ZERO + span("--from", from, Span::ZERO)?;
        let length = span("--for", length, Span::from_secs(2))?;
        if length == Span::ZERO {
            let found = "--for 0: expected a length of time above 0";
            return Err(Failure::wrong(found, "as in --for 500ms"));
        }
        Ok(Self { from, until: from + length })
    }
}

impl ArmCourse {
    pub(crate) fn new(stretch: Stretch) -> Self {
        let course = ArmStretch {
            stretch,
            accesses: Vec::new(),
            held: Vec::new(),
            outstanding: 0,
            sent: 0,
            at_disk: 0,
            since: None,
        };
        Self { course: Rc::new(RefCell::new(course)), witnessed: Rc::default() }
    }

    /// Observes `policy`, which serves `disks` disks, if it is the policy of the first disk alone.
    /// Policies must be passed in the order of their disks.
    pub(crate) fn over(&self, policy: Box<dyn Policy>, disks: u32) -> Box<dyn Policy> {
        if self.witnessed.replace(true) || disks > 1 {
            return policy;
        }
        Box::new(Witness::with(policy, HoldObserver(Rc::clone(&self.course))))
    }

    /// Records that the disk's model, which runs at `speed`, begins an access at `at`.
    pub(crate) fn accessed(&self, at: Time, access: &Access, speed: Speed) {
        let course = &mut *self.course.borrow_mut();
        let begins = speed.real(at);
        if begins < course.stretch.from
            || begins >= course.stretch.until
            || course.accesses.len() >= MOST
            || access.is_decoding()
        {
            return;
        }
        let arrives = at + access.overhead + access.seek;
        let ends = arrives + access.rotation + access.transfer;
        course.accesses.push(ArmAccess {
            begins_ns: begins.ns(),
            arrives_ns: speed.real(arrives).ns(),
            ends_ns: speed.real(ends).ns(),
            start: access.from,
            first: access.to,
            last: access.last(),
            write: access.op == Op::Write,
        });
    }

    /// Records that the disk gets a command.
    pub(crate) fn started(&self, now: Time) {
        let course = &mut *self.course.borrow_mut();
        course.at_disk += 1;
        course.look(now);
    }

    /// Records that the disk has finished a command.
    pub(crate) fn finished(&self, now: Time) {
        let course = &mut *self.course.borrow_mut();
        course.at_disk -= 1;
        course.look(now);
    }
}

impl Measure for ArmCourse {
    fn write(&mut self, end: Time, result: &mut RunResult) {
        let course = &mut *self.course.borrow_mut();
        course.released(end);
        let Some(detail) = &mut result.detail else { return };
        if course.accesses.is_empty() {
            return;
        }
        let Stretch { from, until } = course.stretch;
        let until = match course.accesses.get(MOST - 1) {
            Some(last) => Time::from_ns(last.ends_ns),
            None => until.min(end).max(from),
        };
        course.held.retain(|held| held.from_ns < until.ns());
        detail.arm = Some(Arm {
            from_ns: from.ns(),
            until_ns: until.ns(),
            accesses: std::mem::take(&mut course.accesses),
            held: std::mem::take(&mut course.held),
        });
    }
}

impl ArmStretch {
    /// Records that the disk is held from `now` on if requests are queued and none is under way,
    /// and otherwise that it is not.
    fn look(&mut self, now: Time) {
        if self.outstanding > 0 && self.sent + self.at_disk == 0 {
            self.since.get_or_insert(now);
        } else {
            self.released(now);
        }
    }

    /// Ends the period in which the disk is held, if there is one.
    fn released(&mut self, now: Time) {
        let Some(since) = self.since.take() else { return };
        let Stretch { from, until } = self.stretch;
        let (from, until) = (since.max(from), now.min(until));
        if from < until && self.held.len() < MOST {
            self.held.push(HeldIdle { from_ns: from.ns(), until_ns: until.ns() });
        }
    }
}

/// Observes the policy of the disk.
struct HoldObserver(Rc<RefCell<ArmStretch>>);

impl PolicyObserver for HoldObserver {
    fn enqueued(&mut self, now: Time, _: &Request) {
        let course = &mut *self.0.borrow_mut();
        course.outstanding += 1;
        course.look(now);
    }

    fn decided(&mut self, now: Time, _: Go, chain: &[ReqId]) {
        let course = &mut *self.0.borrow_mut();
        course.sent += 1 + chain.len() as u32;
        course.look(now);
    }

    fn completed(&mut self, now: Time, _: &Request, part: &Part) {
        let course = &mut *self.0.borrow_mut();
        course.sent -= 1;
        course.outstanding -= u32::from(part.last);
        course.look(now);
    }
}
