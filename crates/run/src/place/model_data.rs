//! The verified data of a run over models.
//!
//! A model takes time and keeps no data. The content of a verified block follows from its version,
//! so this module keeps, for each block, the version on the model and the bits that `faults` have
//! changed. Requests pass here above the policies and below a page cache: a write stores its
//! version when it completes, and a read is compared when it completes. There is no record, as
//! nothing outlives the run.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ops::Range;
use std::rc::Rc;

use penstock_core::{Device, Done, Op, Request, Rng, Tap};
use penstock_jobs::VerifiedRanges;
use penstock_live::{DIFFERENCES_KEPT, Difference, VERIFIED_BLOCK, Verified};
use rand::RngExt as _;

/// Bytes of a block.
const BLOCK: u64 = VERIFIED_BLOCK as u64;

/// The verification plan of a run over models.
#[derive(Clone, Debug)]
pub(crate) struct ModelPlan {
    /// The verified ranges, in the address space of the run.
    pub(crate) ranges: VerifiedRanges,
    /// The models, in the order of their bytes.
    pub(crate) models: Vec<Medium>,
}

impl ModelPlan {
    /// The number of the model with the byte at `start`.
    fn number(&self, start: u64) -> usize {
        self.models.partition_point(|medium| medium.base <= start) - 1
    }

    fn medium(&self, start: u64) -> &Medium {
        &self.models[self.number(start)]
    }
}

/// A model of the run, with its part of the address space.
#[derive(Clone, Debug)]
pub(crate) struct Medium {
    /// Its name in results.
    pub(crate) name: String,
    /// Its first byte in the address space of the run.
    pub(crate) base: u64,
    /// Probability that it changes a bit, and the random numbers for it.
    pub(crate) corrupt: Option<(f64, Rng)>,
}

/// The data of one run. Clones share it.
#[derive(Clone)]
pub(crate) struct ModelData(Rc<RefCell<DataBook>>);

struct DataBook {
    plan: ModelPlan,
    blocks: BTreeMap<u64, BlockState>,
    /// Requests in flight, by slot.
    in_flight: Vec<DataFlight>,
    verified: Verified,
    differences: Vec<Difference>,
}

/// The state of a block.
#[derive(Default)]
struct BlockState {
    /// Writes that have begun.
    begun: u32,
    /// The content of the block, if it is known.
    lies: Option<BlockContent>,
}

#[derive(Clone, Copy)]
struct BlockContent {
    version: u32,
    /// Whether the version is a discard.
    zeros: bool,
    /// The bit that differs from what was written.
    changed: Option<Bit>,
}

/// A byte in the address space of the run, and the number of a bit in it.
type Bit = (u64, u8);

/// A request in flight, and the versions of the blocks that a write or a discard touches; 0 where a
/// block has none.
#[derive(Default)]
struct DataFlight {
    req: Option<Request>,
    versions: Vec<u32>,
}

impl ModelData {
    /// Creates the data of a run that has not begun.
    pub(crate) fn new(plan: &ModelPlan) -> Self {
        Self(Rc::new(RefCell::new(DataBook {
            plan: plan.clone(),
            blocks: BTreeMap::new(),
            in_flight: Vec::new(),
            verified: Verified::default(),
            differences: Vec::new(),
        })))
    }

    /// Wraps `device`, so that its requests are recorded and compared here.
    pub(crate) fn over<D: Device>(&self, device: D) -> impl Device + use<D> {
        let (at_start, at_end) = (Rc::clone(&self.0), Rc::clone(&self.0));
        let begun = move |_, req: &Request| at_start.borrow_mut().begin(req);
        let ended = move |_, done: &[Done]| {
            let mut book = at_end.borrow_mut();
            for done in done {
                book.end(done);
            }
        };
        Tap::new(device, begun, ended)
    }

    /// Whether a block differed from what was written.
    pub(crate) fn differs(&self) -> bool {
        self.0.borrow().verified.different > 0
    }

    /// Reads the written blocks again and compares them.
    pub(crate) fn read_again(&self) {
        self.0.borrow_mut().read_again();
    }

    /// The numbers of verified blocks, and the first differences.
    pub(crate) fn found(&self) -> (Verified, Vec<Difference>) {
        let book = self.0.borrow();
        (book.verified, book.differences.clone())
    }
}

/// Whether one of `ranges`, which are disjoint and in ascending order, contains `offset`.
fn has(ranges: &[Range<u64>], offset: u64) -> bool {
    let behind = ranges.partition_point(|range| range.start <= offset);
    behind > 0 && offset < ranges[behind - 1].end
}

/// The first byte of each block that `req` touches, on a device that begins at `base`.
fn blocks(req: &Request, base: u64) -> impl Iterator<Item = u64> + use<> {
    let first = base + (req.start - base) / BLOCK * BLOCK;
    (first..req.start + u64::from(req.len)).step_by(BLOCK as usize)
}

