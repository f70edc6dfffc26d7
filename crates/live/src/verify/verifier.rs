//! Data of runs that is checked: writes are stamped and recorded, reads are compared with the record.
//!
//! A [`Verifier`] is what all engines on one target share: the record, the ranges, and what was found. Each stage has a
//! [`Verifying`] of its own between its hub and its engine. It fills the buffer of a write with the
//! versions that the write will leave, and records them, before the command is queued; when the
//! command has ended they are acknowledged. A read is compared with what may have been there while it was under
//! way: the candidates at its beginning, and versions that began before its end.
//!
//! Invariants: a version is in the record before its write is queued, and acknowledged after it has ended; nothing
//! allocates per request, unless a discard is the longest so far or a difference is found.

use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use penstock_core::{Rng, Seed};
use rand::RngExt as _;

use crate::engine::Engine;
use crate::engine::blocking::Call as _;
use crate::engine::buffers::{Area, Layout, SlotBuffers};
use crate::engine::driver::{Action, Command};
use crate::engine::error::EngineError;
use crate::engine::psync::Psync;
use crate::record::block_record::{self, Known, Leaves, Version};
use crate::record::record_file::{RecordError, RecordFile, Subject};
use crate::record::stamp::{self, BLOCK, WORD};
use crate::targets::Target;

/// Differences that are kept in words; further ones are counted.
pub const DIFFERENCES_KEPT: usize = 16;

/// Versions that a block may be a mix of, at most: with more it is not checked.
const MIXED_MOST: usize = 64;

/// Changed bits up to which a block counts as damaged, and not as another one.
const DAMAGED_MOST: u32 = 1024;

/// Bytes of a target whose records share a lock: few commands need two.
const LOCKED: u64 = 1 << 20;

/// Locks of a record: more than there are threads on a target, mostly.
const LOCKS: u64 = 64;

/// Bytes of a read of the last pass.
const CHUNK: u32 = 1 << 20;

/// What is verified on a target. Ranges are bytes of what may be used of it.
#[derive(Debug)]
pub struct VerifyPlan<'a> {
    /// Where the record is.
    pub record: &'a Path,
    /// The name of the target that its blocks carry.
    pub name: &'a str,
    /// The seed of the data, if the record is new.
    pub seed: Seed,
    /// What is written with stamps, in whole blocks of 4096 bytes.
    pub stamped: Vec<Range<u64>>,
    /// Where reads are checked.
    pub checked: Vec<Range<u64>>,
    /// What is read again at the end.
    pub read_again: Vec<Range<u64>>,
    /// How often a bit is changed on the way to and from the target, and the source of chance.
    pub corrupt: Option<(f64, Rng)>,
}

/// How many blocks were verified.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Verified {
    /// Written with a stamp, and acknowledged.
    pub written: u64,
    /// Read and compared.
    pub checked: u64,
    /// Read without a verified write to compare with.
    pub unchecked: u64,
    /// Read again at the end, and compared.
    pub read_again: u64,
    /// That are not what they should be.
    pub different: u64,
}

/// A block that is not what was written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Difference {
    /// The target.
    pub path: PathBuf,
    /// The first byte of the block in the target.
    pub offset: u64,
    /// What should be there: what was acknowledged last, and what was in flight.
    pub expected: String,
    /// What is there.
    pub found: String,
}

/// What is verified on one target, for all engines on it. Clones are the same.
#[derive(Clone, Debug)]
pub struct Verifier(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    record: RecordFile,
    path: PathBuf,
    stamped: Ranges,
    checked: Ranges,
    read_again: Ranges,
    corrupt: Option<Mutex<(f64, Rng)>>,
    /// A step of a block's record is made under the lock of its range. No two are held at once.
    locks: [Mutex<()>; LOCKS as usize],
    written: AtomicU64,
    compared: AtomicU64,
    unchecked: AtomicU64,
    compared_again: AtomicU64,
    different: AtomicU64,
    differences: Mutex<Vec<Difference>>,
}

