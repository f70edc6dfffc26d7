//! The data of a pass: what its writes carry, and what its reads expect.
//!
//! Without verification every write has the same bytes. With it each block of 512 bytes is a function of the file,
//! its offset, the number of the pass that wrote it, and the seed; a read compares all of its blocks.

use std::ops::RangeInclusive;

use crate::filling::SECTOR;
use crate::record::stamp::{self, Stamp, WORD};

/// The bytes that are the data of an earlier pass, or of another place.
const ELSEWHERE: &str = ", which is data of another pass or place";

/// Data of a pass.
#[derive(Clone)]
pub(crate) struct PassData {
    stamping: Option<Stamping>,
}

/// The stamps of a file.
#[derive(Clone)]
struct Stamping {
    stamp: Stamp,
    /// The passes whose data may be in the file. Writes are of the last.
    passes: RangeInclusive<u32>,
    /// The pass of the last block that was right.
    last: u32,
    /// Memory for a comparison.
    made: Box<[u8]>,
}

/// The first word of the data that was read and differs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct DifferentWord {
    /// Its offset in the file.
    pub(crate) offset: u64,
    pub(crate) expected: u64,
    pub(crate) actual: u64,
    pub(crate) remark: &'static str,
}

impl PassData {
    /// Data that is not verified.
    pub(crate) fn any() -> Self {
        Self { stamping: None }
    }

    /// Data with `stamp`, of which `passes` may be in the file; writes are of the last of them.
    pub(crate) fn stamped(stamp: Stamp, passes: RangeInclusive<u32>) -> Self {
        let (last, made) = (*passes.end(), vec![0; SECTOR].into());
        Self { stamping: Some(Stamping { stamp, passes, last, made }) }
    }

    /// Makes the data of a write to byte `at` of the file, unless `bytes` may be written as they are.
    #[inline]
    pub(crate) fn prepare(&self, at: u64, bytes: &mut [u8]) {
        if let Some(Stamping { stamp, passes, .. }) = &self.stamping {
            for (offset, block) in (at..).step_by(SECTOR).zip(bytes.chunks_exact_mut(SECTOR)) {
                stamp.make(offset, *passes.end(), block);
            }
        }
    }

    /// Compares `bytes`, which were read from byte `at` of the file.
    ///
    /// # Errors
    /// The first word that differs.
    #[inline]
    pub(crate) fn check(&mut self, at: u64, bytes: &[u8]) -> Result<(), DifferentWord> {
        match &mut self.stamping {
            Some(stamping) => stamping.check(at, bytes),
            None => Ok(()),
        }
    }
}

impl Stamping {
    fn check(&mut self, at: u64, bytes: &[u8]) -> Result<(), DifferentWord> {
        for (offset, block) in (at..).step_by(SECTOR).zip(bytes.chunks_exact(SECTOR)) {
            let pass = self.stamp.version(offset, block).filter(|pass| self.passes.contains(pass));
            let Some(pass) = pass.filter(|&pass| self.equals(offset, pass, block)) else {
                return Err(self.difference(offset, block));
            };
            self.last = pass;
        }
        Ok(())
    }

    fn equals(&mut self, offset: u64, pass: u32, block: &[u8]) -> bool {
        self.stamp.make(offset, pass, &mut self.made);
        *self.made == *block
    }

    /// Returns the first word in which `block` differs from the pass that it resembles most.
    fn difference(&mut self, offset: u64, block: &[u8]) -> DifferentWord {
        let stated = self.stamp.version(offset, block).filter(|pass| self.passes.contains(pass));
        let passes = stated.into_iter().chain([self.last]);
        let passes = passes.filter(|pass| self.passes.contains(pass)).collect::<Vec<_>>();
        let mut bits = |pass: u32| {
            self.stamp.make(offset, pass, &mut self.made);
            let pairs = self.made.iter().zip(block);
            pairs.map(|(made, read)| (made ^ read).count_ones()).sum::<u32>()
        };
        let likely = passes.into_iter().min_by_key(|&pass| bits(pass)).unwrap_or(self.last);
        self.stamp.make(offset, likely, &mut self.made);
        let word = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().expect("eight bytes"));
        let mut words = self.made.chunks_exact(WORD).zip(block.chunks_exact(WORD)).enumerate();
        let differs = |(number, (made, read)): (usize, (&[u8], &[u8]))| {
            (made != read).then(|| (number, word(made), word(read)))
        };
        let (number, expected, actual) =
            words.find_map(differs).expect("the block is not that of this pass");
        let elsewhere = stamp::read(block).is_some_and(|stamped| stamped.is_whole);
        let remark = if elsewhere { ELSEWHERE } else { "" };
        DifferentWord { offset: offset + (number * WORD) as u64, expected, actual, remark }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STAMP: Stamp = Stamp { file: 7, seed: 42 };

    fn written(at: u64, pass: u32) -> Vec<u8> {
        let mut bytes = vec![0; 2048];
        PassData::stamped(STAMP, 1..=pass).prepare(at, &mut bytes);
        bytes
    }

    #[test]
    fn data_of_the_passes_that_may_be_there_is_right() {
        let mut data = PassData::stamped(STAMP, 2..=4);
        for pass in 2..=4 {
            assert_eq!(data.check(8192, &written(8192, pass)), Ok(()));
        }
        let mixed = [&written(8192, 2)[..512], &written(8704, 4)[..512]].concat();
        assert_eq!(data.check(8192, &mixed), Ok(()));
        for (at, pass) in [(8192, 1), (8192, 5), (4096, 3)] {
            let word = data.check(8192, &written(at, pass)).unwrap_err();
            assert_eq!(word.remark, ELSEWHERE, "of byte {at} and pass {pass}");
        }
    }

    #[test]
    fn every_flipped_bit_is_a_difference_at_its_word() {
        let mut data = PassData::stamped(STAMP, 1..=3);
        data.check(0, &written(0, 2)).unwrap();
        for bit in (0..2048 * 8).step_by(61) {
            let mut bytes = written(4096, 2);
            bytes[bit / 8] ^= 1 << (bit % 8);
            let word = data.check(4096, &bytes).unwrap_err();
            let at = (word.offset - 4096) as usize;
            assert_eq!(at, bit / 64 * 8);
            assert_eq!((word.expected ^ word.actual).count_ones(), 1);
            assert_eq!(word.actual.to_le_bytes(), bytes[at..at + 8]);
            assert_eq!(word.remark, "");
        }
    }

    #[test]
    fn data_that_no_pass_wrote_is_a_difference() {
        let mut data = PassData::stamped(STAMP, 1..=1);
        assert_eq!(data.check(512, &[0; 512]).unwrap_err().offset, 512);
    }
}
