//! Limits of a gate.

/// Maximum bytes of one request; longer ones are sent in equal parts, one after another.
pub(super) const LONGEST: u32 = 4 << 20;

/// Maximum number of requests in flight; the caller of one more waits.
pub(super) const MOST: u32 = 1024;

/// Splits `len` bytes into equal parts of at most [`LONGEST`] bytes, so that the last is not short.
pub(super) fn parts(len: usize) -> impl Iterator<Item = std::ops::Range<usize>> {
    let each = len.div_ceil(len.div_ceil(LONGEST as usize).max(1)).max(1);
    (0..len).step_by(each).map(move |from| from..len.min(from + each))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_write_has_no_short_end() {
        let longest = LONGEST as usize;
        let lens = |len| parts(len).map(|part| part.len()).collect::<Vec<_>>();
        assert_eq!(lens(0), [0_usize; 0]);
        assert_eq!(lens(longest), [longest]);
        assert_eq!(lens(longest + 2), [longest / 2 + 1, longest / 2 + 1]);
        assert_eq!(lens(1_000), [1_000]);
    }
}
