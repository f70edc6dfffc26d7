//! All merges as one source of requests that carry their data.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use penstock_core::{ClassId, Done, Flags, Io, Op, Prio, Request, Source, StreamId, Time};
use penstock_live::{Cargo, Load, processor_time};
use penstock_workload::merge::{Accounts, Memory, WhenFull};

use super::figures::MergeTimes;
use super::job::{MergeState, MergeStop, Merging};
use super::outcome::{MergeFailed, MergeOutcome, StarvedMerge};
use super::run_reader::RunReader;
use super::timekeeper::Timekeeper;

/// The place of a run or an output.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct FilePlace {
    pub(super) disk: u32,
    /// Its first byte in the address space of all disks.
    pub(super) address: u64,
    /// Writes are rounded up to a multiple of this.
    pub(super) unit: u32,
}

/// The names in messages of the files of a merge, and their places.
#[derive(Clone, Debug)]
pub(super) struct MergePlaces {
    pub(super) runs: Vec<(String, FilePlace)>,
    pub(super) output: (String, FilePlace),
}

impl MergePlaces {
    /// Adds `base` to the addresses on `disk`.
    pub(super) fn move_disk(&mut self, disk: u32, base: u64) {
        let all = self.runs.iter_mut().chain([&mut self.output]).map(|(_, place)| place);
        all.filter(|place| place.disk == disk).for_each(|place| place.address += base);
    }
}

/// The limit on memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct MemoryBounds {
    pub(super) memory: Memory,
    pub(super) when_full: WhenFull,
    pub(super) block: u32,
}

/// All merges of a round.
pub(super) struct MergeSource {
    jobs: Vec<Merging>,
    places: Vec<MergePlaces>,
    accounts: Accounts,
    bounds: MemoryBounds,
    cargo: Cargo,
    time: Timekeeper,
    /// Requests that are not done, by stream.
    flights: Vec<Option<MergeFlight>>,
    /// Requests that the loop has not taken.
    requests: VecDeque<Io>,
    times: MergeTimes,
    /// The part of each output that is merged.
    progress: Vec<f64>,
    failed: Option<MergeFailed>,
    /// Ends the loop once it is true.
    stop: Arc<AtomicBool>,
}

/// A request that is not done.
#[derive(Clone, Copy, Debug)]
struct MergeFlight {
    job: usize,
    /// The run that is read; `None` for a write.
    run: Option<usize>,
    disk: u32,
    /// Bytes of the run or of the output, without what the request was rounded up by.
    bytes: u64,
}

impl MergeSource {
    /// Creates a source of `jobs`, whose files are at `places` on `disks` disks. It sets `stop` when a
    /// merge fails.
    pub(super) fn new(
        jobs: Vec<Merging>,
        places: Vec<MergePlaces>,
        disks: usize,
        bounds: MemoryBounds,
        (cargo, time): (Cargo, Timekeeper),
        stop: Arc<AtomicBool>,
    ) -> Self {
        Self {
            accounts: Accounts::new(bounds.memory, jobs.len() as u32, bounds.block),
            times: MergeTimes::new(jobs.len(), disks),
            progress: vec![0.0; jobs.len()],
            failed: None,
            jobs,
            places,
            bounds,
            cargo,
            time,
            flights: Vec::new(),
            requests: VecDeque::new(),
            stop,
        }
    }

    /// Returns how the merges have ended.
    pub(super) fn into_outcome(self) -> MergeOutcome {
        let starved = self.jobs.iter().enumerate().filter_map(|(job, merge)| match merge.state() {
            MergeState::WaitsToFill { needs } | MergeState::WaitsForMemory { needs } => {
                Some(StarvedMerge { job, read: merge.held(), output: merge.unwritten(), needs })
            }
            _ => None,
        });
        let starved = starved.collect();
        let Self { times, progress, failed, .. } = self;
        MergeOutcome { times, progress, failed, starved }
    }

    /// Reads the first groups of `job` if there is memory for them.
    fn start(&mut self, job: usize, now: Time) {
        self.resume(job, now);
        let groups = self.jobs[job].runs.iter().map(RunReader::next_group);
        let (reads, needs) = groups.fold((0, 0), |(reads, needs), group| {
            (reads + u32::from(group.read > 0), needs + group.bytes)
        });
        if !self.accounts.take(job as u32, needs) {
            return self.wait(job, MergeState::WaitsToFill { needs }, now);
        }
        (0..self.jobs[job].runs.len()).for_each(|run| self.read(job, run, now));
        self.wait(job, MergeState::Filling { missing: reads }, now);
        if reads == 0 {
            self.merge(job, now);
        }
    }