/// Whether `req` covers the whole block at `at`.
fn is_whole(req: &Request, at: u64) -> bool {
    at >= req.start && at + BLOCK <= req.start + u64::from(req.len)
}

impl DataBook {
    fn begin(&mut self, req: &Request) {
        let slot = req.id.index();
        if slot >= self.in_flight.len() {
            self.in_flight.resize_with(slot + 1, DataFlight::default);
        }
        let base = self.plan.medium(req.start).base;
        let flight = &mut self.in_flight[slot];
        flight.req = Some(*req);
        flight.versions.clear();
        if matches!(req.op, Op::Write | Op::Discard) {
            flight.versions.extend(blocks(req, base).map(|at| {
                if !is_whole(req, at) || !has(&self.plan.ranges.stamped, at) {
                    return 0;
                }
                let block = self.blocks.entry(at).or_default();
                block.begun += 1;
                block.begun
            }));
        }
    }

    fn end(&mut self, done: &Done) {
        let flight = &mut self.in_flight[done.id.index()];
        let Some(req) = flight.req.take() else { return };
        match req.op {
            // The effect of a failed command is unknown on a device; a model has changed nothing.
            _ if done.error.is_some() => {}
            Op::Read => self.read(&req),
            Op::Write | Op::Discard => {
                let versions = std::mem::take(&mut flight.versions);
                self.written(&req, &versions);
                self.in_flight[done.id.index()].versions = versions;
            }
            Op::Flush => {}
        }
    }

    fn written(&mut self, req: &Request, versions: &[u32]) {
        let zeros = req.op == Op::Discard;
        let bit = if zeros { None } else { self.changed_bit(req.start, req.len) };
        let base = self.plan.medium(req.start).base;
        for (at, &version) in blocks(req, base).zip(versions) {
            if version == 0 {
                // The content is not known any more.
                self.blocks.entry(at).and_modify(|block| block.lies = None);
                continue;
            }
            let content = BlockContent { version, zeros, changed: bit_in(bit, at) };
            self.blocks.entry(at).or_default().lies = Some(content);
            self.verified.written += 1;
        }
    }

    fn read(&mut self, req: &Request) {
        let bit = self.changed_bit(req.start, req.len);
        for at in blocks(req, self.plan.medium(req.start).base) {
            if !is_whole(req, at) || !has(&self.plan.ranges.checked, at) {
                continue;
            }
            match self.blocks.get(&at).and_then(|block| block.lies) {
                None => self.verified.unchecked += 1,
                Some(content) => {
                    self.verified.checked += 1;
                    self.compare(at, content, bit_in(bit, at));
                }
            }
        }
    }

    fn read_again(&mut self) {
        let ranges = &self.plan.ranges.read_again;
        let lies = |(&at, block): (&u64, &BlockState)| {
            block.lies.filter(|_| has(ranges, at)).map(|content| (at, content))
        };
        let all: Vec<_> = self.blocks.iter().filter_map(lies).collect();
        for (at, content) in all {
            self.verified.read_again += 1;
            let bit = self.changed_bit(at, BLOCK as u32);
            self.compare(at, content, bit);
        }
    }

    /// The bit that the model changes on the way in `len` bytes from `start`, if it changes one.
    fn changed_bit(&mut self, start: u64, len: u32) -> Option<Bit> {
        let medium = self.plan.number(start);
        let (share, rng) = self.plan.models[medium].corrupt.as_mut()?;
        // Always two draws, so that a different probability does not shift which bits change.
        let (chance, bit) = (rng.random::<f64>(), rng.random::<u64>());
        let bit = bit % (u64::from(len) * 8);
        (chance < *share).then(|| (start + bit / 8, (bit % 8) as u8))
    }

    /// Compares the block at `at`, which holds `content`, with what was written; `changed`: a bit
    /// that was changed on the way.
    fn compare(&mut self, at: u64, content: BlockContent, changed: Option<Bit>) {
        let (first, bits) = match (content.changed, changed) {
            (Some(one), Some(other)) if one != other => (one.min(other), 2),
            (Some(one), None) | (None, Some(one)) => (one, 1),
            // A bit that was changed twice is as it was.
            _ => return,
        };
        self.verified.different += 1;
        if self.differences.len() == DIFFERENCES_KEPT {
            return;
        }
        let Medium { name, base, .. } = self.plan.medium(at);
        let byte = first.0 - base;
        let BlockContent { version, zeros, .. } = content;
        let changed = match bits {
            1 => format!("a changed bit in byte {byte}"),
            _ => format!("{bits} changed bits, the first in byte {byte}"),
        };
        let what = if zeros { "zeros, as version" } else { "version" };
        self.differences.push(Difference {
            path: name.into(),
            offset: at - base,
            expected: format!("{what} {version}, which was acknowledged"),
            found: format!("{what} {version} with {changed}"),
        });
    }
}

/// Returns `bit` if it lies in the block at `at`.
fn bit_in(bit: Option<Bit>, at: u64) -> Option<Bit> {
    bit.filter(|(byte, _)| (at..at + BLOCK).contains(byte))
}
