//! Choices drawn from bytes. When the bytes run out, every choice is its first.

use arbitrary::Unstructured;

/// Bytes, and how many of them were used.
pub struct Draw<'a>(Unstructured<'a>);

impl<'a> Draw<'a> {
    /// Draws from `bytes`.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self(Unstructured::new(bytes))
    }

    /// Whether all bytes were used: every further choice is its first.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// A number from `least` to `most`; `least` if the two are in the wrong order.
    pub fn between(&mut self, least: u64, most: u64) -> u64 {
        if least >= most {
            return least;
        }
        self.0.int_in_range(least..=most).unwrap_or(least)
    }

    /// A number from `least` to `most` of any magnitude: small ones are as likely as large ones.
    pub fn magnitude(&mut self, least: u64, most: u64) -> u64 {
        let bits = self.between(0, u64::from((most - least).max(1).ilog2()));
        let span = (1_u64 << bits).min(most - least);
        least + self.between(span / 2, span)
    }

    /// Draws one of `choices`; put the simplest first.
    pub fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.between(0, choices.len() as u64 - 1) as usize]
    }

    /// True in one of `n` cases.
    pub fn one_in(&mut self, n: u64) -> bool {
        self.between(0, n - 1) == n - 1
    }

    /// Returns at most `most` bytes as they come.
    pub fn bytes(&mut self, most: usize) -> &'a [u8] {
        let len = self.between(0, most as u64) as usize;
        self.0.bytes(len.min(self.0.len())).unwrap_or_default()
    }
}
