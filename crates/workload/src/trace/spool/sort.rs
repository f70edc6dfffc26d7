//! Sorts a list of any length: sorts pieces that fit in memory, then merges them.
//!
//! If items are out of order only within pieces, the list is not written a second time. Otherwise
//! pieces are opened when their first item is due, so that for a list made of several ordered parts
//! about as many pieces are open as there are parts.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;
use std::os::unix::fs::FileExt;

use super::{Iter, Packed, Spool, offset, unpack, write};

/// Bytes of the buffer of each piece while pieces are merged.
const MERGE_BYTES: usize = 4 << 10;

/// A piece of the list, in order.
struct SortedPiece<K> {
    first: K,
    begin: usize,
    end: usize,
}

impl<T: Packed> Spool<T> {
    /// Sorts the list by `key`. Items with equal keys keep their order.
    ///
    /// # Errors
    /// If the temporary file cannot be read or written.
    pub(in super::super) fn sorted_by_key<K: Ord + Copy>(
        mut self,
        key: impl Fn(&T) -> K,
    ) -> io::Result<Self> {
        if self.in_file == 0 {
            self.memory.sort_by_key(key);
            return Ok(self);
        }
        let (mut pieces, ordered) = self.sort_pieces(&key)?;
        if ordered {
            return Ok(self);
        }
        // At equal keys the earlier piece comes first.
        pieces.sort_by_key(|piece| (piece.first, piece.begin));
        let mut sorted = Self::with_limit(self.memory_most);
        let mut open: Vec<Iter<'_, T>> = Vec::new();
        // For each open piece: the key of its next item, its beginning, and its index in `open`.
        let mut next = BinaryHeap::new();
        let mut items: Vec<T> = Vec::new();
        let mut closed = pieces.iter().peekable();
        loop {
            let due = |piece: &&SortedPiece<K>| match next.peek() {
                Some(&Reverse((key, begin, _))) => (piece.first, piece.begin) < (key, begin),
                None => true,
            };
            if let Some(piece) = closed.next_if(due) {
                let mut iter = self.part(piece.begin, piece.end, MERGE_BYTES);
                if let Some(item) = iter.next() {
                    next.push(Reverse((key(&item), piece.begin, open.len())));
                    items.push(item);
                    open.push(iter);
                }
                continue;
            }
            let Some(Reverse((_, begin, number))) = next.pop() else { break };
            sorted.push(items[number])?;
            if let Some(item) = open[number].next() {
                items[number] = item;
                next.push(Reverse((key(&item), begin, number)));
            } else {
                // Frees its buffer.
                open[number] = self.part(0, 0, 0);
            }
        }
        self.check()?;
        Ok(sorted)
    }

    /// Sorts each piece of the file and the items in memory in place. Returns the pieces, and
    /// whether the whole list is in order.
    fn sort_pieces<K: Ord + Copy>(
        &mut self,
        key: &impl Fn(&T) -> K,
    ) -> io::Result<(Vec<SortedPiece<K>>, bool)> {
        let mut memory = std::mem::take(&mut self.memory);
        memory.sort_by_key(key);
        let (mut pieces, mut last, mut ordered) = (Vec::new(), None, true);
        let mut note = |items: &[T], begin: usize| {
            let (Some(first), Some(end)) = (items.first(), items.last()) else { return };
            let first = key(first);
            ordered &= last.is_none_or(|last| last <= first);
            last = Some(key(end));
            pieces.push(SortedPiece { first, begin, end: begin + items.len() });
        };
        let mut items = Vec::with_capacity(self.memory_most);
        for begin in (0..self.in_file).step_by(self.memory_most) {
            let count = self.memory_most.min(self.in_file - begin);
            self.read(begin, count, &mut items)?;
            if !items.is_sorted_by_key(key) {
                items.sort_by_key(key);
                write(self.file()?, begin, &items)?;
            }
            note(&items, begin);
        }
        note(&memory, self.in_file);
        self.memory = memory;
        Ok((pieces, ordered))
    }

    /// Reads `count` items of the file into `items`, from the one numbered `begin` on.
    fn read(&self, begin: usize, count: usize, items: &mut Vec<T>) -> io::Result<()> {
        let mut bytes = vec![0; count * T::BYTES];
        self.file()?.read_exact_at(&mut bytes, offset::<T>(begin))?;
        items.clear();
        items.extend(bytes.chunks(T::BYTES).map(unpack::<T>));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn sorted(items: &[u64], most: usize) -> Vec<u64> {
        let mut spool = Spool::with_limit(most);
        for &item in items {
            spool.push(item).unwrap();
        }
        // The low byte is the position of an item and not part of the key.
        spool.sorted_by_key(|item| item >> 8).unwrap().iter().collect()
    }

    proptest! {
        #[test]
        fn sorts_as_a_list_in_memory(
            keys in proptest::collection::vec(0_u64..20, 0..200),
            most in 1_usize..50,
        ) {
            let items: Vec<u64> =
                keys.iter().enumerate().map(|(at, key)| key << 8 | at as u64).collect();
            let mut expected = items.clone();
            expected.sort_by_key(|item| item >> 8);
            prop_assert_eq!(sorted(&items, most), expected);
        }
    }

    /// Two parts, each in order, as in the concatenated files of two devices.
    #[test]
    fn ordered_parts_are_merged() {
        let items: Vec<u64> = (0..1000).chain(0..1000).map(|key| key << 8).collect();
        let mut expected = items.clone();
        expected.sort_unstable();
        assert_eq!(sorted(&items, 10), expected);
    }
}
