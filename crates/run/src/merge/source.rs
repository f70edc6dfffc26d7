//! All merges as one source of requests that carry their data.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::io;
use std::rc::Rc;

use penstock_core::{ClassId, Done, Flags, Io, Op, Prio, Request, Source, StreamId, Time};
use penstock_live::{Answers, Cargo, Load, Stopwatch, processor_time};
use penstock_workload::merge::{Accounts, Memory, WhenFull};

use super::figures::MergeTimes;
use super::job::{MergePhase, MergeStop, MergeWait, Merging};
use super::run::BadRun;

/// Where a run or an output lies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct FilePlace {
    pub(super) disk: u32,
    /// Its first byte among those of all disks.
    pub(super) address: u64,
    /// What its writes are rounded up to.
    pub(super) unit: u32,
}

/// The files of a merge, as messages call them, and where they lie.
#[derive(Clone, Debug)]
pub(super) struct MergePlaces {
    pub(super) runs: Vec<(String, FilePlace)>,
    pub(super) output: (String, FilePlace),
}

impl MergePlaces {
    /// What lies on `disk` lies `base` bytes further.
    pub(super) fn move_disk(&mut self, disk: u32, base: u64) {
        let all = self.runs.iter_mut().chain([&mut self.output]).map(|(_, place)| place);
        all.filter(|place| place.disk == disk).for_each(|place| place.address += base);
    }
}

/// The bounds of memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct MemoryBounds {
    pub(super) memory: Memory,
    pub(super) when_full: WhenFull,
    pub(super) block: u32,
}

/// What became of merges.
#[derive(Debug)]
pub(super) struct MergeOutcome {
    pub(super) times: MergeTimes,
    /// How far each merge is.
    pub(super) progress: Vec<f64>,
    /// What ended them early, and whether that was wrong input.
    pub(super) failed: Option<MergeFailed>,
    /// What each that waits for memory has and lacks, in bytes.
    pub(super) starved: Vec<StarvedMerge>,
}

/// Why merges ended early.
#[derive(Clone, Debug)]
pub(super) enum MergeFailed {
    /// A run is not sorted.
    Input(String),
    /// A disk answered with an error, or with other bytes than before.
    Disk(String),
}

impl From<BadRun> for MergeFailed {
    fn from(run: BadRun) -> Self {
        match run {
            BadRun::Unsorted(what) => Self::Input(what),
            BadRun::Changed(what) => Self::Disk(what),
        }
    }
}

/// A merge that waits for memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct StarvedMerge {
    pub(super) job: usize,
    pub(super) read: u64,
    pub(super) output: u64,
    pub(super) needs: u64,
}

/// The outcome so far, shared with the observer of the loop. Clones share one outcome.
pub(super) type Shared = Rc<RefCell<MergeOutcome>>;

/// When things happen to merges.
#[derive(Debug)]
pub(super) enum Timekeeper {
    /// In real time, which goes on while records are merged.
    Real(Stopwatch),
    /// As models have it: when the last completion of each disk was due. To merge takes none of their
    /// time.
    Models(Vec<Rc<Answers>>),
}

impl Timekeeper {
    /// The time of a completion of `disk` that is handled at `now`.
    fn of_completion(&self, disk: u32, now: Time) -> Time {
        match self {
            Self::Real(_) => now,
            Self::Models(answers) => answers[disk as usize].last().min(now),
        }
    }

    /// The time when what was done at `now` is done.
    fn after(&self, now: Time) -> Time {
        match self {
            Self::Real(stopwatch) => stopwatch.now(),
            Self::Models(_) => now,
        }
    }
}

/// The merges.
pub(super) struct MergeSource {
    jobs: Vec<Merging>,
    places: Vec<MergePlaces>,
    accounts: Accounts,
    bounds: MemoryBounds,
    cargo: Cargo,
    time: Timekeeper,
    /// Requests on their way, by stream.
    flights: Vec<Option<MergeFlight>>,
    asked: VecDeque<Io>,
    outcome: Shared,
}

