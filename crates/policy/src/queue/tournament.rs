//! The least of a set of keys that change often: O(log n) for a change, O(1) to read.
//!
//! A winner tree over the slots in one block of memory: an inner node names the slot with the
//! lesser key of its two subtrees.

use alloc::vec;
use alloc::vec::Vec;

/// Slots with keys, all different, and the slot with the least key.
#[derive(Debug)]
pub struct Tournament<K> {
    /// Keys by slot; a slot without a key does not take part.
    keys: Vec<Option<K>>,
    /// Winners by node, from 1 on; the last half are the slots.
    winners: Vec<u32>,
}

impl<K> Default for Tournament<K> {
    fn default() -> Self {
        Self { keys: Vec::new(), winners: Vec::new() }
    }
}

impl<K: Copy + Ord> Tournament<K> {
    /// The slot with the least key.
    pub fn first(&self) -> Option<u32> {
        let winner = *self.winners.get(1)?;
        self.keys[winner as usize].map(|_| winner)
    }

    /// The key of `slot`, if it takes part.
    pub fn key(&self, slot: u32) -> Option<K> {
        self.keys.get(slot as usize).copied().flatten()
    }

    /// Sets the key of `slot`; with `None` it no longer takes part.
    pub fn set(&mut self, slot: u32, key: Option<K>) {
        if slot as usize >= self.keys.len() {
            self.grow(slot as usize + 1);
        }
        self.keys[slot as usize] = key;
        let (mut winner, mut best) = (slot, key);
        let mut below = self.keys.len() + slot as usize;
        while below > 1 {
            let rival = self.winners[below ^ 1];
            let key = self.keys[rival as usize];
            if key.is_some() && best.is_none_or(|best| key < Some(best)) {
                (winner, best) = (rival, key);
            }
            below /= 2;
            // If the same other slot wins as before, nothing changes above.
            if self.winners[below] == winner && winner != slot {
                return;
            }
            self.winners[below] = winner;
        }
    }

    /// The winner of the two subtrees of `node`.
    fn winner(&self, node: usize) -> u32 {
        let [left, right] = [2 * node, 2 * node + 1].map(|below| self.winners[below]);
        match (self.keys[left as usize], self.keys[right as usize]) {
            (Some(left_key), Some(right_key)) if right_key < left_key => right,
            (None, Some(_)) => right,
            _ => left,
        }
    }

    fn grow(&mut self, slots: usize) {
        let slots = slots.next_power_of_two().max(2);
        self.keys.resize(slots, None);
        self.winners = vec![0; 2 * slots];
        for slot in 0..slots {
            self.winners[slots + slot] = slot as u32;
        }
        for node in (1..slots).rev() {
            self.winners[node] = self.winner(node);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Tournament;
    use alloc::collections::BTreeMap;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_first_has_the_least_key(
            ops in prop::collection::vec((0_u32..70, prop::option::of(0_u32..50)), 0..500),
        ) {
            let (mut tree, mut model) = (Tournament::default(), BTreeMap::new());
            for (slot, key) in ops {
                let key = key.map(|key| (key, slot));
                tree.set(slot, key);
                prop_assert_eq!(tree.key(slot), key);
                match key {
                    Some(key) => model.insert(slot, key),
                    None => model.remove(&slot),
                };
                let least = model.values().min().map(|&(_, slot)| slot);
                prop_assert_eq!(tree.first(), least);
            }
        }
    }
}
