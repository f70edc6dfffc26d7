//! The hub: the state that all devices and the clock of one stage share.
//!
//! A *lane* is one target with its slots and its account of device time. The hub turns requests into
//! commands, continues short transfers, and assigns the results of the engine to lanes.
//!
//! Invariants: a slot has one command at a time; nothing outside the usable bytes of a target is
//! ever written; after construction nothing allocates. An engine is dropped when nothing is in
//! flight; if commands remain in flight after the time-out, it is never dropped.

use std::time::Duration;

use penstock_core::{Done, Errno, Io, ReqId, Request, Sharing, Span, Started, Time};

use super::commands::{Step, command, describe, settle};
use crate::engine::buffers::Layout;
use crate::engine::driver::{Command, Driver, Outcome};
use crate::engine::idle::Idle;
use crate::stage::caching::LaneFiles;
use crate::stage::cargo::{LoadCopier, LoadTransfer};
use crate::stage::trouble::Trouble;
use crate::targets::Target;
use crate::verify::verifying::Verifying;

/// The longest single wait for commands in flight: a time-out is a number of such waits.
const LONGEST_WAIT: Span = Span::from_ms(100);

/// The longest wait for the engine after a panic. A disk that works answers within it; one that does not must not hide
/// the panic until the time-out, or for ever without one.
const WAIT_UNWINDING: Span = Span::from_secs(2);

/// The engine and its lanes.
pub(crate) struct Hub {
    // Declared before the targets to be dropped before them.
    driver: Box<dyn Driver>,
    lanes: Vec<Lane>,
    /// The flight of each slot of all lanes.
    flights: Vec<Option<Flight>>,
    /// The transfer of each flight that carries a load; empty if requests carry none.
    transfers: Vec<Option<LoadTransfer>>,
    layout: Layout,
    /// Copies the loads of requests; `None` if requests carry none.
    copier: Option<LoadCopier>,
    /// Stamps and checks data; `None` if no lane is verified.
    verifying: Option<Verifying>,
    /// Results of the engine; the first `settled` of them are handled. `collect` empties it, unless it panics.
    outcomes: Vec<Outcome>,
    settled: usize,
    /// Commands that the engine has, or whose results in `outcomes` are not handled.
    unsettled: u32,
    /// Commands that have ended and that [`finish`](Self::finish) has not returned. Wider than `unsettled` on purpose: a single
    /// load of both would stall on the store of one.
    unread: usize,
    /// How long a command may be in flight; `None` for no limit.
    timeout: Option<Span>,
}

/// A target and its slots.
struct Lane {
    target: Target,
    files: LaneFiles,
    /// Its slots without a flight.
    free: Vec<u32>,
    /// Its slots whose command has ended.
    ended: Vec<(u32, Option<Errno>)>,
    sharing: Sharing,
}

/// A request in flight.
#[derive(Clone, Copy)]
struct Flight {
    /// The index of its lane.
    lane: usize,
    id: ReqId,
    len: u32,
    begun: Time,
    started: Started,
    /// The unit of its transfers, in bytes.
    unit: u32,
    /// The part of its command, or of a command of its transfer, that is not done.
    rest: Command,
}

impl Hub {
    /// Creates a hub of `driver` over `targets` with `depth` slots for each.
    pub(crate) fn new(
        driver: Box<dyn Driver>,
        targets: Vec<Target>,
        depth: u32,
        layout: Layout,
        timeout: Option<Span>,
    ) -> Self {
        let slots = depth as usize * targets.len();
        let outcomes = Vec::with_capacity(slots);
        let lane = |(number, target)| Lane {
            target,
            files: LaneFiles::one(number),
            free: (number * depth..(number + 1) * depth).rev().collect(),
            ended: Vec::with_capacity(depth as usize),
            sharing: Sharing::default(),
        };
        let lanes = (0..).zip(targets).map(lane).collect();
        Self {
            driver,
            lanes,
            flights: vec![None; slots],
            transfers: Vec::new(),
            layout,
            copier: None,
            verifying: None,
            outcomes,
            settled: 0,
            unsettled: 0,
            unread: 0,
            timeout,
        }
    }

    /// Turns on the copying of requests' loads to and from the buffers.
    pub(crate) fn carrying(mut self, copier: LoadCopier) -> Self {
        self.copier = Some(copier);
        self.transfers = vec![None; self.flights.len()];
        self
    }

    /// Turns on the verification of data.
    pub(crate) fn verifying(mut self, verifying: Verifying) -> Self {
        self.verifying = Some(verifying);
        self
    }

    /// Sets the files of the lanes, if they are not one file for each.
    pub(crate) fn with_files(mut self, files: &[LaneFiles]) -> Self {
        self.lanes.iter_mut().zip(files).for_each(|(lane, files)| lane.files = *files);
        self
    }