/// Ranges of bytes of the whole target, in ascending order and apart.
#[derive(Debug)]
struct Ranges(Vec<Range<u64>>);

impl Ranges {
    /// `ranges` of a view that begins at `start`.
    fn new(mut ranges: Vec<Range<u64>>, start: u64) -> Self {
        ranges.sort_unstable_by_key(|range| range.start);
        let mut apart: Vec<Range<u64>> = Vec::with_capacity(ranges.len());
        for range in ranges {
            let range = start + range.start..start + range.end;
            match apart.last_mut().filter(|last| range.start <= last.end) {
                Some(last) => last.end = last.end.max(range.end),
                None => apart.push(range),
            }
        }
        Self(apart)
    }

    fn has(&self, offset: u64) -> bool {
        let behind = self.0.partition_point(|range| range.start <= offset);
        behind > 0 && offset < self.0[behind - 1].end
    }
}

impl Verifier {
    /// Opens the record of `target`, or makes it.
    ///
    /// # Errors
    /// [`RecordError`]: there is none and nothing is to be written; it is out of date, of another target, or no
    /// record; the system's.
    pub fn open(target: &Target, plan: VerifyPlan<'_>) -> Result<Self, RecordError> {
        let start = target.start();
        let stamped = Ranges::new(plan.stamped, start);
        let subject = Subject {
            target: target.path(),
            length: target.length(),
            name: plan.name,
            seed: plan.seed.0,
            written: &stamped.0,
        };
        let record = RecordFile::open(plan.record, &subject)?;
        Ok(Self(Arc::new(Shared {
            record,
            path: target.path().to_owned(),
            stamped,
            checked: Ranges::new(plan.checked, start),
            read_again: Ranges::new(plan.read_again, start),
            corrupt: plan.corrupt.map(Mutex::new),
            locks: [const { Mutex::new(()) }; LOCKS as usize],
            written: AtomicU64::new(0),
            compared: AtomicU64::new(0),
            unchecked: AtomicU64::new(0),
            compared_again: AtomicU64::new(0),
            different: AtomicU64::new(0),
            differences: Mutex::new(Vec::new()),
        })))
    }

    /// What was verified so far.
    pub fn verified(&self) -> Verified {
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Verified {
            written: count(&self.0.written),
            checked: count(&self.0.compared),
            unchecked: count(&self.0.unchecked),
            read_again: count(&self.0.compared_again),
            different: count(&self.0.different),
        }
    }

