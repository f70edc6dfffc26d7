//! The state that all devices and the clock of one stage share.
//!
//! A *lane* is one target: its slots, its account of device time. The hub turns requests into
//! commands (ranges are rounded only here), continues short transfers, and sorts the results of the
//! engine to its lanes.
//!
//! Invariants: one command for each slot at a time; nothing outside the usable bytes of a target is
//! ever written; after construction nothing allocates. An engine is dropped when nothing is in
//! flight any more; if commands remain in flight after the time-out, it is never dropped.

use std::time::Duration;

use penstock_core::{Done, Errno, ReqId, Request, Sharing, Span, Started, Time};

use super::commands::{Step, command, settle, words};
use crate::engine::buffers::Layout;
use crate::engine::driver::{Command, Driver, Outcome};
use crate::engine::idle::Idle;
use crate::stage::caching::LaneFiles;
use crate::stage::cargo::{LoadCopier, LoadTransfer};
use crate::stage::trouble::Trouble;
use crate::targets::Target;
use crate::verify::verifying::Verifying;

/// The longest single wait for commands in flight, so that waits can be counted.
const LONGEST_WAIT: Span = Span::from_ms(100);

/// The longest wait for the engine after a panic: a disk that works answers within it. One that does not would hide the
/// panic, for ever if there is no time-out.
const WAIT_UNWINDING: Span = Span::from_secs(2);

/// The engine and its lanes.
pub(crate) struct Hub {
    // Before the targets: it is dropped first.
    driver: Box<dyn Driver>,
    lanes: Vec<Lane>,
    /// Slots of each lane.
    depth: u32,
    layout: Layout,
    /// Copies the loads of requests; without it requests carry no load.
    copier: Option<LoadCopier>,
    /// Stamps and checks data, if a lane is verified.
    verifying: Option<Verifying>,
    /// Results of the engine, the first `settled` of which their lanes have. Every `collect` empties it, unless it panics.
    outcomes: Vec<Outcome>,
    settled: usize,
    /// Commands whose results are not settled: the engine has them, or `outcomes` has their results.
    unsettled: u32,
    /// Commands that have ended and that their lane has not yet collected. Of another width than `unsettled`: both are
    /// read together, and one load of the two would wait for the store of one.
    unread: usize,
    /// How long a command may be in flight; without it, for ever.
    timeout: Option<Span>,
}

/// One target.
struct Lane {
    target: Target,
    files: LaneFiles,
    flights: Vec<Option<Flight>>,
    /// The transfer of each flight that carries a load; empty if none does.
    transfers: Vec<Option<LoadTransfer>>,
    free: Vec<u32>,
    ended: Vec<(u32, Option<Errno>)>,
    sharing: Sharing,
}

/// A request in flight.
#[derive(Clone, Copy)]
struct Flight {
    id: ReqId,
    len: u32,
    begun: Time,
    started: Started,
    /// What its transfers are whole multiples of, in bytes.
    unit: u32,
    /// The rest of it, or of a command of its transfer.
    rest: Command,
}

