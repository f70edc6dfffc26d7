//! Blocks that were read, compared with the versions that may lie there.

use crate::record::block_record::Known;
use crate::record::record_file::RecordFile;
use crate::record::stamp::{self, BLOCK, WORD};

/// The most versions that a block may be a mix of: with more, it is not checked.
const MIXED_MOST: usize = 64;

/// The most changed bits with which a block counts as damaged rather than as another one.
const DAMAGED_MOST: u32 = 1024;

/// The knowledge of a block when its read began, and when it ended.
pub(super) struct Moment {
    pub(super) before: Known,
    pub(super) after: Known,
}

impl Moment {
    /// Returns the versions that began in between.
    fn newer(&self) -> std::ops::RangeInclusive<u32> {
        self.before.latest() + 1..=self.after.latest()
    }

    /// Returns the versions with data that the read may have returned.
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

    pub(super) fn expected(&self) -> String {
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
pub(super) struct Scratch {
    block: Box<[u8]>,
    matched: Box<[bool]>,
}

impl Scratch {
    pub(super) fn new() -> Self {
        let block = vec![0; BLOCK as usize].into_boxed_slice();
        Self { block, matched: vec![false; BLOCK as usize / WORD].into_boxed_slice() }
    }
}

/// The result of a comparison.
pub(super) enum Answer {
    Equal,
    /// The block cannot be judged.
    Unknown,
    Different,
}

/// Compares `block`, which was read at `offset`, with the versions that may be there.
pub(super) fn compare(
    record: &RecordFile,
    scratch: &mut Scratch,
    block: &[u8],
    offset: u64,
    moment: &Moment,
) -> Answer {
    let stamp = record.stamp();
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
        // One of them may have been a discard that is superseded by now.
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
    if scratch.matched.iter().all(|&matched| matched) { Answer::Equal } else { Answer::Different }
}

/// Describes what `block`, which was read at `offset`, contains.
pub(super) fn describe(record: &RecordFile, block: &[u8], offset: u64, moment: &Moment) -> String {
    let stamp = record.stamp();
    let stamped = stamp::read(block);
    let own = stamped.filter(|stamped| (stamped.stamp, stamped.offset) == (stamp, offset));
    let mut made = vec![0; block.len()];
    let candidates = moment.data().take(MIXED_MOST).chain(own.map(|own| own.version));
    let similar = candidates.map(|version| {
        stamp.make(offset, version, &mut made);
        let (bits, first) = changed_bits(&made, block);
        (bits, first, version)
    });
    if let Some((bits, first, version)) = similar.min().filter(|(bits, ..)| *bits <= DAMAGED_MOST) {
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
    match stamped {
        Some(stamped) if stamped.is_whole && stamped.stamp == stamp => {
            format!("the block of byte {}, version {}", stamped.offset, stamped.version)
        }
        Some(stamped) if stamped.is_whole && stamped.stamp.file == stamp.file => {
            format!(
                "version {} of an earlier record, of seed {}",
                stamped.version, stamped.stamp.seed
            )
        }
        Some(stamped) if stamped.is_whole => {
            format!("a block of another file than {}", record.name())
        }
        Some(_) => "a part of a verified block".into(),
        None => "data that no verified write made".into(),
    }
}

/// Returns how many bits of `block` differ from `expected`, and the first byte with such a bit.
fn changed_bits(expected: &[u8], block: &[u8]) -> (u32, u64) {
    let bits = expected.iter().zip(block).map(|(a, b)| (a ^ b).count_ones());
    let first = bits.clone().position(|bits| bits > 0).unwrap_or(0);
    (bits.sum(), first as u64)
}
