//! The verification of one stage, between its hub and its engine.
//!
//! It fills the buffer of a write with the versions that the write will leave, and records them, before the command is
//! queued; when the command has ended they are acknowledged. A read is compared with what may have been there while it
//! was under way: the candidates at its beginning, and versions that began before its end.
//!
//! Invariants: a version is in the record before its write is queued, and acknowledged after it has ended; nothing
//! allocates per request, unless a discard is the longest so far or a difference is found.

use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::comparison::{Moment, Scratch};
use super::verifier::{Difference, Shared, Verifier};
use crate::engine::Engine;
use crate::engine::buffers::{Area, SlotBuffers};
use crate::engine::driver::{Action, Command};
use crate::record::block_record::{self, Known, Leaves, Version};
use crate::record::stamp::BLOCK;

/// The verification of the commands of a hub.
pub(crate) struct Verifying {
    /// The verifier of each lane; `None` if the lane is not verified.
    lanes: Vec<Option<Verifier>>,
    area: Arc<Area>,
    buffers: SlotBuffers,
    /// The effect of writes on a block.
    leaves: Leaves,
    /// The command under way in each slot of all lanes.
    flights: Vec<Verification>,
    scratch: Scratch,
}

/// A command under way: a write or a discard has `versions`, a read has `known`, a flush neither.
struct Verification {
    /// Its first block.
    start: u64,
    /// The version that it leaves in each block; `None` for unverified data.
    versions: Vec<Option<Version>>,
    /// The knowledge of each block when it began.
    known: Vec<Known>,
}

fn range(command: &Command) -> Range<u64> {
    command.start..command.start + u64::from(command.len)
}

impl Verifying {
    /// Creates the verification of `slots` commands of `engine`, with data in `buffers`. `lanes` has the verifier of each
    /// lane, if it is verified.
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

    /// Returns the least unit to which ranges of `lane` are rounded, in bytes.
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

    /// Returns the first difference on any lane.
    pub(crate) fn difference(&self) -> Option<Difference> {
        self.lanes.iter().flatten().find_map(Verifier::difference)
    }

    /// Returns the path of a target whose record was lost, if there is one.
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

    /// Blocks that are discarded in part are no longer known afterwards.
    fn begin_discard(&mut self, shared: &Shared, command: &Command) {
        let (block, end) = (u64::from(BLOCK), range(command).end);
        self.start = command.start / block * block;
        shared.each_locked(self.start..end, |at| {
            let is_whole = at >= command.start && at + block <= end;
            let is_stamped = is_whole && shared.stamped.has(at);
            self.versions.push(shared.begin_block(at, is_stamped, Leaves::Zeros));
        });
    }

    /// Fills `bytes` with the data of the versions, and with bytes of `unverified` where there is no version.
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

    /// Compares the read `bytes`.
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

    use penstock_core::Seed;

    use super::super::verifier::{LOCKED, VerifyPlan};
    use super::*;
    use crate::engine::buffers::Layout;
    use crate::targets::Target;

    const SIZE: u64 = 4 << 20;

    /// Begins and ends a write of two blocks at `start`.
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
        let all = 0..SIZE;
        let plan = VerifyPlan {
            record: &folder.join("data.img.verify"),
            name: "data.img",
            seed: Seed(7),
            stamped: vec![all.clone()],
            checked: vec![all],
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

    /// The two blocks have different locks.
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
