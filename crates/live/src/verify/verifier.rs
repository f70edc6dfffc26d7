//! Verifiers: what is verified on a target, and the results of it.
//!
//! All engines on a target share one [`Verifier`]: the record, the ranges, and the differences found. Each stage has a
//! [`Verifying`](super::verifying::Verifying) of its own. Writes are stamped and recorded, and reads are compared with
//! the record.

use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use penstock_core::{Rng, Seed};
use rand::RngExt as _;

use super::comparison::{Answer, Moment, Scratch, compare, describe};
use crate::engine::blocking::Call as _;
use crate::engine::buffers::{Area, Layout};
use crate::engine::driver::{Action, Command};
use crate::engine::error::EngineError;
use crate::engine::psync::Psync;
use crate::record::block_record::{self, Leaves, Version};
use crate::record::record_error::RecordError;
use crate::record::record_file::{RecordFile, Subject};
use crate::record::stamp::BLOCK;
use crate::targets::Target;

/// The most differences that are kept with a description; further ones are only counted.
pub const DIFFERENCES_KEPT: usize = 16;

/// Bytes of a target whose blocks' records share a lock: few commands need two.
pub(super) const LOCKED: u64 = 1 << 20;

/// The number of locks of a record: usually more than there are threads on a target.
const LOCKS: u64 = 64;

/// The length of a read when written data is read again, in bytes.
const CHUNK: u32 = 1 << 20;

/// The parts of a target to verify, and how. Ranges are in bytes of its usable part.
#[derive(Debug)]
pub struct VerifyPlan<'a> {
    /// The path of the record.
    pub record: &'a Path,
    /// The name of the target in its blocks.
    pub name: &'a str,
    /// The seed of the data, if the record is new.
    pub seed: Seed,
    /// Ranges that are written with stamps, in whole blocks of 4096 bytes.
    pub stamped: Vec<Range<u64>>,
    /// Ranges where reads are checked.
    pub checked: Vec<Range<u64>>,
    /// Ranges that are read again at the end.
    pub read_again: Vec<Range<u64>>,
    /// To show that verification works: the probability that a command's data gets a wrong bit, and the source
    /// of randomness.
    pub corrupt: Option<(f64, Rng)>,
}

/// Counts of verified blocks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Verified {
    /// Blocks written with a stamp, and acknowledged.
    pub written: u64,
    /// Blocks read and compared.
    pub checked: u64,
    /// Blocks read without a verified write to compare with.
    pub unchecked: u64,
    /// Blocks read again at the end, and compared.
    pub read_again: u64,
    /// Blocks with wrong data.
    pub different: u64,
}

/// A block with wrong data.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Difference {
    /// The target.
    pub path: PathBuf,
    /// The first byte of the block in the target.
    pub offset: u64,
    /// The versions that may be there: the one acknowledged last, and those in flight.
    pub expected: String,
    /// A description of the data that is there.
    pub found: String,
}

/// The verification of a target, for all engines on it. Clones share their state.
#[derive(Clone, Debug)]
pub struct Verifier(pub(super) Arc<Shared>);

#[derive(Debug)]
pub(super) struct Shared {
    pub(super) record: RecordFile,
    pub(super) path: PathBuf,
    pub(super) stamped: Ranges,
    pub(super) checked: Ranges,
    read_again: Ranges,
    corrupt: Option<Mutex<(f64, Rng)>>,
    /// Each guards changes to the records of some ranges. A thread holds one of them at a time.
    locks: [Mutex<()>; LOCKS as usize],
    pub(super) written: AtomicU64,
    pub(super) compared: AtomicU64,
    pub(super) unchecked: AtomicU64,
    compared_again: AtomicU64,
    different: AtomicU64,
    differences: Mutex<Vec<Difference>>,
}

/// Ranges of bytes of the file, in ascending order and disjoint.
#[derive(Debug)]
pub(super) struct Ranges(Vec<Range<u64>>);

impl Ranges {
    /// Creates the ranges from `ranges` of a view that begins at `start`.
    fn new(mut ranges: Vec<Range<u64>>, start: u64) -> Self {
        ranges.sort_unstable_by_key(|range| range.start);
        let mut disjoint: Vec<Range<u64>> = Vec::with_capacity(ranges.len());
        for range in ranges {
            let range = start + range.start..start + range.end;
            match disjoint.last_mut().filter(|last| range.start <= last.end) {
                Some(last) => last.end = last.end.max(range.end),
                None => disjoint.push(range),
            }
        }
        Self(disjoint)
    }

