//! The data of verified writes: each block identifies itself.
//!
//! A block is a function of its file, its offset, its version and the seed, so it can be computed again and
//! compared. Its first sector has these four and a checksum, so that an unexpected block can be identified: an
//! older version, a block of another place, or one with changed bits. Each sector begins as
//! [`fill`](crate::filling::fill) makes it, so that a device is known to hold data of runs.

use crate::filling::{SECTOR, tag};

/// The size of a block in bytes: writes are recorded and checked in whole blocks.
pub const BLOCK: u32 = 4096;

/// The size of a word in bytes: blocks are made and compared in words.
pub(crate) const WORD: usize = 8;

/// The offset of the stamp: after the random bytes and their tag.
const STAMP: usize = 16;

const MAGIC: u32 = u32::from_le_bytes(*b"pstv");

/// The properties that all blocks of a file share.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Stamp {
    /// The file: a number computed from its name.
    pub(crate) file: u64,
    pub(crate) seed: u64,
}

/// The properties of a block that its stamp states.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Stamped {
    pub(crate) stamp: Stamp,
    pub(crate) offset: u64,
    pub(crate) version: u32,
    /// Whether the checksum is right.
    pub(crate) is_whole: bool,
}

/// Returns the number for the file called `name`.
pub(crate) fn file_number(name: &[u8]) -> u64 {
    name.iter().fold(0, |sum, &byte| mix(sum ^ u64::from(byte)))
}

/// The finaliser of `SplitMix64` (Steele, Lea and Flood, 2014).
#[inline]
pub(crate) const fn mix(word: u64) -> u64 {
    let word = word.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

impl Stamp {
    /// Makes `version` of the block at `offset`.
    pub(crate) fn make(self, offset: u64, version: u32, block: &mut [u8]) {
        let key = mix(mix(mix(self.file) ^ offset) ^ mix(self.seed ^ mix(version.into())));
        for (number, word) in (0_u64..).zip(block.chunks_exact_mut(WORD)) {
            word.copy_from_slice(&mix(key ^ number).to_le_bytes());
        }
        for sector in block.chunks_exact_mut(SECTOR) {
            let tag = tag(sector);
            sector[8..16].copy_from_slice(&tag);
        }
        let first = u64::from(MAGIC) | u64::from(version) << 32;
        let stamp = [first, self.file, offset, self.seed, 0];
        for (word, value) in block[STAMP..].chunks_exact_mut(WORD).zip(stamp) {
            word.copy_from_slice(&value.to_le_bytes());
        }
        let sum = checksum(block);
        block[CHECKSUM..CHECKSUM + WORD].copy_from_slice(&sum.to_le_bytes());
    }

    /// Returns the version in the stamp of `block`, if that is for this file and `offset`.
    pub(crate) fn version(self, offset: u64, block: &[u8]) -> Option<u32> {
        let at = |number: usize| word(block, STAMP + number * WORD);
        let own = at(0) as u32 == MAGIC && (at(1), at(2), at(3)) == (self.file, offset, self.seed);
        own.then(|| (at(0) >> 32) as u32)
    }
}

/// Returns what the stamp of `block` states; `None` without a stamp.
pub(crate) fn read(block: &[u8]) -> Option<Stamped> {
    let at = |number: usize| word(block, STAMP + number * WORD);
    (at(0) as u32 == MAGIC).then(|| Stamped {
        stamp: Stamp { file: at(1), seed: at(3) },
        offset: at(2),
        version: (at(0) >> 32) as u32,
        is_whole: at(4) == checksum(block),
    })
}

/// The offset of the checksum, which covers everything else.
const CHECKSUM: usize = STAMP + 4 * WORD;

fn checksum(block: &[u8]) -> u64 {
    let words = block.chunks_exact(WORD).enumerate();
    let words = words.filter(|(number, _)| number * WORD != CHECKSUM);
    words.fold(0, |sum: u64, (_, bytes)| {
        let word = u64::from_le_bytes(bytes.try_into().expect("eight bytes"));
        (sum ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29)
    })
}

/// Returns the word of `block` at byte `at`.
fn word(block: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(block[at..at + WORD].try_into().expect("eight bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filling::holds_no_data;

    const STAMP_OF_TEST: Stamp = Stamp { file: 7, seed: 42 };

    fn block(offset: u64, version: u32) -> Vec<u8> {
        let mut block = vec![0; BLOCK as usize];
        STAMP_OF_TEST.make(offset, version, &mut block);
        block
    }

    #[test]
    fn a_block_is_a_function_of_what_it_says() {
        assert_eq!(block(8192, 3), block(8192, 3));
        let one = block(8192, 3);
        for other in [block(8192, 4), block(4096, 3)] {
            let equal = other.chunks(8).zip(one.chunks(8)).filter(|(a, b)| a == b);
            assert!(equal.count() < 8, "only parts of the stamp are alike");
        }
        let found = read(&block(8192, 3)).unwrap();
        let expected = Stamped { stamp: STAMP_OF_TEST, offset: 8192, version: 3, is_whole: true };
        assert_eq!(found, expected);
        assert_eq!(STAMP_OF_TEST.version(8192, &block(8192, 3)), Some(3));
        assert_eq!(STAMP_OF_TEST.version(4096, &block(8192, 3)), None);
        assert_eq!(read(&[0; BLOCK as usize]), None);
    }

    #[test]
    fn the_checksum_is_wrong_after_any_changed_bit() {
        for bit in (0..BLOCK as usize * 8).step_by(37) {
            let mut changed = block(0, 1);
            changed[bit / 8] ^= 1 << (bit % 8);
            assert!(read(&changed).is_none_or(|found| !found.is_whole), "bit {bit}");
        }
    }

    #[test]
    fn it_is_recognised_as_data_of_a_run() {
        assert!(holds_no_data(&block(1 << 40, 9)));
    }
}