    /// The first differences that were found.
    pub fn differences(&self) -> Vec<Difference> {
        self.0.differences.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The first difference, if there is one.
    pub(crate) fn difference(&self) -> Option<Difference> {
        (self.0.different.load(Ordering::Relaxed) > 0)
            .then(|| self.differences())
            .and_then(|all| all.into_iter().next())
    }

    /// Whether a page of the record was lost: it is no longer known what should be where.
    pub fn is_lost(&self) -> bool {
        self.0.record.is_lost()
    }

    /// Reads again what was written, and compares it; nothing may be in flight. `progress` is called with
    /// the bytes read and the bytes in all; it ends the pass with `false`. Returns whether the pass is whole.
    ///
    /// # Errors
    /// The system's, with the place.
    pub fn read_again(
        &self,
        target: &Target,
        progress: &mut dyn FnMut(u64, u64) -> bool,
    ) -> Result<bool, RereadError> {
        let shared = &self.0;
        let unit = target.unit().max(BLOCK);
        let layout = Layout::new(1, CHUNK, unit)?;
        let (area, mut buffers) = Area::new(layout, Seed(0))?.split();
        let mut call = Psync::new(&[Arc::clone(target.file())], &area);
        let mut scratch = Scratch::new();
        let of: u64 = shared.read_again.0.iter().map(|range| range.end - range.start).sum();
        let mut read = 0;
        let end_of_target = target.start() + target.capacity();
        for range in &shared.read_again.0 {
            let mut start = range.start / u64::from(unit) * u64::from(unit);
            while start < range.end {
                let end = (start + u64::from(CHUNK)).min(range.end.next_multiple_of(unit.into()));
                let end = end.min(end_of_target);
                if !progress(read, of) {
                    return Ok(false);
                }
                let known = |offset| {
                    block_record::known(shared.record.block(offset), shared.record.epochs())
                };
                let blocks = || (start..end).step_by(BLOCK as usize);
                if blocks().any(|offset| known(offset).is_written()) {
                    let (len, buffer) = ((end - start) as u32, buffers.lend(0));
                    let command = Command { action: Action::Read, file: 0, start, len, buffer };
                    let result = call.serve(&command);
                    buffers.take_back(0);
                    if result != len.cast_signed() {
                        let source = if result < 0 {
                            io::Error::from_raw_os_error(-result)
                        } else {
                            io::ErrorKind::UnexpectedEof.into()
                        };
                        let path = shared.path.clone();
                        return Err(RereadError::System { path, start, len, source });
                    }
                    let bytes = buffers.bytes(0, 0, len as usize);
                    shared.corrupt(bytes);
                    for (offset, block) in blocks().zip(bytes.chunks_exact(BLOCK as usize)) {
                        let known = known(offset);
                        if known.is_written() && range.contains(&offset) {
                            shared.compared_again.fetch_add(1, Ordering::Relaxed);
                            let now = Moment { before: known, after: known };
                            shared.compare(&mut scratch, block, offset, &now);
                        }
                    }
                }
                read += end - start;
                start = end;
            }
        }
        Ok(true)
    }
}

/// Why the last pass did not come to its end.
#[derive(Debug, thiserror::Error)]
pub enum RereadError {
    /// The target did not give its data.
    #[error("{}: cannot read {len} bytes at byte {start} to verify them: {source}", path.display())]
    System {
        /// The target.
        path: PathBuf,
        /// The first byte.
        start: u64,
        /// How many.
        len: u32,
        /// What the system said.
        source: io::Error,
    },
    /// The buffers could not be had.
    #[error(transparent)]
    Engine(#[from] EngineError),
}

/// What was known of a block when its read began, and when it ended.
struct Moment {
    before: Known,
    after: Known,
}

impl Moment {
    /// Versions that began in between.
    fn newer(&self) -> std::ops::RangeInclusive<u32> {
        self.before.latest() + 1..=self.after.latest()
    }

    /// Numbers of versions with data that the read may have met.
    fn data(&self) -> impl Iterator<Item = u32> {
        self.before.data().chain(self.newer())
    }

    fn allows(&self, version: u32) -> bool {
        self.before.allows(version) || self.newer().contains(&version)
    }

    fn allows_parts(&self) -> bool {
        self.before.allows_parts() || !self.newer().is_empty()
    }

    fn allows_zeros(&self) -> bool {
        self.before.allows_zeros() || self.after.allows_zeros()
    }

    fn expected(&self) -> String {
        let (first, last) = (self.newer().min(), self.newer().max());
        let more = match (first, last) {
            (Some(first), Some(last)) if first < last => {
                format!(" or one of the versions {first} to {last}")
            }
            (Some(first), _) => format!(" or version {first}"),
            _ => return self.before.to_string(),
        };
        format!("{}{more}, which began during the read", self.before)
    }
}

/// Memory for comparisons.
#[derive(Debug)]
struct Scratch {
    block: Box<[u8]>,
    matched: Box<[bool]>,
}

impl Scratch {
    fn new() -> Self {
        let block = vec![0; BLOCK as usize].into_boxed_slice();
        Self { block, matched: vec![false; BLOCK as usize / WORD].into_boxed_slice() }
    }
}

/// What a comparison says.
enum Answer {
    Equal,
    /// It cannot be told.
    Unknown,
    Different,
}

impl Shared {
    /// Locks the record of the block at `offset`.
    fn lock(&self, offset: u64) -> MutexGuard<'_, ()> {
        let lock = &self.locks[(offset / LOCKED % LOCKS) as usize];
        lock.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls `step` with each block of `range` while its record is locked.
    fn each_locked(&self, range: Range<u64>, mut step: impl FnMut(u64)) {
        let mut locked = None;
        for at in range.step_by(BLOCK as usize) {
            if locked.as_ref().is_none_or(|(range, _)| *range != at / LOCKED) {
                drop(locked.take());
                locked = Some((at / LOCKED, self.lock(at)));
            }
            step(at);
        }
    }

