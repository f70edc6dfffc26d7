//! Reads whether the data of an agent is verified, and checks the agents around it.
//!
//! A verified write must cover whole blocks, and no write without a stamp may touch a place where
//! stamps are written or checked.

use std::ops::Range;

use penstock_core::Op;
use penstock_workload::{Agent, Ops};
use serde_json::{Value as Json, json};

use crate::diagnose::{JobError, Origin};
use crate::kinds::Choice;
use crate::units::size_text;
use crate::workload::extent::Extent;

/// Bytes of a block, which is stamped and checked as a whole.
pub(crate) const BLOCK: u32 = penstock_live::VERIFIED_BLOCK;

/// The verification of an agent's data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verify {
    /// Writes carry a stamp and are recorded.
    Write,
    /// Reads are compared with the record.
    Read,
    /// Both; at the end all recorded data of its region is read again.
    Both,
}

const WRITE: &str = "write";
const READ: &str = "read";
const BOTH: &str = "both";

pub(crate) const KIND: Choice<Verify> =
    Choice(&[(WRITE, Verify::Write), (READ, Verify::Read), (BOTH, Verify::Both)]);

/// Describes the words for an agent that writes, or for one that only reads.
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

    /// Checks that it suits the operations of the agent.
    pub(crate) fn goes_with(self, ops: Ops, origin: &Origin) -> Result<(), JobError> {
        let only_reads = ops == Ops::Only(Op::Read);
        let (message, hint) = match (self, only_reads) {
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
        Err(JobError::new(message).at(origin).hint(hint))
    }
}

/// Returns the error for `bytes` of a verified agent that are not whole blocks; `subject` names
/// them.
pub(crate) fn uneven(subject: &str, bytes: u64, origin: &Origin) -> JobError {
    let [size, block] = [bytes, BLOCK.into()].map(size_text);
    let message = format!("{subject} {size}; data is verified in whole blocks of {block}");
    let hint = match size_text(bytes.next_multiple_of(BLOCK.into())) {
        _ if bytes == 0 => "leave it out, or leave `verify` out".into(),
        more => format!("a multiple of that, as {more}, or leave `verify` out"),
    };
    JobError::new(message).at(origin).hint(hint)
}

/// The verified ranges of a target, in bytes.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct VerifiedRanges {
    /// Ranges where writes carry a stamp.
    pub stamped: Vec<Range<u64>>,
    /// Ranges where reads are compared.
    pub checked: Vec<Range<u64>>,
    /// Ranges that are read again at the end.
    pub read_again: Vec<Range<u64>>,
}

impl VerifiedRanges {
    /// Returns the ranges on `device`, counted from its first byte.
    #[must_use]
    pub fn within(&self, device: Extent) -> Self {
        let end = device.base.saturating_add(device.capacity);
        let within = |ranges: &[Range<u64>]| {
            let here = |range: &Range<u64>| {
                // A range may reach over several devices.
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

    /// Collects the ranges of `agents` on these devices. Each agent comes with its verification, if
    /// any, and with the place of `verify`, or of its operations.
    ///
    /// # Errors
    /// An agent writes without a stamp where stamps are written or checked, or a region does not
    /// begin with a block.
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
        // There may be many copies: the ranges are joined before they are searched.
        let Self { stamped, checked, read_again } = &mut ranges;
        [stamped, checked, read_again].into_iter().for_each(join);
        for (agent, _, origin) in agents.filter(|(_, verify, _)| verify.is_none()) {
            let verified = [&ranges.stamped, &ranges.checked];
            if agent.ops.writes() && verified.iter().any(|ranges| meets(ranges, &agent.region)) {
                let message =
                    "this agent writes without `verify` where another agent's data is verified";
                let hint = "its writes would be taken for damage: give it `verify = \"write\"`, or a region of \
                            its own";
                return Err(JobError::new(message).at(origin).hint(hint));
            }
        }
        Ok(ranges)
    }
}

/// Sorts `ranges` and joins those that touch.
fn join(ranges: &mut Vec<Range<u64>>) {
    ranges.sort_unstable_by_key(|range| range.start);
    ranges.dedup_by(|next, last| {
        let meet = next.start <= last.end;
        if meet {
            last.end = last.end.max(next.end);
        }
        meet
    });
}

/// Whether one of `ranges`, which are sorted and apart, has a byte of `region`.
fn meets(ranges: &[Range<u64>], region: &Range<u64>) -> bool {
    let behind = ranges.partition_point(|range| range.end <= region.start);
    ranges.get(behind).is_some_and(|range| range.start < region.end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_that_meet_are_one() {
        let mut ranges = vec![20..30, 0..5, 5..8, 6..7, 40..41];
        join(&mut ranges);
        assert_eq!(ranges, [0..8, 20..30, 40..41]);
        assert!(meets(&ranges, &(7..20)) && meets(&ranges, &(29..60)) && meets(&ranges, &(0..50)));
        assert!(!meets(&ranges, &(8..20)) && !meets(&ranges, &(41..99)));
    }
}
