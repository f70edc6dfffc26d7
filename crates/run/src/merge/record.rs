//! What runs are made of: lines, or records of one length with a key in them.

use std::cmp::Ordering;

/// How a run is divided into records, and what of one is compared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum RecordFormat {
    /// Lines, which are compared as a whole, byte by byte.
    Lines,
    /// Records of `length` bytes, of which those from `key` up to `end` are compared.
    Fixed { length: usize, key: usize, end: usize },
}

impl RecordFormat {
    /// Bytes of the record that `bytes` begin with, if all of it is there.
    pub(super) fn first(self, bytes: &[u8]) -> Option<usize> {
        match self {
            Self::Lines => memchr::memchr(b'\n', bytes).map(|end| end + 1),
            Self::Fixed { length, .. } => (length <= bytes.len()).then_some(length),
        }
    }

    /// How many of `bytes`, behind the `before` bytes of a record that came first, complete it.
    pub(super) fn completes(self, before: usize, bytes: &[u8]) -> Option<usize> {
        match self {
            Self::Lines => self.first(bytes),
            Self::Fixed { length, .. } => {
                let lacks = length - before;
                (lacks <= bytes.len()).then_some(lacks)
            }
        }
    }

    /// What of `record` is compared.
    pub(super) fn key(self, record: &[u8]) -> &[u8] {
        match self {
            // The end of a line is below every byte of a longer one.
            Self::Lines => &record[..record.len() - 1],
            Self::Fixed { key, end, .. } => &record[key..end],
        }
    }
}

/// The beginning of `key` as a number: of two keys the one with the lower number is the lower one.
pub(super) fn prefix(key: &[u8]) -> u64 {
    if let Some(first) = key.first_chunk() {
        return u64::from_be_bytes(*first);
    }
    let mut first = [0; 8];
    first[..key.len()].copy_from_slice(key);
    u64::from_be_bytes(first)
}

/// The order of two keys with the same [`prefix`].
pub(super) fn compare(one: &[u8], other: &[u8]) -> Ordering {
    // Short keys may have a prefix in common with longer ones that go on with zeros.
    match (one.get(8..), other.get(8..)) {
        (Some(one), Some(other)) => one.cmp(other),
        _ => one.cmp(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefix_and_rest_order_keys_as_their_bytes_do() {
        let keys: [&[u8]; 9] = [
            b"",
            b"\0",
            b"\0\0\0\0\0\0\0\0",
            b"\0\0\0\0\0\0\0\0\0",
            b"a",
            b"a\0",
            b"abcdefgh",
            b"abcdefghi",
            b"\xff",
        ];
        for (at, one) in keys.iter().enumerate() {
            for (to, other) in keys.iter().enumerate() {
                let found = prefix(one).cmp(&prefix(other)).then_with(|| compare(one, other));
                assert_eq!(found, at.cmp(&to), "{one:?} and {other:?}");
            }
        }
    }
}