impl Hub {
    /// A hub of `driver` over `targets` with `depth` slots for each.
    pub(crate) fn new(
        driver: Box<dyn Driver>,
        targets: Vec<Target>,
        depth: u32,
        layout: Layout,
        timeout: Option<Span>,
    ) -> Self {
        let slots = depth as usize;
        let outcomes = Vec::with_capacity(slots * targets.len());
        let lane = |(number, target)| Lane {
            target,
            files: LaneFiles::one(number),
            flights: vec![None; slots],
            transfers: Vec::new(),
            free: (0..depth).rev().collect(),
            ended: Vec::with_capacity(slots),
            sharing: Sharing::default(),
        };
        let lanes = (0..).zip(targets).map(lane).collect();
        Self {
            driver,
            lanes,
            depth,
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

    /// The same, for requests that carry loads.
    pub(crate) fn carrying(mut self, copier: LoadCopier) -> Self {
        self.copier = Some(copier);
        self.lanes.iter_mut().for_each(|lane| lane.transfers = vec![None; lane.flights.len()]);
        self
    }

    /// The same, with data that is verified.
    pub(crate) fn verifying(mut self, verifying: Verifying) -> Self {
        self.verifying = Some(verifying);
        self
    }

    /// The same, with `files` for the lanes where that is not one file for each.
    pub(crate) fn with_files(mut self, files: &[LaneFiles]) -> Self {
        self.lanes.iter_mut().zip(files).for_each(|(lane, files)| lane.files = *files);
        self
    }

    /// A hub of no target.
    pub(crate) fn idle() -> Self {
        let layout = Layout::new(1, 1, 1).expect("a byte");
        Self::new(Box::new(Idle), Vec::new(), 1, layout, None)
    }

    /// The engine, for the clock that waits on it.
    pub(crate) fn driver(&mut self) -> &mut dyn Driver {
        &mut *self.driver
    }

    /// Commands of all lanes that have not been collected yet.
    pub(crate) fn in_flight(&self) -> u32 {
        self.unsettled + self.unread as u32
    }

    /// Whether some lane has completions.
    pub(crate) fn ready(&mut self) -> bool {
        self.unread > 0 || self.driver.ready()
    }

    /// The target of `lane`.
    pub(crate) fn target(&self, lane: usize) -> &Target {
        &self.lanes[lane].target
    }

    /// How long `lane` had something in flight.
    pub(crate) fn busy(&self, lane: usize) -> Span {
        self.lanes[lane].sharing.busy()
    }

    /// Starts `req` on `lane`.
    pub(crate) fn start(&mut self, lane_index: usize, now: Time, req: &Request) {
        let lane = &mut self.lanes[lane_index];
        let slot = lane.free.pop().expect("started without room");
        let number = lane_index as u32 * self.depth + slot;
        let grain = self.verifying.as_ref().map_or(1, |verifying| verifying.grain(lane_index));
        let (rest, unit) = command(&lane.target, lane.files, req, &self.layout, number, grain);
        let started = lane.sharing.start(now);
        let flight = Flight { id: req.id, len: req.len, begun: now, started, unit, rest };
        let rest = &mut lane.flights[slot as usize].insert(flight).rest;
        if let Some(verifying) = &mut self.verifying {
            verifying.start(lane_index, number, rest);
        }
        if let Some(copier) = &mut self.copier {
            let transfer = &mut lane.transfers[slot as usize];
            *transfer = copier.transfer(req, *rest, lane.target.unit(), number);
            *rest = transfer.as_mut().and_then(|transfer| copier.next(transfer)).unwrap_or(*rest);
        }
        self.unsettled += 1;
        self.driver.queue(number, rest);
    }

    /// Pushes the ended commands of `lane` to `done`. Returns how many they are.
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
            let flight = &mut lane.flights[slot as usize];
            let Flight { id, len, begun, started, .. } = flight.expect("a command ends once");
            *flight = None;
            lane.free.push(slot);
            let service = lane.sharing.complete(now, started);
            done.push(Done { id, at: now, begun, service, len, error });
        }
        count
    }

    /// How long a command may be in flight.
    pub(crate) fn timeout(&self) -> Option<Span> {
        self.timeout
    }

    /// The trouble if a command in flight at `now` began more than `patience` ago. Time before
    /// `resumed` does not count: the process did not run.
    pub(crate) fn late(&mut self, now: Time, patience: Span, resumed: Time) -> Option<Trouble> {
        let counted = now.since(resumed);
        let late = |flight: &Flight| now.since(flight.begun).min(counted) > patience;
        let any = |lane: &Lane| lane.flights.iter().flatten().any(late);
        if !self.lanes.iter().any(any) {
            return None;
        }
        // The answer may have come and not been collected yet.
        self.collect();
        let too_long = |trouble: &Trouble| matches!(trouble, Trouble::Silent { waited, .. } if (*waited).min(counted) > patience);
        self.silent(now, patience).filter(too_long)
    }

    /// The trouble if commands in flight at `now` were waited for long enough.
    pub(crate) fn silent(&self, now: Time, patience: Span) -> Option<Trouble> {
        let waiting = |lane: &Lane| {
            let ended = |slot: &usize| lane.ended.iter().any(|(other, _)| *other as usize == *slot);
            let flights = lane.flights.iter().enumerate().filter(|(slot, _)| !ended(slot));
            let flights: Vec<Flight> = flights.filter_map(|(_, flight)| *flight).collect();
            let oldest = flights.iter().min_by_key(|flight| flight.begun).copied()?;
            Some((oldest, flights.len() as u32 - 1, lane.target.path().to_owned()))
        };
        let lanes = self.lanes.iter().filter_map(waiting);
        let (oldest, others, path) = lanes.min_by_key(|(oldest, ..)| oldest.begun)?;
        let (command, waited) = (words(&oldest.rest), now.since(oldest.begun));
        let refused = self.driver.refused();
        Some(Trouble::Silent { path, command, others, waited, patience, refused })
    }

