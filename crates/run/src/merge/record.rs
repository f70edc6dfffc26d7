//! Records of runs: lines, or records of a fixed length with a key in them.

use std::cmp::Ordering;

/// How a run is divided into records, and which bytes of a record are its key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum RecordFormat {
    /// Lines. The key is the whole line.
    Lines,
    /// Records of `length` bytes. The key is the bytes from `key` to `end`.
    Fixed { length: usize, key: usize, end: usize },
}

impl RecordFormat {
    /// Returns the length of the record at the beginning of `bytes`; `None` if its end is missing.
    pub(super) fn first(self, bytes: &[u8]) -> Option<usize> {
        match self {
            Self::Lines => memchr::memchr(b'\n', bytes).map(|end| end + 1),
            Self::Fixed { length, .. } => (length <= bytes.len()).then_some(length),
        }
    }

    /// Returns how many of `bytes` complete a record of which `before` bytes came before; `None` if its
    /// end is missing.
    pub(super) fn completes(self, before: usize, bytes: &[u8]) -> Option<usize> {
        match self {
            Self::Lines => self.first(bytes),
            Self::Fixed { length, .. } => {
                let lacks = length - before;
                (lacks <= bytes.len()).then_some(lacks)
            }
        }
    }

    /// Returns the key of `record`.
    pub(super) fn key(self, record: &[u8]) -> &[u8] {
        match self {
            // The end of a line is below every byte of a longer one.
            Self::Lines => &record[..record.len() - 1],
            Self::Fixed { key, end, .. } => &record[key..end],
        }
    }
}

/// Returns the first eight bytes of `key` as a number. The key with the lower number is the lower key.
pub(super) fn prefix(key: &[u8]) -> u64 {
    if let Some(first) = key.first_chunk() {
        return u64::from_be_bytes(*first);
    }
    let mut first = [0; 8];
    first[..key.len()].copy_from_slice(key);
    u64::from_be_bytes(first)
}

/// Compares two keys with the same [`prefix`].
pub(super) fn compare(a: &[u8], b: &[u8]) -> Ordering {
    // Short keys may have a prefix in common with longer ones that go on with zeros.
    match (a.get(8..), b.get(8..)) {
        (Some(a), Some(b)) => a.cmp(b),
        _ => a.cmp(b),
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
        for (i, a) in keys.iter().enumerate() {
            for (j, b) in keys.iter().enumerate() {
                let order = prefix(a).cmp(&prefix(b)).then_with(|| compare(a, b));
                assert_eq!(order, i.cmp(&j), "{a:?} and {b:?}");
            }
        }
    }
}
