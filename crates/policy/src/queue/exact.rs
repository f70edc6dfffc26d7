//! Slots by an exact position: insertion, removal and look-up in O(1) on average.
//!
//! A table of buckets, each a linked list of slots. The hash that chooses a bucket is the same in
//! every run, and no result depends on the order within a bucket.

use alloc::vec;
use alloc::vec::Vec;

use super::slots::{NIL, put};

/// Lane, position, arrival number.
type PlacedKey = (u32, u64, u64);

/// Slots by lane and position. Any number of slots may share a position.
#[derive(Clone, Debug, Default)]
pub(super) struct Exact {
    /// First slot of each bucket. The number of buckets is a power of two, or 0 at first.
    buckets: Vec<u32>,
    /// The next slot of the bucket and the entry of each slot.
    nodes: Vec<(u32, PlacedKey)>,
    len: usize,
}

impl Exact {
    /// Whether it holds nothing.
    pub(super) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The entry of `slot`, which is in the table.
    pub(super) fn key(&self, slot: u32) -> PlacedKey {
        self.nodes[slot as usize].1
    }

    /// The slot at this lane and position that arrived first.
    pub(super) fn find(&self, lane: u32, position: u64) -> Option<u32> {
        let mut at = *self.buckets.get(self.bucket(lane, position))?;
        let mut oldest: Option<(u64, u32)> = None;
        while at != NIL {
            let (next, (node_lane, node_position, arrival)) = self.nodes[at as usize];
            if (node_lane, node_position) == (lane, position)
                && oldest.is_none_or(|(earliest, _)| arrival < earliest)
            {
                oldest = Some((arrival, at));
            }
            at = next;
        }
        oldest.map(|(_, slot)| slot)
    }

    /// Puts `slot`, which is not in the table, under `entry`.
    pub(super) fn insert(&mut self, slot: u32, entry: PlacedKey) {
        if self.len == self.buckets.len() {
            self.grow();
        }
        self.len += 1;
        put(&mut self.nodes, slot, (NIL, entry));
        self.link(slot, entry);
    }

    /// Removes `slot`, which is in the table.
    pub(super) fn remove(&mut self, slot: u32) {
        let (next, (lane, position, _)) = self.nodes[slot as usize];
        let bucket = self.bucket(lane, position);
        let mut at = self.buckets[bucket];
        if at == slot {
            self.buckets[bucket] = next;
        } else {
            while self.nodes[at as usize].0 != slot {
                at = self.nodes[at as usize].0;
            }
            self.nodes[at as usize].0 = next;
        }
        self.len -= 1;
    }

    fn link(&mut self, slot: u32, entry: PlacedKey) {
        let bucket = self.bucket(entry.0, entry.1);
        self.nodes[slot as usize] = (self.buckets[bucket], entry);
        self.buckets[bucket] = slot;
    }

    fn grow(&mut self) {
        let more = (2 * self.buckets.len()).max(64);
        let old = core::mem::replace(&mut self.buckets, vec![NIL; more]);
        for mut at in old {
            while at != NIL {
                let (next, entry) = self.nodes[at as usize];
                self.link(at, entry);
                at = next;
            }
        }
    }

    /// The bucket of a position. Positions are multiples of blocks, so it is chosen by the high
    /// bits of the product.
    fn bucket(&self, lane: u32, position: u64) -> usize {
        let mixed =
            (position ^ u64::from(lane).rotate_left(48)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (mixed >> 32) as usize & self.buckets.len().wrapping_sub(1)
    }
}

#[cfg(test)]
mod tests {
    use super::Exact;
    use alloc::collections::BTreeMap;
    use proptest::prelude::*;

    proptest! {
        /// Compares with the standard library's ordered map over random sequences of operations.
        #[test]
        fn answers_like_a_map(
            ops in prop::collection::vec((0_u32..300, 0_u32..3, 0_u64..20), 0..1_000),
        ) {
            let (mut exact, mut model) = (Exact::default(), BTreeMap::new());
            for (arrival, (slot, lane, block)) in (0_u64..).zip(ops) {
                let held = model.iter().find(|(_, held)| **held == slot).map(|(key, _)| *key);
                if let Some(key) = held {
                    prop_assert_eq!(exact.key(slot), key);
                    exact.remove(slot);
                    model.remove(&key);
                } else {
                    exact.insert(slot, (lane, block * 4_096, arrival));
                    model.insert((lane, block * 4_096, arrival), slot);
                }
                for block in 0..20 {
                    let at = (lane, block * 4_096);
                    let first = model.range((at.0, at.1, 0)..=(at.0, at.1, u64::MAX)).next();
                    prop_assert_eq!(exact.find(at.0, at.1), first.map(|(_, slot)| *slot));
                }
            }
        }
    }
}