    /// Begins a write of the block at `at`, whose record is locked. Returns its version, if the block is stamped.
    fn begin_block(&self, at: u64, is_stamped: bool, leaves: Leaves) -> Option<Version> {
        let (words, epochs) = (self.record.block(at), self.record.epochs());
        if !is_stamped {
            block_record::forget(words, epochs);
            return None;
        }
        Some(block_record::begin(words, epochs, leaves))
    }

    /// With the chance of the plan, changes a bit of `bytes`.
    fn corrupt(&self, bytes: &mut [u8]) {
        let Some(corrupt) = &self.corrupt else { return };
        let mut corrupt = corrupt.lock().unwrap_or_else(PoisonError::into_inner);
        let (share, rng) = &mut *corrupt;
        // Two draws each time, so that one share does not shift where another changes bits.
        let (chance, bit) = (rng.random::<f64>(), rng.random::<u64>());
        if chance < *share {
            let bit = bit % (bytes.len() as u64 * 8);
            bytes[(bit / 8) as usize] ^= 1 << (bit % 8);
        }
    }

    /// Compares the block at `offset` with what should be there, and books a difference. Returns whether it
    /// could be compared.
    fn compare(&self, scratch: &mut Scratch, block: &[u8], offset: u64, moment: &Moment) -> bool {
        match self.find(scratch, block, offset, moment) {
            Answer::Equal => true,
            Answer::Unknown => false,
            Answer::Different => {
                self.different.fetch_add(1, Ordering::Relaxed);
                let mut all = self.differences.lock().unwrap_or_else(PoisonError::into_inner);
                if all.len() < DIFFERENCES_KEPT {
                    let (expected, path) = (moment.expected(), self.path.clone());
                    let found = self.described(block, offset, moment);
                    all.push(Difference { path, offset, expected, found });
                }
                true
            }
        }
    }

    fn find(&self, scratch: &mut Scratch, block: &[u8], offset: u64, moment: &Moment) -> Answer {
        let stamp = self.record.stamp();
        if let Some(version) = stamp.version(offset, block)
            && moment.allows(version)
        {
            stamp.make(offset, version, &mut scratch.block);
            if *scratch.block == *block {
                return Answer::Equal;
            }
        }
        let zeros = block.iter().all(|&byte| byte == 0);
        if zeros && moment.allows_zeros() {
            return Answer::Equal;
        }
        if zeros && moment.newer().count() > 1 {
            // One of them may have been zeros, and is superseded already.
            return Answer::Unknown;
        }
        if !moment.allows_parts() {
            return Answer::Different;
        }
        if moment.data().nth(MIXED_MOST).is_some() {
            return Answer::Unknown;
        }
        scratch.matched.fill(false);
        let words = || block.chunks_exact(WORD);
        if moment.allows_zeros() {
            let zeros = words().map(|word| word == [0; WORD]);
            scratch.matched.iter_mut().zip(zeros).for_each(|(matched, is)| *matched |= is);
        }
        for version in moment.data() {
            stamp.make(offset, version, &mut scratch.block);
            let equal = scratch.block.chunks_exact(WORD).zip(words()).map(|(a, b)| a == b);
            scratch.matched.iter_mut().zip(equal).for_each(|(matched, is)| *matched |= is);
        }
        if scratch.matched.iter().all(|&matched| matched) {
            Answer::Equal
        } else {
            Answer::Different
        }
    }

