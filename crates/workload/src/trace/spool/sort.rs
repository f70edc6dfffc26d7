//! Sorts a list of any length: pieces that fit memory, which are merged as they are read.
//!
//! A list that is in order but for neighbours of a piece is not written a second time. Else pieces
//! are opened when their first item is due, so that of a list of several ordered parts about as many
//! pieces are open as there are parts.

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
    /// The same list in order of `key`; items of equal keys keep their order.
    ///
    /// # Errors
    /// If the temporary file cannot be read or written.
    pub(in super::super) fn sorted_by_key<K: Ord + Copy>(
        mut self,
        key: impl Fn(&T) -> K,
    ) -> io::Result<Self> {
        if self.filed == 0 {
            self.memory.sort_by_key(key);
            return Ok(self);
        }
        let (mut pieces, ordered) = self.sort_pieces(&key)?;
        if ordered {
            return Ok(self);
        }
        // Of equal keys those of the earlier piece come first.
        pieces.sort_by_key(|piece| (piece.first, piece.begin));
        let mut sorted = Self::with_most(self.most);
        let mut open: Vec<Iter<'_, T>> = Vec::new();
        // The next items of open pieces, by key, by where their piece begins, with its number.
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
                // Its buffer is given back.
                open[number] = self.part(0, 0, 0);
            }
        }
        self.check()?;
        Ok(sorted)
    }

    /// Sorts each piece of the file, and what is in memory, in its place. Returns the pieces, and
    /// whether the whole is in order.
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
        let mut items = Vec::with_capacity(self.most);
        for begin in (0..self.filed).step_by(self.most) {
            let count = self.most.min(self.filed - begin);
            self.read(begin, count, &mut items)?;
            if !items.is_sorted_by_key(key) {
                items.sort_by_key(key);
                write(self.file()?, begin, &items)?;
            }
            note(&items, begin);
        }
        note(&memory, self.filed);
        self.memory = memory;
        Ok((pieces, ordered))
    }

    /// Puts `count` items of the file into `items`, from the one numbered `begin` on.
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
        let mut spool = Spool::with_most(most);
        for &item in items {
            spool.push(item).unwrap();
        }
        // The low digit says where an item stood: it is no part of the key.
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

    /// Two parts, each in order, as of two devices whose files were joined.
    #[test]
    fn ordered_parts_are_merged() {
        let items: Vec<u64> = (0..1000).chain(0..1000).map(|key| key << 8).collect();
        let mut expected = items.clone();
        expected.sort_unstable();
        assert_eq!(sorted(&items, 10), expected);
    }
}