    /// Creates a hub without targets.
    pub(crate) fn idle() -> Self {
        let layout = Layout::new(1, 1, 1).expect("a byte");
        Self::new(Box::new(Idle), Vec::new(), 1, layout, None)
    }

    /// Returns the engine, for the clock that waits on it.
    pub(crate) fn driver(&mut self) -> &mut dyn Driver {
        &mut *self.driver
    }

    /// Returns the number of commands that [`finish`](Self::finish) has not returned, on all lanes.
    pub(crate) fn in_flight(&self) -> u32 {
        self.unsettled + self.unread as u32
    }

    /// Returns whether some lane has completions.
    pub(crate) fn ready(&mut self) -> bool {
        self.unread > 0 || self.driver.ready()
    }

    /// Returns the target of `lane`.
    pub(crate) fn target(&self, lane: usize) -> &Target {
        &self.lanes[lane].target
    }

    /// Returns how long `lane` had something in flight.
    pub(crate) fn busy(&self, lane: usize) -> Span {
        self.lanes[lane].sharing.busy()
    }

    /// Starts `req` on `lane`.
    pub(crate) fn start(&mut self, lane_index: usize, now: Time, req: &Request) {
        let lane = &mut self.lanes[lane_index];
        let slot = lane.free.pop().expect("started without room");
        let grain = self.verifying.as_ref().map_or(1, |verifying| verifying.grain(lane_index));
        let (rest, unit) = command(&lane.target, lane.files, req, &self.layout, slot, grain);
        let started = lane.sharing.start(now);
        let Request { io: Io { len, .. }, id } = *req;
        let flight = Flight { lane: lane_index, id, len, begun: now, started, unit, rest };
        let rest = &mut self.flights[slot as usize].insert(flight).rest;
        if let Some(verifying) = &mut self.verifying {
            verifying.start(lane_index, slot, rest);
        }
        if let Some(copier) = &mut self.copier {
            let transfer = &mut self.transfers[slot as usize];
            *transfer = copier.transfer(req, *rest, lane.target.unit(), slot);
            *rest = transfer.as_mut().and_then(|transfer| copier.next(transfer)).unwrap_or(*rest);
        }
        self.unsettled += 1;
        self.driver.queue(slot, rest);
    }

    /// Pushes the completions of `lane` to `done`. Returns their number.
    pub(crate) fn finish(&mut self, lane: usize, now: Time, done: &mut Vec<Done>) -> u32 {
        if self.unsettled > 0 {
            self.collect();
        }
        let lane = &mut self.lanes[lane];
        let count = lane.ended.len() as u32;
        if count == 0 {
            return 0;
        }
        self.unread -= lane.ended.len();
        for (slot, error) in lane.ended.drain(..) {
            let flight = self.flights[slot as usize].take();
            let Flight { id, len, begun, started, .. } = flight.expect("a command ends once");
            lane.free.push(slot);
            let service = lane.sharing.complete(now, started);
            done.push(Done { id, at: now, begun, service, len, error });
        }
        count
    }

    /// Returns how long a command may be in flight; `None` for no limit.
    pub(crate) fn timeout(&self) -> Option<Span> {
        self.timeout
    }

    /// Returns the trouble if a command in flight at `now` began more than `patience` ago. Time before
    /// `resumed` does not count, because the process did not run.
    pub(crate) fn late(&mut self, now: Time, patience: Span, resumed: Time) -> Option<Trouble> {
        let counted = now.since(resumed);
        let is_late = |flight: &Flight| now.since(flight.begun).min(counted) > patience;
        if !self.flights.iter().flatten().any(is_late) {
            return None;
        }
        // The result may be there and not collected yet.
        self.collect();
        let too_long = |trouble: &Trouble| matches!(trouble, Trouble::Silent { waited, .. } if (*waited).min(counted) > patience);
        self.silent(now, patience).filter(too_long)
    }

    /// Returns the trouble if commands are in flight at `now`, after they had `patience` to end.
    pub(crate) fn silent(&self, now: Time, patience: Span) -> Option<Trouble> {
        let has_ended = |(slot, flight): &(u32, &Flight)| {
            self.lanes[flight.lane].ended.iter().any(|(ended, _)| ended == slot)
        };
        let flights = (0..).zip(&self.flights);
        let flights = flights.filter_map(|(slot, flight)| Some((slot, flight.as_ref()?)));
        let waiting: Vec<&Flight> =
            flights.filter(|it| !has_ended(it)).map(|(_, flight)| flight).collect();
        let oldest = waiting.iter().min_by_key(|flight| flight.begun)?;
        let others = waiting.iter().filter(|flight| flight.lane == oldest.lane).count() as u32 - 1;
        let path = self.lanes[oldest.lane].target.path().to_owned();
        let (command, waited) = (describe(&oldest.rest), now.since(oldest.begun));
        let refused = self.driver.refused();
        Some(Trouble::Silent { path, command, others, waited, patience, refused })
    }