    /// Requests the next group of `run`. Its memory is taken.
    fn read(&mut self, job: usize, run: usize, now: Time) {
        let group = self.jobs[job].request(run);
        self.check_memory(job);
        if group.bytes == 0 {
            return;
        }
        if group.read == 0 {
            let nothing = self.jobs[job].buffer(0);
            return self.jobs[job].runs[run].receive(nothing);
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
            // The file is cut to its length when it is complete.
            bytes.resize(bytes.len().next_multiple_of(unit as usize), 0);
        }
        self.times.add_write(disk as usize);
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
        let (class, prio, flags) =
            (ClassId(flight.job as u16), Prio::default(), Flags::of_program(op));
        self.requests.push_back(Io { due: now, start, len, stream, class, op, prio, flags });
    }

    /// Checks that `job` uses no more memory than it may.
    fn check_memory(&self, job: usize) {
        let bytes = |blocks: u32| u64::from(blocks) * u64::from(self.bounds.block);
        match self.bounds.memory {
            Memory::Partition(blocks) => assert!(self.jobs[job].in_memory() <= bytes(blocks)),
            Memory::Pool(blocks) => {
                let all: u64 = self.jobs.iter().map(Merging::in_memory).sum();
                assert!(all <= bytes(blocks));
            }
            // A record may be longer than the rest of the limit on writes.
            Memory::Unlimited | Memory::Writes(_) => {}
        }
    }

    /// Merges records of `job` until it has to wait or all are merged.
    fn merge(&mut self, job: usize, now: Time) {
        self.resume(job, now);
        self.jobs[job].enter(MergeState::Merging);
        let began = processor_time();
        let next = self.merge_records(job, now);
        self.times.merges[job].processor += processor_time() - began;
        self.progress[job] = self.jobs[job].progress();
        self.times.compare_progress(self.progress.iter().copied());
        match next {
            Ok(MergeState::Draining) => {
                self.jobs[job].enter(MergeState::Draining);
                self.end_if_written(job, now);
            }
            Ok(state) => self.wait(job, state, now),
            Err(failed) => {
                self.jobs[job].enter(MergeState::Failed);
                self.fail(failed);
            }
        }
    }

    /// Merges records of `job`, and reads and writes groups meanwhile. Returns the state to go to.
    fn merge_records(&mut self, job: usize, now: Time) -> Result<MergeState, MergeFailed> {
        loop {
            self.jobs[job].collect_spent();
            while let Some((at, bytes)) = self.jobs[job].next_write(false) {
                self.write(job, at, bytes, now);
            }
            let short = self.read_ahead(job, now).map(|needs| MergeState::WaitsForMemory { needs });
            if let Some(waits) = short.filter(|_| self.bounds.when_full == WhenFull::Block) {
                return Ok(waits);
            }
            if !self.jobs[job].is_filled() && !self.jobs[job].fill()? {
                if self.jobs[job].wanted().is_some() && short.is_none() {
                    continue;
                }
                return Ok(short.unwrap_or(MergeState::WaitsForGroups));
            }
            let Some(limit) = self.output_limit(job) else {
                return Ok(MergeState::WaitsForMemory { needs: self.bounds.block.into() });
            };
            match self.jobs[job].merge(limit)? {
                MergeStop::Pause => {}
                MergeStop::Lacks => {
                    if let Some(run) = self.jobs[job].reads_winner() {
                        return Ok(MergeState::WaitsForRead { run });
                    }
                    if let Some(waits) = short {
                        return Ok(waits);
                    }
                }
                MergeStop::Over => {
                    while let Some((at, bytes)) = self.jobs[job].next_write(true) {
                        self.write(job, at, bytes, now);
                    }
                    return Ok(MergeState::Draining);
                }
            }
        }
    }

    /// Returns how many merged bytes of `job` may be in memory besides those in flight; `None` if there is
    /// no memory for any more.
    fn output_limit(&self, job: usize) -> Option<usize> {
        let Memory::Writes(blocks) = self.bounds.memory else { return Some(usize::MAX) };
        let limit = u64::from(blocks) * u64::from(self.bounds.block);
        let merge = &self.jobs[job];
        if merge.unwritten() >= limit {
            return None;
        }
        Some(usize::try_from(limit - merge.in_flight()).unwrap_or(usize::MAX))
    }

    /// Reads the groups that `job` wants as long as there is memory. Returns the bytes of the first group
    /// for which there is none.
    fn read_ahead(&mut self, job: usize, now: Time) -> Option<u64> {
        while let Some((run, group)) = self.jobs[job].wanted() {
            if !self.accounts.take(job as u32, group.bytes) {
                return Some(group.bytes);
            }
            self.read(job, run, now);
            self.jobs[job].pop_wanted();
        }
        None
    }