/// A request on its way.
#[derive(Clone, Copy, Debug)]
struct MergeFlight {
    job: usize,
    /// The run that is read; none for a write.
    run: Option<usize>,
    disk: u32,
    /// Bytes of it that belong to the run or the output.
    bytes: u64,
}

impl MergeSource {
    /// `jobs`, whose files lie at `places` on so many disks.
    pub(super) fn new(
        jobs: Vec<Merging>,
        places: Vec<MergePlaces>,
        disks: usize,
        bounds: MemoryBounds,
        (cargo, time): (Cargo, Timekeeper),
    ) -> Self {
        let outcome = MergeOutcome {
            times: MergeTimes::new(jobs.len(), disks),
            progress: vec![0.0; jobs.len()],
            failed: None,
            starved: Vec::new(),
        };
        Self {
            accounts: Accounts::new(bounds.memory, jobs.len() as u32, bounds.block),
            jobs,
            places,
            bounds,
            cargo,
            time,
            flights: Vec::new(),
            asked: VecDeque::new(),
            outcome: Rc::new(RefCell::new(outcome)),
        }
    }

    /// What becomes of them.
    pub(super) fn outcome(&self) -> Shared {
        Rc::clone(&self.outcome)
    }

    /// Asks for the first groups of `job`, if there is memory for them.
    fn begin(&mut self, job: usize, now: Time) {
        self.goes_on(job, now);
        let groups = self.jobs[job].runs.iter().map(|run| run.group().bytes);
        let needs = groups.sum();
        if !self.accounts.take(job as u32, needs) {
            return self.wait(job, MergeWait::Memory(needs), now);
        }
        let count = self.jobs[job].runs.len();
        let reads = |run: &usize| self.jobs[job].runs[*run].group().read > 0;
        self.jobs[job].phase = MergePhase::Fills((0..count).filter(reads).count() as u32);
        (0..count).for_each(|run| self.read(job, run, now));
        self.wait(job, MergeWait::Read, now);
        if self.jobs[job].phase == MergePhase::Fills(0) {
            self.jobs[job].phase = MergePhase::Merges;
            self.go_on(job, now);
        }
    }

    /// Asks for the next group of `run`.
    fn read(&mut self, job: usize, run: usize, now: Time) {
        let group = self.jobs[job].runs[run].group();
        self.jobs[job].runs[run].asks();
        if group.bytes == 0 {
            return;
        }
        if group.read == 0 {
            let nothing = self.jobs[job].buffer(0);
            return self.jobs[job].runs[run].arrives(nothing);
        }
        let FilePlace { disk, address, .. } = self.places[job].runs[run].1;
        let bytes = self.jobs[job].buffer(group.read as usize);
        let load = Load { start: group.from, bytes };
        let flight = MergeFlight { job, run: Some(run), disk, bytes: group.bytes };
        self.send(Op::Read, address + group.from, load, flight, now);
    }

    /// Writes `bytes` at byte `at` of the output of `job`.
    fn write(&mut self, job: usize, at: u64, mut bytes: Vec<u8>, now: Time) {
        let FilePlace { disk, address, unit } = self.places[job].output.1;
        let flight = MergeFlight { job, run: None, disk, bytes: bytes.len() as u64 };
        if at + flight.bytes == self.jobs[job].bytes {
            // The file is cut to its length when it is whole.
            bytes.resize(bytes.len().next_multiple_of(unit as usize), 0);
        }
        self.outcome.borrow_mut().times.writes(disk as usize);
        self.send(Op::Write, address + at, Load { start: at, bytes }, flight, now);
    }

    fn send(&mut self, op: Op, start: u64, load: Load, flight: MergeFlight, now: Time) {
        let len = load.bytes.len() as u32;
        let stream = self.cargo.put(load);
        let place = stream.0 as usize;
        if self.flights.len() <= place {
            self.flights.resize(place + 1, None);
        }
        self.flights[place] = Some(flight);
        let (class, prio, flags) = (ClassId(flight.job as u16), Prio::default(), Flags::NONE);
        self.asked.push_back(Io { due: now, start, len, stream, class, op, prio, flags });
    }

