//! The model `linear`: a disk with one arm and round figures.

use std::num::NonZeroU32;
use std::rc::Rc;

use penstock_core::{Device, Seed, Span, Time};
use penstock_device::{Latency, Linear, LinearFacts};
use serde_json::json;

use super::entry::ModelEntry;
use super::memory::COMMAND;
use super::watch::Watch;
use crate::amount::{Count, SIZE, TIME};
use crate::diagnose::JobError;
use crate::keys::keys;
use crate::kinds::Choice;
use crate::reader::Reader;
use crate::rows::Rows;

keys! {
    /// Keys of its figures. The usual ones are those of a disk of the early 1990s.
    KEYS:
    /// Time of the arm for each cylinder.
    SEEK seek: Span = TIME, or Span::from_us(40);
    /// Time of a turn of the platter.
    TURN turn: Span = TIME, or Span::from_us(16_667);
    /// Wait of a request for the platter: random up to a turn, or half a turn.
    LATENCY latency: Latency =
        Choice(&[("uniform", Latency::Uniform), ("constant", Latency::Constant)]),
        or Latency::Uniform;
    /// Time of each block of a request.
    TRANSFER transfer: Span = TIME, or Span::from_us(1_024);
    /// Bytes of a block.
    BLOCK block: NonZeroU32 =
        SIZE.above_zero().at_most(1 << 30).hint("a sector has 512 bytes"), or usual(4096);
    /// Blocks of a cylinder.
    PER_CYLINDER per_cylinder: NonZeroU32 = Count(1, u32::MAX as u64), or usual(64);
    /// Bytes of the disk.
    CAPACITY capacity: u64 = SIZE.above_zero(), or 1 << 30;
}

pub(super) const ENTRY: ModelEntry<LinearSpec> =
    ModelEntry { name: "linear", keys: &[KEYS], read, rules: || json!({}) };

/// A disk with one arm and round figures.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LinearSpec(LinearFacts);

fn usual(number: u32) -> NonZeroU32 {
    NonZeroU32::new(number).expect("above zero")
}

fn read(reader: &Reader<'_>) -> Result<LinearSpec, JobError> {
    let facts = LinearFacts {
        seek: reader.get(&SEEK)?,
        turn: reader.get(&TURN)?,
        latency: reader.get(&LATENCY)?,
        transfer: reader.get(&TRANSFER)?,
        block: reader.get(&BLOCK)?.get(),
        per_cylinder: reader.get(&PER_CYLINDER)?.get(),
        capacity: reader.get(&CAPACITY)?,
    };
    if [facts.turn, facts.transfer] == [Span::ZERO; 2] {
        let message = "the device takes no time where its arm stands";
        let hint = "give it a `turn` or a `transfer` above zero";
        return Err(JobError::new(message).at(reader.origin(&TRANSFER)).hint(hint));
    }
    if longest(&facts) > Time::LAST.since(Time::ZERO) {
        let message = "the device takes more than a hundred years for the longest requests (4GiB)";
        return Err(JobError::new(message).at(reader.origin(&SEEK)).hint("lower its times"));
    }
    Ok(LinearSpec(facts))
}

/// Returns the longest service time of a request.
fn longest(facts: &LinearFacts) -> Span {
    let blocks = facts.capacity.div_ceil(facts.block.into());
    let most = u64::from(u32::MAX.div_ceil(facts.block)) + 1;
    facts.seek.share(blocks / u64::from(facts.per_cylinder), 1)
        + facts.turn
        + facts.transfer.share(most, 1)
}

impl LinearSpec {
    pub(super) fn rows(&self, rows: Rows) -> Rows {
        let LinearFacts { seek, turn, latency, transfer, block, per_cylinder, capacity } = self.0;
        rows.put(&SEEK, &seek)
            .put(&TURN, &turn)
            .put(&LATENCY, &latency)
            .put(&TRANSFER, &transfer)
            .put(&BLOCK, &usual(block))
            .put(&PER_CYLINDER, &usual(per_cylinder))
            .put(&CAPACITY, &capacity)
    }

    /// Returns the most memory in bytes that the disk takes.
    pub(super) fn memory() -> u64 {
        COMMAND
    }

    /// Builds the disk `number`, observed by `watch`; its waits for the platter derive from `seed`.
    pub(super) fn build(
        &self,
        seed: Seed,
        number: u32,
        watch: Option<Rc<dyn Watch>>,
    ) -> Box<dyn Device> {
        let disk = Linear::new(self.0, seed.stream("platter", number.into()));
        Box::new(match watch {
            Some(watch) => disk.observed(move |at, access| watch.accessed(at, access)),
            None => disk,
        })
    }
}
