//! Feeds a record to the same policy in virtual time and compares the decisions, one by one.
//!
//! Clock, source and bottom device all read one tape. Everything between them is the code that ran
//! live.

use std::cell::RefCell;
use std::io;
use std::num::NonZeroU32;
use std::path::Path;
use std::rc::Rc;

use penstock_core::{
    Device, Done, Limits, Observer, Policy, Queued, ReqId, Request, Served, Time, Witness, run,
};
use penstock_device::page_cache::Topology;
use penstock_device::{PageCache, Rack};
use penstock_jobs::params;
use penstock_jobs::{Extent, Job};
use serde::Serialize;

use super::header::{Header, RecordedDisk};
use super::played::{Arrivals, Played, Turns};
use super::reader::{Decisions, Events};
use super::tape::{Known, Tape};
use super::verdict::{Difference, Verdict};
use crate::failure::Failure;
use crate::place::cached_devices;

/// Error of a record whose devices are too large.
const TOO_MANY_BYTES: &str = "its devices have more bytes than an address can name";

/// Result of a comparison of decisions.
#[derive(Debug, Serialize)]
pub struct Replay {
    /// Version of Penstock that replayed.
    pub penstock: &'static str,
    /// Version of Penstock that recorded.
    pub recorded_by: String,
    /// Name of the policy.
    pub policy: String,
    /// Recorded decisions, up to the first difference.
    pub decisions: u64,
    /// Decisions that the replay made alike, in the same order.
    pub alike: u64,
    /// Requests that arrived.
    pub requests: u64,
    /// The first difference; null if there is none.
    pub first_difference: Option<Difference>,
}

/// Replays the record at `path`, its job changed by `sets` on top of what it was recorded with.
///
/// # Errors
/// When the record or its decisions cannot be read, or its job is not one that this version knows.
pub fn replay(path: &Path, sets: &[String]) -> Result<Replay, Failure> {
    observed(path, sets, |_, _| Ok(())).map(|(replay, ())| replay)
}

/// Replays as [`replay`] does, and lets an observer, which `observer` makes from the run's header
/// and job, observe the requests.
///
/// # Errors
/// If [`replay`] or `observer` fails.
pub(crate) fn observed<O: Observer>(
    path: &Path,
    sets: &[String],
    observer: impl FnOnce(&Header, &Job) -> Result<O, Failure>,
) -> Result<(Replay, O), Failure> {
    let at = |error: io::Error| Failure::unreadable(path, &error);
    let (events, header) = Events::open(path).map_err(at)?;
    let decisions = Decisions::open(path).map_err(|error| {
        let hint = "a record needs the decisions that were written with it";
        Failure::unreadable(&crate::record::decisions_of(path), &error).hint(hint)
    })?;
    let job = Job::parse(&format!("the job in {}", path.display()), &header.text, sets)?;
    let inner = observer(&header, &job)?;
    let below_cache = below_cache(path, &header, &job)?;
    let known = Known::new(&header, &job, below_cache.clone());
    let tape = Tape::new(events, known, header.queues.len().max(1));
    let tape = tape.map_err(|error| damaged(path, &error))?;
    let tape = Rc::new(RefCell::new(tape));
    let verdict = Rc::new(RefCell::new(Verdict::new(decisions)));
    let mut stack = stack(path, &header, &job, below_cache, (&tape, &verdict))?;
    let (mut clock, mut source) = (Turns(Rc::clone(&tape)), Arrivals(Rc::clone(&tape)));
    let mut watch =
        ReplayObserver { tape: Rc::clone(&tape), verdict: Rc::clone(&verdict), requests: 0, inner };
    // Requests stay outstanding at the tape's end if the recorded run was ended: no failure here.
    let limits = Limits { until: Time::NEVER, max_outstanding: u32::MAX };
    let _ = run(&mut source, &mut stack, &mut clock, &mut watch, limits);
    if let Some(error) = tape.borrow_mut().failed.take() {
        return Err(damaged(path, &error));
    }
    let verdict = &mut *verdict.borrow_mut();
    verdict.end(tape.borrow().next);
    if let Some(error) = verdict.failed.take() {
        return Err(damaged(&crate::record::decisions_of(path), &error));
    }
    let replay = Replay {
        penstock: crate::result::version::VERSION,
        recorded_by: header.penstock,
        policy: header.policy,
        decisions: verdict.recorded,
        alike: verdict.alike,
        requests: watch.requests,
        first_difference: verdict.difference.take(),
    };
    Ok((replay, watch.inner))
}