    /// Returns the trouble if a target's length has changed.
    pub(crate) fn resized(&self) -> Option<Trouble> {
        self.lanes.iter().find_map(|lane| {
            let (found, expected) = lane.target.resized()?;
            Some(Trouble::Resized { path: lane.target.path().to_owned(), found, expected })
        })
    }

    /// Returns the trouble if data differs from what was written, or the record of writes was lost.
    pub(crate) fn differs(&self) -> Option<Trouble> {
        let verifying = self.verifying.as_ref()?;
        let lost = || verifying.lost().map(|path| Trouble::RecordLost { path });
        verifying.difference().map(Trouble::Differs).or_else(lost)
    }

    /// Waits until all commands have ended, for at most `longest`. Returns whether they have.
    pub(crate) fn drain(&mut self, longest: Option<Span>) -> bool {
        self.wait_until_settled(longest, Self::collect)
    }

    /// Waits until the results of all commands are handled, for at most `longest`. `take` handles results and returns
    /// their number. Returns whether all are handled.
    fn wait_until_settled(&mut self, longest: Option<Span>, take: fn(&mut Self) -> usize) -> bool {
        // A wait without a result counts as `LONGEST_WAIT`.
        let mut left = longest.map(|longest| longest.ns().div_ceil(LONGEST_WAIT.ns()));
        while self.unsettled > 0 {
            if left == Some(0) {
                return false;
            }
            self.driver.wait(Duration::from_nanos(LONGEST_WAIT.ns()));
            if self.driver.refused().is_some() {
                // The engine did not wait.
                Idle.wait(Duration::from_nanos(LONGEST_WAIT.ns()));
            }
            let silent = take(self) == 0;
            left = left.map(|left| left - u64::from(silent));
        }
        true
    }

    /// Leaks the engine with all memory that the kernel may still use: nothing is freed or waited for, and
    /// the targets stay locked until the process ends.
    pub(crate) fn abandon(&mut self) {
        std::mem::forget(std::mem::replace(&mut self.driver, Box::new(Idle)));
        self.lanes.iter().for_each(|lane| std::mem::forget(lane.target.clone()));
        self.flights.fill(None);
        self.lanes.iter_mut().for_each(|lane| lane.ended.clear());
        self.outcomes.clear();
        (self.settled, self.unsettled, self.unread) = (0, 0, 0);
    }

    /// Takes the results of the engine, assigns them to their lanes, and continues short transfers. Returns
    /// the number of results.
    fn collect(&mut self) -> usize {
        self.driver.reap(&mut self.outcomes);
        let results = self.outcomes.len() - self.settled;
        // By index: after a panic the results behind it are still there.
        while let Some(&outcome) = self.outcomes.get(self.settled) {
            self.settled += 1;
            self.unsettled -= 1;
            self.deliver(outcome);
        }
        self.outcomes.clear();
        self.settled = 0;
        results
    }

    /// Takes the results of the engine and only counts them. Returns their number.
    fn count(&mut self) -> usize {
        self.driver.reap(&mut self.outcomes);
        let results = self.outcomes.len() - self.settled;
        self.unsettled = self.unsettled.saturating_sub(results as u32);
        self.outcomes.clear();
        self.settled = 0;
        results
    }

    /// Assigns a result to the lane of its command, or continues its transfer.
    fn deliver(&mut self, Outcome { slot, result }: Outcome) {
        let flight = self.flights[slot as usize].as_mut().expect("a result has its command");
        let error = match settle(&mut flight.rest, result, flight.unit) {
            Step::Again => return self.again(slot),
            Step::Ended(error) => error,
        };
        let transfer = self.transfers.get_mut(slot as usize).and_then(Option::as_mut);
        let more = self.copier.as_mut().zip(transfer).filter(|_| error.is_none());
        if let Some(next) = more.and_then(|(copier, transfer)| copier.next(transfer)) {
            flight.rest = next;
            return self.again(slot);
        }
        if let Some(verifying) = &mut self.verifying {
            verifying.end(flight.lane, slot, error.is_some());
        }
        self.lanes[flight.lane].ended.push((slot, error));
        self.unread += 1;
    }

    /// Queues the rest of the flight in `slot`.
    fn again(&mut self, slot: u32) {
        let flight = self.flights[slot as usize].as_ref().expect("it is in flight");
        self.unsettled += 1;
        self.driver.queue(slot, &flight.rest);
    }
}

impl Drop for Hub {
    /// Waits until the engine no longer uses any buffer. Results are counted and not read, and comparing data
    /// could panic a second time.
    fn drop(&mut self) {
        let longest = if std::thread::panicking() {
            Some(self.timeout.map_or(WAIT_UNWINDING, |timeout| timeout.min(WAIT_UNWINDING)))
        } else {
            self.timeout
        };
        self.count();
        if !self.wait_until_settled(longest, Self::count) {
            self.abandon();
        }
    }
}