    pub(super) fn has(&self, offset: u64) -> bool {
        let next = self.0.partition_point(|range| range.start <= offset);
        next > 0 && offset < self.0[next - 1].end
    }
}

impl Verifier {
    /// Opens the record of `target`, or creates it.
    ///
    /// # Errors
    /// [`RecordError`]: there is no record and nothing is to be written; it is out of date, belongs to another target, or
    /// is no record; an error of the system.
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

    /// Returns the counts of blocks so far.
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

    /// Returns the first differences that were found.
    pub fn differences(&self) -> Vec<Difference> {
        self.0.differences.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the first difference, if there is one.
    pub(crate) fn difference(&self) -> Option<Difference> {
        (self.0.different.load(Ordering::Relaxed) > 0)
            .then(|| self.differences())
            .and_then(|all| all.into_iter().next())
    }

    /// Returns whether a page of the record was lost, and with it the knowledge of what is written.
    pub fn is_lost(&self) -> bool {
        self.0.record.is_lost()
    }

    /// Reads written data again and compares it; nothing may be in flight. Calls `progress` with the bytes
    /// read and the total, and stops if it returns `false`. Returns whether everything was read.
    ///
    /// # Errors
    /// An error of the system, with the range.
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
        let total: u64 = shared.read_again.0.iter().map(|range| range.end - range.start).sum();
        let mut read = 0;
        let end_of_target = target.start() + target.capacity();
        for range in &shared.read_again.0 {
            let mut start = range.start / u64::from(unit) * u64::from(unit);
            while start < range.end {
                let end = (start + u64::from(CHUNK)).min(range.end.next_multiple_of(unit.into()));
                let end = end.min(end_of_target);
                if !progress(read, total) {
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

/// Why data could not be read again.
#[derive(Debug, thiserror::Error)]
pub enum RereadError {
    /// The target could not be read.
    #[error("{}: cannot read {len} bytes at byte {start} to verify them: {source}", path.display())]
    System {
        /// The target.
        path: PathBuf,
        /// The first byte.
        start: u64,
        /// The length in bytes.
        len: u32,
        /// The error of the system.
        source: io::Error,
    },
    /// There was no memory for buffers.
    #[error(transparent)]
    Engine(#[from] EngineError),
}

impl Shared {
    /// Locks the record of the block at `offset`.
    pub(super) fn lock(&self, offset: u64) -> MutexGuard<'_, ()> {
        let lock = &self.locks[(offset / LOCKED % LOCKS) as usize];
        lock.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls `step` with each block of `range` while its record is locked.
    pub(super) fn each_locked(&self, range: Range<u64>, mut step: impl FnMut(u64)) {
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
    pub(super) fn begin_block(&self, at: u64, is_stamped: bool, leaves: Leaves) -> Option<Version> {
        let (words, epochs) = (self.record.block(at), self.record.epochs());
        if !is_stamped {
            block_record::forget(words, epochs);
            return None;
        }
        Some(block_record::begin(words, epochs, leaves))
    }

    /// Changes a bit of `bytes`, with the probability of the plan.
    pub(super) fn corrupt(&self, bytes: &mut [u8]) {
        let Some(corrupt) = &self.corrupt else { return };
        let mut corrupt = corrupt.lock().unwrap_or_else(PoisonError::into_inner);
        let (probability, rng) = &mut *corrupt;
        // Two draws each time, so that the probability does not influence which bits change.
        let (draw, bit) = (rng.random::<f64>(), rng.random::<u64>());
        if draw < *probability {
            let bit = bit % (bytes.len() as u64 * 8);
            bytes[(bit / 8) as usize] ^= 1 << (bit % 8);
        }
    }

    /// Compares the block at `offset` with the versions that may be there, and records a difference. Returns whether
    /// it could be compared.
    pub(super) fn compare(
        &self,
        scratch: &mut Scratch,
        block: &[u8],
        offset: u64,
        moment: &Moment,
    ) -> bool {
        match compare(&self.record, scratch, block, offset, moment) {
            Answer::Equal => true,
            Answer::Unknown => false,
            Answer::Different => {
                self.different.fetch_add(1, Ordering::Relaxed);
                let mut kept = self.differences.lock().unwrap_or_else(PoisonError::into_inner);
                if kept.len() < DIFFERENCES_KEPT {
                    let (expected, path) = (moment.expected(), self.path.clone());
                    let found = describe(&self.record, block, offset, moment);
                    kept.push(Difference { path, offset, expected, found });
                }
                true
            }
        }
    }
}