    /// What `block` is, in words.
    fn described(&self, block: &[u8], offset: u64, moment: &Moment) -> String {
        let stamp = self.record.stamp();
        let says = stamp::read(block);
        let own = says.filter(|says| (says.stamp, says.offset) == (stamp, offset));
        let mut made = vec![0; block.len()];
        let candidates = moment.data().take(MIXED_MOST).chain(own.map(|own| own.version));
        let near = candidates.map(|version| {
            stamp.make(offset, version, &mut made);
            let (bits, first) = changed_bits(&made, block);
            (bits, first, version)
        });
        if let Some((bits, first, version)) = near.min().filter(|(bits, ..)| *bits <= DAMAGED_MOST)
        {
            let at = offset + first;
            return match bits {
                0 if version > moment.after.latest() => {
                    format!("version {version}, which was never written")
                }
                0 => format!("version {version}, which was overwritten before"),
                1 => format!("version {version} with a changed bit in byte {at}"),
                _ => format!("version {version} with {bits} changed bits, the first in byte {at}"),
            };
        }
        if block.iter().all(|&byte| byte == 0) {
            return "zeros".into();
        }
        match says {
            Some(says) if says.is_whole && says.stamp == stamp => {
                format!("the block of byte {}, version {}", says.offset, says.version)
            }
            Some(says) if says.is_whole && says.stamp.file == stamp.file => {
                format!(
                    "version {} of an earlier record, of seed {}",
                    says.version, says.stamp.seed
                )
            }
            Some(says) if says.is_whole => {
                format!("a block of another file than {}", self.record.name())
            }
            Some(_) => "a part of a verified block".into(),
            None => "data that no verified write made".into(),
        }
    }
}

/// How many bits of the two differ, and the first byte with one.
fn changed_bits(one: &[u8], other: &[u8]) -> (u32, u64) {
    let bits = one.iter().zip(other).map(|(a, b)| (a ^ b).count_ones());
    let first = bits.clone().position(|bits| bits > 0).unwrap_or(0);
    (bits.sum(), first as u64)
}

/// The verification of the commands of one hub.
pub(crate) struct Verifying {
    /// One for each lane that is verified.
    lanes: Vec<Option<Verifier>>,
    area: Arc<Area>,
    buffers: SlotBuffers,
    /// What writes leave in a block.
    leaves: Leaves,
    /// One for each slot of all lanes.
    flights: Vec<Verification>,
    scratch: Scratch,
}

/// A command under way: a write or a discard has versions, a read has what was known, a flush neither.
struct Verification {
    /// Its first block.
    start: u64,
    /// The version that it leaves in each block; `None` where it leaves unverified data.
    versions: Vec<Option<Version>>,
    /// What was known of each block when it began.
    known: Vec<Known>,
}

fn range(command: &Command) -> Range<u64> {
    command.start..command.start + u64::from(command.len)
}

impl Verifying {
    /// Of `slots` commands of `engine` over the lanes with these verifiers, with data in `buffers`.
    pub(crate) fn new(
        lanes: Vec<Option<Verifier>>,
        slots: u32,
        buffers: SlotBuffers,
        engine: Engine,
    ) -> Self {
        let by_parts = engine == Engine::Mmap;
        let leaves = if by_parts { Leaves::DataByParts } else { Leaves::Data };
        let area = Arc::clone(buffers.area());
        let most = area.layout().stride() / BLOCK as usize + 1;
        let flight = || Verification {
            start: 0,
            versions: Vec::with_capacity(most),
            known: Vec::with_capacity(most),
        };
        let flights = (0..slots).map(|_| flight()).collect();
        Self { lanes, area, buffers, leaves, flights, scratch: Scratch::new() }
    }

    /// What the ranges of `lane` are rounded to, at least.
    pub(crate) fn grain(&self, lane: usize) -> u32 {
        if self.lanes[lane].is_some() { BLOCK } else { 1 }
    }

