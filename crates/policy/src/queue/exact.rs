//! Slots by an exact position: insert, remove and look up in O(1) on average.
//!
//! A table of buckets, each a list through the slots. A bucket is chosen by a hash that is the same in
//! every run, and nothing depends on the order within one.

use alloc::vec;
use alloc::vec::Vec;

use super::slots::{NIL, put};

/// Lane, position, arrival number.
type PlacedKey = (u32, u64, u64);

/// Slots under lanes and positions; any number of slots under the same.
#[derive(Debug, Default)]
pub(super) struct Exact {
    /// A power of two, or none yet.
    buckets: Vec<u32>,
    /// By slot: the next of its bucket, and its entry.
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

    /// The slot under this lane and position that arrived first.
    pub(super) fn find(&self, lane: u32, position: u64) -> Option<u32> {
        let mut at = *self.buckets.get(self.bucket(lane, position))?;
        let mut oldest: Option<(u64, u32)> = None;
        while at != NIL {
            let (next, (its_lane, its_position, arrival)) = self.nodes[at as usize];
            if (its_lane, its_position) == (lane, position)
                && oldest.is_none_or(|(other, _)| arrival < other)
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

    /// Takes `slot`, which is in the table, out.
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

    /// Positions are multiples of blocks, so the high bits of the product choose.
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
        /// Against the standard library's ordered map, over any sequence of operations.
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
