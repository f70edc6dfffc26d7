//! Whether the data of an agent is verified, and what that asks of the agents around it.
//!
//! A verified write must cover whole blocks, and no write without a stamp may lie where stamps are written or
//! checked.

use std::ops::Range;

use penstock_core::Op;
use penstock_workload::{Agent, Ops};
use serde_json::{Value as Json, json};

use crate::diagnose::{JobError, Origin};
use crate::kinds::Choice;
use crate::units::size_text;
use crate::workload::extent::Extent;

/// Bytes of a block that is stamped and checked as a whole.
pub(crate) const BLOCK: u32 = penstock_live::VERIFIED_BLOCK;

/// What of an agent's data is verified.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verify {
    /// Its writes carry a stamp and are recorded.
    Write,
    /// Its reads are compared with what is recorded.
    Read,
    /// Both, and all that was written is read again at the end.
    Both,
}

const WRITE: &str = "write";
const READ: &str = "read";
const BOTH: &str = "both";

pub(crate) const KIND: Choice<Verify> =
    Choice(&[(WRITE, Verify::Write), (READ, Verify::Read), (BOTH, Verify::Both)]);

/// The words for an agent that only reads, and for every other.
pub(crate) fn words(writes: bool) -> Json {
    json!({"enum": if writes { vec![WRITE, BOTH] } else { vec![READ] }})
}

impl Verify {
    /// Whether writes carry a stamp.
    pub const fn stamps(self) -> bool {
        matches!(self, Self::Write | Self::Both)
    }

    /// Whether reads are compared.
    pub const fn checks(self) -> bool {
        matches!(self, Self::Read | Self::Both)
    }

    /// That it goes with what the agent asks for.
    pub(crate) fn goes_with(self, ops: Ops, origin: &Origin) -> Result<(), JobError> {
        let only_reads = ops == Ops::Only(Op::Read);
        let (found, hint) = match (self, only_reads) {
            (Self::Write | Self::Both, true) => (
                "the agent only reads, so it writes nothing to verify",
                "`verify = \"read\"` compares what it reads with what an earlier job wrote",
            ),
            (Self::Read, false) => (
                "`verify = \"read\"` belongs to an agent that only reads, and this one writes",
                "`verify = \"both\"` stamps its writes and checks its reads",
            ),
            _ => return Ok(()),
        };
        Err(JobError::new(found).at(origin).hint(hint))
    }
}

/// That `bytes` of `what` of a verified agent are not whole blocks.
pub(crate) fn uneven(what: &str, bytes: u64, origin: &Origin) -> JobError {
    let [size, block] = [bytes, BLOCK.into()].map(size_text);
    let found = format!("{what} {size}; data is verified in whole blocks of {block}");
    let hint = match size_text(bytes.next_multiple_of(BLOCK.into())) {
        _ if bytes == 0 => "leave it out, or leave `verify` out".into(),
        more => format!("a multiple of that, as {more}, or leave `verify` out"),
    };
    JobError::new(found).at(origin).hint(hint)
}

/// What of a target is verified, in bytes.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct VerifiedRanges {
    /// Where writes carry a stamp.
    pub stamped: Vec<Range<u64>>,
    /// Where reads are compared.
    pub checked: Vec<Range<u64>>,
    /// What is read again at the end.
    pub read_again: Vec<Range<u64>>,
}

impl VerifiedRanges {
    /// What of them is on `device`, from its first byte on.
    #[must_use]
    pub fn within(&self, device: Extent) -> Self {
        let end = device.base.saturating_add(device.capacity);
        let within = |ranges: &[Range<u64>]| {
            let here = |range: &Range<u64>| {
                // Ranges of neighbours may be one.
                let (from, to) = (range.start.max(device.base), range.end.min(end));
                (from < to).then(|| from - device.base..to - device.base)
            };
            ranges.iter().filter_map(here).collect()
        };
        Self {
            stamped: within(&self.stamped),
            checked: within(&self.checked),
            read_again: within(&self.read_again),
        }
    }

    /// Those of `agents` on these devices, each with what of it is verified, if anything, and where it says so, or
    /// else what it asks for.
    ///
    /// # Errors
    /// An agent writes without a stamp where stamps are written or checked; a region that does not begin with a
    /// block.
    pub(crate) fn of<'a>(
        devices: &[Extent],
        agents: impl Iterator<Item = (&'a Agent, Option<Verify>, &'a Origin)> + Clone,
    ) -> Result<Self, JobError> {
        let mut ranges = Self::default();
        for (agent, verify, origin) in agents.clone() {
            let Some(verify) = verify else { continue };
            let block = u64::from(BLOCK);
            let device = devices.iter().rfind(|device| device.base <= agent.region.start);
            let base = device.map_or(0, |device| device.base);
            let (from, to) = (agent.region.start - base, agent.region.end - base);
            if !from.is_multiple_of(block) {
                return Err(uneven("a region that begins at", from, origin));
            }
            let region = agent.region.start..base + to / block * block;
            if verify.stamps() {
                ranges.stamped.push(region.clone());
            }
            if verify.checks() {
                ranges.checked.push(region.clone());
            }
            if verify == Verify::Both {
                ranges.read_again.push(region);
            }
        }
        // Copies may be many: the ranges are joined before each is looked for.
        let Self { stamped, checked, read_again } = &mut ranges;
        [stamped, checked, read_again].into_iter().for_each(joined);
        for (agent, _, origin) in agents.filter(|(_, verify, _)| verify.is_none()) {
            let verified = [&ranges.stamped, &ranges.checked];
            if agent.ops.writes() && verified.iter().any(|all| meets(all, &agent.region)) {
                let found =
                    "this agent writes without `verify` where another agent's data is verified";
                let hint = "its writes would be taken for damage: give it `verify = \"write\"`, or a region of \
                            its own";
                return Err(JobError::new(found).at(origin).hint(hint));
            }
        }
        Ok(ranges)
    }
}

/// Makes of `ranges` some that lie apart, in ascending order.
fn joined(ranges: &mut Vec<Range<u64>>) {
    ranges.sort_unstable_by_key(|range| range.start);
    ranges.dedup_by(|next, last| {
        let meet = next.start <= last.end;
        if meet {
            last.end = last.end.max(next.end);
        }
        meet
    });
}

/// Whether a range of `all`, which lie apart in ascending order, has a byte of `region`.
fn meets(all: &[Range<u64>], region: &Range<u64>) -> bool {
    let behind = all.partition_point(|range| range.end <= region.start);
    all.get(behind).is_some_and(|range| range.start < region.end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_that_meet_are_one() {
        let mut ranges = vec![20..30, 0..5, 5..8, 6..7, 40..41];
        joined(&mut ranges);
        assert_eq!(ranges, [0..8, 20..30, 40..41]);
        assert!(meets(&ranges, &(7..20)) && meets(&ranges, &(29..60)) && meets(&ranges, &(0..50)));
        assert!(!meets(&ranges, &(8..20)) && !meets(&ranges, &(41..99)));
    }
}