    /// Records that `command` of `lane` in `slot` is about to be queued. A write gets its data.
    pub(crate) fn start(&mut self, lane: usize, slot: u32, command: &mut Command) {
        let Some(Verifier(shared)) = &self.lanes[lane] else { return };
        let flight = &mut self.flights[slot as usize];
        flight.versions.clear();
        flight.known.clear();
        flight.start = command.start;
        match command.action {
            Action::Read => {
                flight.begin_read(shared, command);
                self.buffers.lend(slot);
            }
            Action::Write | Action::WriteThrough => {
                flight.begin_write(shared, command, self.leaves);
                let unverified = self.area.source(command.buffer, command.len as usize);
                let bytes = self.buffers.bytes(slot, 0, command.len as usize);
                flight.fill(shared, bytes, unverified);
                command.buffer = self.buffers.lend(slot);
            }
            Action::Discard => flight.begin_discard(shared, command),
            Action::Flush => {}
        }
    }

    /// Records that the command of `lane` in `slot` has ended, and compares what a read got.
    pub(crate) fn end(&mut self, lane: usize, slot: u32, failed: bool) {
        let Some(Verifier(shared)) = &self.lanes[lane] else { return };
        let flight = &mut self.flights[slot as usize];
        self.buffers.take_back(slot);
        if !flight.versions.is_empty() {
            flight.end_write(shared, failed);
        } else if !flight.known.is_empty() && !failed {
            let bytes = self.buffers.bytes(slot, 0, flight.known.len() * BLOCK as usize);
            flight.end_read(shared, bytes, &mut self.scratch);
        }
    }

    /// The first difference on any lane.
    pub(crate) fn difference(&self) -> Option<Difference> {
        self.lanes.iter().flatten().find_map(Verifier::difference)
    }

    /// The path of a lane's target whose record was lost.
    pub(crate) fn lost(&self) -> Option<PathBuf> {
        let lost = self.lanes.iter().flatten().find(|verifier| verifier.is_lost());
        lost.map(|verifier| verifier.0.path.clone())
    }
}

impl Verification {
    fn begin_read(&mut self, shared: &Shared, command: &Command) {
        let record = &shared.record;
        shared.each_locked(range(command), |at| {
            self.known.push(block_record::known(record.block(at), record.epochs()));
        });
    }

    fn begin_write(&mut self, shared: &Shared, command: &Command, leaves: Leaves) {
        shared.each_locked(range(command), |at| {
            self.versions.push(shared.begin_block(at, shared.stamped.has(at), leaves));
        });
    }

    /// Nothing is known afterwards of a block that is discarded in part.
    fn begin_discard(&mut self, shared: &Shared, command: &Command) {
        let (block, end) = (u64::from(BLOCK), range(command).end);
        self.start = command.start / block * block;
        shared.each_locked(self.start..end, |at| {
            let whole = at >= command.start && at + block <= end;
            let is_stamped = whole && shared.stamped.has(at);
            self.versions.push(shared.begin_block(at, is_stamped, Leaves::Zeros));
        });
    }

    /// Fills `bytes` with the data of the versions, and with `unverified` where there is none.
    fn fill(&self, shared: &Shared, bytes: &mut [u8], unverified: &[u8]) {
        let grain = BLOCK as usize;
        let blocks = bytes.chunks_mut(grain).zip(unverified.chunks(grain));
        let places = (self.start..).step_by(grain).zip(&self.versions);
        for ((at, version), (block, unverified)) in places.zip(blocks) {
            match version {
                Some(version) => shared.record.stamp().make(at, version.number(), block),
                None => block.copy_from_slice(unverified),
            }
        }
        shared.corrupt(bytes);
    }

    fn end_write(&self, shared: &Shared, failed: bool) {
        let mut versions = self.versions.iter();
        let mut written = 0;
        let end = self.start + self.versions.len() as u64 * u64::from(BLOCK);
        shared.each_locked(self.start..end, |at| {
            if let Some(Some(version)) = versions.next() {
                block_record::end(shared.record.block(at), *version, !failed);
                written += u64::from(!failed);
            }
        });
        shared.written.fetch_add(written, Ordering::Relaxed);
    }