    /// The trouble if a target has another length than it should.
    pub(crate) fn resized(&self) -> Option<Trouble> {
        self.lanes.iter().find_map(|lane| {
            let (found, expected) = lane.target.resized()?;
            Some(Trouble::Resized { path: lane.target.path().to_owned(), found, expected })
        })
    }

    /// The trouble if data was not what was written, or it is no longer known what should be where.
    pub(crate) fn differs(&self) -> Option<Trouble> {
        let verifying = self.verifying.as_ref()?;
        let lost = || verifying.lost().map(|path| Trouble::RecordLost { path });
        verifying.difference().map(Trouble::Differs).or_else(lost)
    }

    /// Waits until every command has ended, for at most `longest`. Returns whether all have.
    pub(crate) fn drain(&mut self, longest: Option<Span>) -> bool {
        self.wait_until_settled(longest, Self::collect)
    }

    /// Waits until every result is settled, for at most `longest`. `take` takes results and returns their
    /// number. Returns whether all are.
    fn wait_until_settled(&mut self, longest: Option<Span>, take: fn(&mut Self) -> usize) -> bool {
        // Every wait ends with a command or after the longest wait.
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

    /// Gives up the engine with all memory that the kernel may still use: nothing of it is freed or
    /// waited for, and its targets stay locked for as long as the process lives.
    pub(crate) fn abandon(&mut self) {
        std::mem::forget(std::mem::replace(&mut self.driver, Box::new(Idle)));
        self.lanes.iter().for_each(|lane| std::mem::forget(lane.target.clone()));
        for lane in &mut self.lanes {
            lane.flights.fill(None);
            lane.ended.clear();
        }
        self.outcomes.clear();
        (self.settled, self.unsettled, self.unread) = (0, 0, 0);
    }

    /// Sorts the results of the engine to their lanes, and submits the rest of short transfers
    /// again. Returns how many results there were.
    fn collect(&mut self) -> usize {
        self.driver.reap(&mut self.outcomes);
        let results = self.outcomes.len() - self.settled;
        // By index: after a panic the results that follow are still there.
        while let Some(&outcome) = self.outcomes.get(self.settled) {
            self.settled += 1;
            self.unsettled -= 1;
            self.deliver(outcome);
        }
        self.outcomes.clear();
        self.settled = 0;
        results
    }

    /// Takes results without looking at them. Returns how many there were.
    fn count(&mut self) -> usize {
        self.driver.reap(&mut self.outcomes);
        let results = self.outcomes.len() - self.settled;
        self.unsettled = self.unsettled.saturating_sub(results as u32);
        self.outcomes.clear();
        self.settled = 0;
        results
    }

    /// Gives a result to the lane of its command, or queues what is left of its transfer.
    fn deliver(&mut self, Outcome { slot: number, result }: Outcome) {
        let lane_index = (number / self.depth) as usize;
        let lane = &mut self.lanes[lane_index];
        let slot = number % self.depth;
        let flight = lane.flights[slot as usize].as_mut().expect("a result has its command");
        let error = match settle(&mut flight.rest, result, flight.unit) {
            Step::Again => return self.again(number),
            Step::Ended(error) => error,
        };
        let transfer = lane.transfers.get_mut(slot as usize).and_then(Option::as_mut);
        let more = self.copier.as_mut().zip(transfer).filter(|_| error.is_none());
        if let Some(next) = more.and_then(|(copier, transfer)| copier.next(transfer)) {
            flight.rest = next;
            return self.again(number);
        }
        if let Some(verifying) = &mut self.verifying {
            verifying.end(lane_index, number, error.is_some());
        }
        lane.ended.push((slot, error));
        self.unread += 1;
    }

    /// Queues the rest of the flight in slot `number`.
    fn again(&mut self, number: u32) {
        let lane = &self.lanes[(number / self.depth) as usize];
        let flight = &lane.flights[(number % self.depth) as usize];
        self.unsettled += 1;
        self.driver.queue(number, &flight.as_ref().expect("it is in flight").rest);
    }
}

impl Drop for Hub {
    /// Waits until the engine uses no buffer any more. Results are only counted: nobody takes them, and comparing data
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