    /// `job` merges until it has to wait.
    fn go_on(&mut self, job: usize, now: Time) {
        self.goes_on(job, now);
        let began = processor_time();
        let wait = self.merge_on(job, now);
        let mut outcome = self.outcome.borrow_mut();
        outcome.times.merges[job].processor += processor_time() - began;
        outcome.progress[job] = self.jobs[job].progress();
        let MergeOutcome { times, progress, .. } = &mut *outcome;
        times.progress(progress.iter().copied());
        drop(outcome);
        match wait {
            Ok(Some(wait)) => self.wait(job, wait, now),
            Ok(None) => {}
            Err(failed) => self.outcome.borrow_mut().failed = Some(failed),
        }
        self.ends(job, now);
    }

    /// The same; what it then waits for, if for anything but its last writes.
    fn merge_on(&mut self, job: usize, now: Time) -> Result<Option<MergeWait>, MergeFailed> {
        loop {
            self.jobs[job].collect_spent();
            while let Some((at, bytes)) = self.jobs[job].next_write(false) {
                self.write(job, at, bytes, now);
            }
            let short = self.read_ahead(job, now);
            if short.is_some() && self.bounds.when_full == WhenFull::Block {
                return Ok(short.map(MergeWait::Memory));
            }
            if !self.jobs[job].is_filled() && !self.jobs[job].fill()? {
                if self.jobs[job].wanted().is_some() && short.is_none() {
                    continue;
                }
                return Ok(Some(short.map_or(MergeWait::Read, MergeWait::Memory)));
            }
            let most = match self.bounds.memory {
                Memory::Writes(blocks) => {
                    let most = u64::from(blocks) * u64::from(self.bounds.block);
                    if self.jobs[job].unwritten() >= most {
                        return Ok(Some(MergeWait::Memory(self.bounds.block.into())));
                    }
                    most - self.jobs[job].on_their_way()
                }
                _ => u64::MAX,
            };
            let most = usize::try_from(most).unwrap_or(usize::MAX);
            match self.jobs[job].merge(most)? {
                MergeStop::Pause => {}
                MergeStop::Lacks if self.jobs[job].is_reading() => {
                    return Ok(Some(MergeWait::Read));
                }
                MergeStop::Lacks => {
                    if let Some(needs) = short {
                        return Ok(Some(MergeWait::Memory(needs)));
                    }
                }
                MergeStop::Over => {
                    while let Some((at, bytes)) = self.jobs[job].next_write(true) {
                        self.write(job, at, bytes, now);
                    }
                    self.jobs[job].phase = MergePhase::Writes;
                    return Ok(None);
                }
            }
        }
    }

    /// Asks for the groups that `job` wants, as far as there is memory. Returns how many bytes the first
    /// has for which there is none.
    fn read_ahead(&mut self, job: usize, now: Time) -> Option<u64> {
        while let Some((run, group)) = self.jobs[job].wanted() {
            if !self.accounts.take(job as u32, group.bytes) {
                return Some(group.bytes);
            }
            self.read(job, run, now);
            self.jobs[job].asked();
        }
        None
    }

    /// So many bytes of `job` are written and their memory is free.
    fn release(&mut self, job: usize, bytes: u64, now: Time) {
        self.accounts.give(job as u32, bytes);
        self.retry(job, now);
        while let Some(first) = self.accounts.first_waiting() {
            self.retry(first as usize, now);
            if self.accounts.first_waiting() == Some(first) {
                break;
            }
        }
    }

    /// `job` tries again what it had no memory for.
    fn retry(&mut self, job: usize, now: Time) {
        let Merging { phase, waits, .. } = &self.jobs[job];
        match phase {
            MergePhase::Begins(_) if waits.is_some() => self.begin(job, now),
            MergePhase::Merges => {
                let waits_for_a_read = matches!(waits, Some((MergeWait::Read, _)));
                if !waits_for_a_read || self.jobs[job].wanted().is_some() {
                    self.go_on(job, now);
                }
            }
            _ => {}
        }
    }