    /// Compares `bytes`, which were read.
    fn end_read(&self, shared: &Shared, bytes: &mut [u8], scratch: &mut Scratch) {
        let record = &shared.record;
        shared.corrupt(bytes);
        let (mut compared, mut unchecked) = (0, 0);
        let places = (self.start..).step_by(BLOCK as usize).zip(&self.known);
        for ((at, before), block) in places.zip(bytes.chunks_exact(BLOCK as usize)) {
            if !shared.checked.has(at) {
                continue;
            }
            let lock = shared.lock(at);
            let after = block_record::known(record.block(at), record.epochs());
            drop(lock);
            let moment = Moment { before: *before, after };
            let known = moment.before.is_written() && after.is_written();
            if known && shared.compare(scratch, block, at, &moment) {
                compared += 1;
            } else {
                unchecked += 1;
            }
        }
        shared.compared.fetch_add(compared, Ordering::Relaxed);
        shared.unchecked.fetch_add(unchecked, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::time::Duration;

    use super::*;

    const SIZE: u64 = 4 << 20;

    /// A command of a verified stage with one slot.
    fn write(verifying: &mut Verifying, start: u64) {
        let buffer = verifying.area.layout().source();
        let mut command = Command { action: Action::Write, file: 0, start, len: 8192, buffer };
        verifying.start(0, 0, &mut command);
        verifying.end(0, 0, false);
    }

    fn verifying(verifier: &Verifier) -> Verifying {
        let layout = Layout::new(1, 8192, BLOCK).unwrap();
        let (_, buffers) = Area::new(layout, Seed(7)).unwrap().split();
        Verifying::new(vec![Some(verifier.clone())], 1, buffers, Engine::Psync)
    }

    fn verifier(name: &str) -> (PathBuf, Target, Verifier) {
        let name = format!("penstock-{name}-{}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir(&folder).unwrap();
        let target = Target::open(&folder.join("data.img"), Some(SIZE)).unwrap();
        let plan = VerifyPlan {
            record: &folder.join("data.img.verify"),
            name: "data.img",
            seed: Seed(7),
            stamped: vec![0..SIZE],
            checked: vec![0..SIZE],
            read_again: vec![],
            corrupt: None,
        };
        let verifier = Verifier::open(&target, plan).unwrap();
        (folder, target, verifier)
    }

    #[test]
    fn commands_far_apart_do_not_wait_for_each_other() {
        let (folder, target, verifier) = verifier("apart");
        let (sender, receiver) = mpsc::channel();
        let lock = verifier.0.lock(0);
        let on_thread = verifier.clone();
        let thread = std::thread::spawn(move || {
            let mut verifying = verifying(&on_thread);
            write(&mut verifying, 2 << 20);
            sender.send(()).unwrap();
            write(&mut verifying, 4096);
            sender.send(()).unwrap();
        });
        assert_eq!(receiver.recv_timeout(Duration::from_secs(20)), Ok(()), "a lock of its own");
        let short = Duration::from_millis(50);
        assert!(receiver.recv_timeout(short).is_err(), "the lock of that block");
        drop(lock);
        thread.join().unwrap();
        drop((target, verifier));
        std::fs::remove_dir_all(folder).unwrap();
    }

    /// Over the border of two locks, so that each command needs both.
    #[test]
    fn a_block_of_two_threads_keeps_one_acknowledged_version() {
        let (folder, target, verifier) = verifier("two-threads");
        let at = LOCKED - u64::from(BLOCK);
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    let mut verifying = verifying(&verifier);
                    (0..2000).for_each(|_| write(&mut verifying, at));
                });
            }
        });
        let record = &verifier.0.record;
        for at in [at, LOCKED] {
            let known = block_record::known(record.block(at), record.epochs());
            assert_eq!(known.latest(), 4000);
            assert!(known.is_written() && known.data().count() <= 2, "{known}");
        }
        assert_eq!(verifier.verified().written, 8000);
        drop((target, verifier));
        std::fs::remove_dir_all(folder).unwrap();
    }
}