/// Builds the stack between source and devices, over devices that play the tape: a single queue, a
/// queue above every disk of an array, or a queue above each of several devices, perhaps below a
/// page cache.
fn stack(
    path: &Path,
    header: &Header,
    job: &Job,
    below_cache: Option<Topology>,
    (tape, verdict): (&Rc<RefCell<Tape>>, &Rc<RefCell<Verdict>>),
) -> Result<Box<dyn Device>, Failure> {
    let queue = |number: u16, disk: RecordedDisk| {
        let judge = Rc::clone(verdict);
        let disks = disk.lane.map(|lane| lane.disks);
        let policy = Witness::new(policy(header, job, disks)?, move |at, go, chain: &[ReqId]| {
            judge.borrow_mut().compare(number, at, go, chain);
        });
        let device = Played::new(Rc::clone(tape), header, number, disk);
        Ok(Queued::new(policy, device).arrivals_first(job.workload.arrives_at_completions()))
    };
    let below: Box<dyn Device> = if header.queues.is_empty() {
        let device = RecordedDisk { room: header.room, capacity: header.capacity, lane: None };
        Box::new(queue(0, device)?)
    } else if header.is_of_lanes() {
        addresses(header).ok_or_else(|| {
            damaged(path, &io::Error::new(io::ErrorKind::InvalidData, TOO_MANY_BYTES))
        })?;
        let queues = (0..).zip(&header.queues).map(|(number, disk)| queue(number, *disk));
        Box::new(Rack::new(queues.collect::<Result<_, Failure>>()?))
    } else {
        array(path, header, job, queue)?
    };
    let Some((spec, topology)) = job.buffered().zip(below_cache) else {
        return Ok(below);
    };
    Ok(Box::new(PageCache::over(&spec.options(), &topology, below)))
}

/// Returns the topology below a modelled page cache, if the run had one.
fn below_cache(path: &Path, header: &Header, job: &Job) -> Result<Option<Topology>, Failure> {
    if header.machine_cache || job.buffered().is_none() {
        return Ok(None);
    }
    let wrong = |what| damaged(path, &io::Error::new(io::ErrorKind::InvalidData, what));
    if header.is_of_lanes() && addresses(header).is_none() {
        return Err(wrong(TOO_MANY_BYTES));
    }
    let devices = extents(header);
    if devices.iter().any(|device| device.capacity == 0) {
        return Err(wrong("a device below its page cache has no bytes"));
    }
    cached_devices::layout(job, &devices)
}

/// Returns the extents of the devices of a recorded run, one after the other.
fn extents(header: &Header) -> Vec<Extent> {
    if !header.is_of_lanes() {
        return vec![Extent::whole(header.capacity, header.block)];
    }
    let mut base = 0;
    let extent = |disk: &RecordedDisk| {
        let block = disk.lane.map_or(header.block, |lane| lane.block);
        let extent = Extent { base, capacity: disk.capacity, block };
        base += disk.capacity;
        extent
    };
    header.queues.iter().map(extent).collect()
}

/// Returns the total bytes below its queues; `None` if they exceed the address space.
fn addresses(header: &Header) -> Option<u64> {
    header.queues.iter().map(|disk| disk.capacity).try_fold(0, u64::checked_add)
}

/// Builds the array of the job, with a `queue` above every disk.
fn array<D: Device + 'static>(
    path: &Path,
    header: &Header,
    job: &Job,
    queue: impl Fn(u16, RecordedDisk) -> Result<D, Failure>,
) -> Result<Box<dyn Device>, Failure> {
    let foreign = || {
        let what = "its device is no array of as many disks as it has queues";
        damaged(path, &io::Error::new(io::ErrorKind::InvalidData, what))
    };
    let array = job.device.as_ref().and_then(|spec| spec.array_of_queues());
    let array = array.filter(|array| array.disks as usize == header.queues.len());
    let array = array.ok_or_else(foreign)?;
    addresses(header).ok_or_else(foreign)?;
    let queues = (0..).zip(&header.queues).map(|(number, disk)| queue(number, *disk));
    let array = array.over(queues.collect::<Result<_, Failure>>()?).map_err(|_| foreign())?;
    Ok(Box::new(array))
}

/// Returns the failure that the events or decisions in the file at `path` cannot be read to their
/// end.
fn damaged(path: &Path, error: &io::Error) -> Failure {
    let failure = Failure::unreadable(path, error);
    match error.kind() {
        io::ErrorKind::InvalidData => {
            failure.hint("the file is damaged: record the run again with `penstock run --record`")
        }
        _ => failure,
    }
}

/// Creates the recorded policy for what it served then; with `own` disks if each of several devices
/// had a policy of its own.
fn policy(header: &Header, job: &Job, own: Option<NonZeroU32>) -> Result<Box<dyn Policy>, Failure> {
    let (entry, params) = (params::policy(&header.policy)?, job.params(&header.policy)?);
    Ok(match &header.served {
        Some(served) => {
            let (classes, disks) = served.parts();
            (entry.build)(&params, &Served { classes: &classes, disks: own.unwrap_or(disks) })
        }
        None => (entry.build)(&params, &Served::ONE_DISK),
    })
}

/// Ends the replay at the first difference.
struct ReplayObserver<O> {
    tape: Rc<RefCell<Tape>>,
    verdict: Rc<RefCell<Verdict>>,
    requests: u64,
    inner: O,
}

impl<O: Observer> Observer for ReplayObserver<O> {
    fn turn(&mut self, _: Time) -> bool {
        self.tape.borrow().failed.is_none() && self.verdict.borrow().agrees()
    }

    fn arrived(&mut self, now: Time, req: &Request) {
        self.requests += 1;
        self.inner.arrived(now, req);
    }

    fn finished(&mut self, now: Time, req: &Request, done: &Done) {
        self.inner.finished(now, req, done);
    }
}