    /// Frees the memory of `bytes` bytes that `job` has written, and lets merges that wait for memory try
    /// again.
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

    /// Lets `job` try again to get memory, if it lacks any.
    fn retry(&mut self, job: usize, now: Time) {
        match self.jobs[job].state() {
            MergeState::WaitsToFill { .. } => self.start(job, now),
            MergeState::WaitsForMemory { .. } => self.merge(job, now),
            MergeState::WaitsForGroups | MergeState::WaitsForRead { .. }
                if self.jobs[job].wanted().is_some() =>
            {
                self.merge(job, now);
            }
            _ => {}
        }
    }

    /// Lets `job` go on after a group of `run` has arrived, if it needs that group.
    fn arrived(&mut self, job: usize, run: usize, now: Time) {
        let merge = &mut self.jobs[job];
        let goes_on = match merge.state() {
            MergeState::Filling { missing } => {
                merge.enter(MergeState::Filling { missing: missing - 1 });
                missing == 1
            }
            MergeState::WaitsForGroups => true,
            MergeState::WaitsForRead { run: awaited } => awaited == run,
            MergeState::WaitsForMemory { .. } => !merge.is_filled() || merge.lacks_group_of(run),
            _ => false,
        };
        if goes_on {
            self.merge(job, now);
        }
    }

    /// Ends `job` if it has written its whole output.
    fn end_if_written(&mut self, job: usize, now: Time) {
        let merge = &mut self.jobs[job];
        if merge.state() == MergeState::Draining && merge.unwritten() == 0 {
            merge.enter(MergeState::Done);
            self.times.merges[job].finished = Some(merge.latest.max(now));
            self.progress[job] = 1.0;
        }
    }

    /// Lets `job` wait in `state`.
    fn wait(&mut self, job: usize, state: MergeState, now: Time) {
        let merge = &mut self.jobs[job];
        merge.latest = self.time.after(now).max(merge.latest);
        merge.waits_since = merge.latest;
        merge.enter(state);
    }

    /// Ends the wait of `job`, if it waits.
    fn resume(&mut self, job: usize, now: Time) {
        let merge = &mut self.jobs[job];
        merge.latest = merge.latest.max(now);
        if let Some(wait) = merge.state().wait() {
            self.times.add_wait(job, wait, merge.waits_since, merge.latest);
        }
    }

    /// Ends all merges; the first failure is the one that is reported.
    fn fail(&mut self, failed: MergeFailed) {
        self.failed.get_or_insert(failed);
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Ends all merges because the request `req` failed.
    fn fail_request(&mut self, req: &Request, flight: MergeFlight, error: penstock_core::Errno) {
        let places = &self.places[flight.job];
        let (verb, (path, place)) = match flight.run {
            Some(run) => ("read", &places.runs[run]),
            None => ("write", &places.output),
        };
        let (len, at) = (req.len, req.start - place.address);
        let error = io::Error::from_raw_os_error(error.code());
        let message = format!("{verb} of {len} bytes at byte {at} of {path}: {error}");
        self.fail(MergeFailed::Disk(message));
    }
}

impl Source for MergeSource {
    fn next_due(&self) -> Time {
        let starts = self.jobs.iter().filter_map(|job| match job.state() {
            MergeState::Starting(at) => Some(at),
            _ => None,
        });
        let next = starts.min().unwrap_or(Time::NEVER);
        self.requests.front().map_or(next, |io| io.due.min(next))
    }

    fn take(&mut self, now: Time) -> Option<Io> {
        for job in 0..self.jobs.len() {
            if matches!(self.jobs[job].state(), MergeState::Starting(at) if at <= now) {
                self.start(job, now);
            }
        }
        self.requests.pop_front()
    }

    fn finished(&mut self, now: Time, req: &Request, done: &Done) {
        let StreamId(stream) = req.stream;
        let flight = self.flights[stream as usize].take().expect("a request is known");
        let bytes = self.cargo.take(req.stream).bytes;
        let MergeFlight { job, run, disk, .. } = flight;
        let now = self.time.of_completion(disk, now);
        if let Some(error) = done.error {
            self.fail_request(req, flight, error);
        }
        if self.failed.is_some() {
            // The loop ends with this turn.
            return;
        }
        if let Some(run) = run {
            self.jobs[job].runs[run].receive(bytes);
            self.arrived(job, run, now);
        } else {
            self.jobs[job].spare(bytes);
            self.jobs[job].wrote(flight.bytes);
            self.times.remove_write(disk as usize);
            self.release(job, flight.bytes, now);
            self.end_if_written(job, now);
        }
    }

    fn waits(&self) -> bool {
        self.jobs.iter().any(|job| job.state() != MergeState::Done)
    }
}