    /// `job` is over if all of it is written.
    fn ends(&mut self, job: usize, now: Time) {
        let merge = &mut self.jobs[job];
        if merge.phase != MergePhase::Over && merge.is_written() {
            merge.phase = MergePhase::Over;
            let outcome = &mut *self.outcome.borrow_mut();
            outcome.times.merges[job].finished = Some(merge.latest.max(now));
            outcome.progress[job] = 1.0;
        }
    }

    fn wait(&mut self, job: usize, wait: MergeWait, now: Time) {
        let merge = &mut self.jobs[job];
        merge.latest = self.time.after(now).max(merge.latest);
        merge.waits = Some((wait, merge.latest));
    }

    fn goes_on(&mut self, job: usize, now: Time) {
        let merge = &mut self.jobs[job];
        merge.latest = merge.latest.max(now);
        if let Some(wait) = merge.waits.take() {
            self.outcome.borrow_mut().times.waited(job, wait, merge.latest);
        }
    }

    /// Notes which merges wait for memory, for the message of a deadlock.
    fn note_starved(&self) {
        let starved = self.jobs.iter().enumerate().filter_map(|(job, merge)| match merge.waits {
            Some((MergeWait::Memory(needs), _)) => {
                Some(StarvedMerge { job, read: merge.held(), output: merge.unwritten(), needs })
            }
            _ => None,
        });
        self.outcome.borrow_mut().starved = starved.collect();
    }

    /// A request of `flight` failed.
    fn fail(&self, req: &Request, flight: MergeFlight, error: penstock_core::Errno) {
        let places = &self.places[flight.job];
        let (verb, (path, place)) = match flight.run {
            Some(run) => ("read", &places.runs[run]),
            None => ("write", &places.output),
        };
        let (len, at) = (req.len, req.start - place.address);
        let error = io::Error::from_raw_os_error(error.code());
        let message = format!("{verb} of {len} bytes at byte {at} of {path}: {error}");
        self.outcome.borrow_mut().failed.get_or_insert(MergeFailed::Disk(message));
    }
}

impl Source for MergeSource {
    fn next_due(&self) -> Time {
        let begins = self.jobs.iter().filter_map(|job| match job.phase {
            MergePhase::Begins(at) if job.waits.is_none() => Some(at),
            _ => None,
        });
        let next = begins.min().unwrap_or(Time::NEVER);
        self.asked.front().map_or(next, |io| io.due.min(next))
    }

    fn take(&mut self, now: Time) -> Option<Io> {
        for job in 0..self.jobs.len() {
            let Merging { phase, waits, .. } = &self.jobs[job];
            if matches!(phase, MergePhase::Begins(at) if *at <= now) && waits.is_none() {
                self.begin(job, now);
            }
        }
        self.asked.pop_front()
    }

    fn finished(&mut self, now: Time, req: &Request, done: &Done) {
        let StreamId(stream) = req.stream;
        let flight = self.flights[stream as usize].take().expect("a request is known");
        let bytes = self.cargo.take(req.stream).bytes;
        let MergeFlight { job, run, disk, .. } = flight;
        let now = self.time.of_completion(disk, now);
        if let Some(error) = done.error {
            self.fail(req, flight, error);
        }
        if self.outcome.borrow().failed.is_some() {
            // The run ends with this turn.
            return;
        }
        let Some(run) = run else {
            self.jobs[job].spare(bytes);
            self.jobs[job].wrote(flight.bytes);
            self.outcome.borrow_mut().times.wrote(disk as usize);
            self.release(job, flight.bytes, now);
            return self.ends(job, now);
        };
        self.jobs[job].runs[run].arrives(bytes);
        let goes_on = match self.jobs[job].phase {
            MergePhase::Fills(left) => {
                self.jobs[job].phase =
                    if left > 1 { MergePhase::Fills(left - 1) } else { MergePhase::Merges };
                left == 1
            }
            MergePhase::Merges => !self.jobs[job].is_filled() || self.jobs[job].lacks_of(run),
            _ => false,
        };
        if goes_on {
            self.go_on(job, now);
        }
    }

    fn waits(&self) -> bool {
        let waits = self.jobs.iter().any(|job| job.phase != MergePhase::Over);
        if waits {
            self.note_starved();
        }
        waits
    }
}
