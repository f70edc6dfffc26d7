//! A sorted index of slots: insertion, removal and neighbours in O(log n), no memory per entry
//! beyond its node.
//!
//! A treap: a search tree by key that is a heap by a pseudo-random rank, so it stays balanced
//! without bookkeeping. The rank is a hash of slot and turn, hence the same in every run.

use alloc::vec::Vec;

use super::slots::{NIL, put};

/// Slots in the order of their keys. Each slot is in it at most once, and all keys differ.
#[derive(Clone, Debug)]
pub struct Sorted<K> {
    nodes: Vec<TreeNode<K>>,
    root: u32,
    turn: u32,
}

#[derive(Clone, Debug)]
struct TreeNode<K> {
    key: K,
    rank: u32,
    left: u32,
    right: u32,
}

/// The place at which a subtree is attached: at the root, or left or right below a node.
#[derive(Clone, Copy)]
enum Place {
    Root,
    Left(u32),
    Right(u32),
}

impl<K: Copy + Ord> Default for Sorted<K> {
    fn default() -> Self {
        Self { nodes: Vec::new(), root: NIL, turn: 0 }
    }
}

impl<K: Copy + Ord> Sorted<K> {
    /// Whether it is empty.
    pub fn is_empty(&self) -> bool {
        self.root == NIL
    }

    /// The key of `slot`, which is in the index.
    pub fn key(&self, slot: u32) -> K {
        self.nodes[slot as usize].key
    }

    /// The slot with the least key that is at least `key`.
    pub fn at_or_after(&self, key: K) -> Option<u32> {
        let (mut at, mut best) = (self.root, None);
        while at != NIL {
            let node = &self.nodes[at as usize];
            if node.key < key {
                at = node.right;
            } else {
                best = Some(at);
                at = node.left;
            }
        }
        best
    }

    /// The slot with the greatest key that is less than `key`.
    pub fn before(&self, key: K) -> Option<u32> {
        let (mut at, mut best) = (self.root, None);
        while at != NIL {
            let node = &self.nodes[at as usize];
            if node.key < key {
                best = Some(at);
                at = node.right;
            } else {
                at = node.left;
            }
        }
        best
    }

    /// Inserts `slot`, which is not in the index, at `key`, which no other slot has.
    pub fn insert(&mut self, slot: u32, key: K) {
        self.turn = self.turn.wrapping_add(1);
        let rank = scramble(slot ^ self.turn.rotate_left(16));
        let (mut place, mut at) = (Place::Root, self.root);
        while at != NIL && self.nodes[at as usize].rank >= rank {
            let node = &self.nodes[at as usize];
            (place, at) = if key < node.key {
                (Place::Left(at), node.left)
            } else {
                (Place::Right(at), node.right)
            };
        }
        put(&mut self.nodes, slot, TreeNode { key, rank, left: NIL, right: NIL });
        self.attach(place, slot);
        self.split(at, key, slot);
    }

    /// Removes `slot`, which is in the index.
    pub fn remove(&mut self, slot: u32) {
        let TreeNode { key, left, right, .. } = self.nodes[slot as usize];
        let (mut place, mut at) = (Place::Root, self.root);
        while at != slot {
            let node = &self.nodes[at as usize];
            (place, at) = if key < node.key {
                (Place::Left(at), node.left)
            } else {
                (Place::Right(at), node.right)
            };
        }
        self.join(place, left, right);
    }

    fn attach(&mut self, place: Place, slot: u32) {
        match place {
            Place::Root => self.root = slot,
            Place::Left(above) => self.nodes[above as usize].left = slot,
            Place::Right(above) => self.nodes[above as usize].right = slot,
        }
    }

    /// Attaches the part of the tree `at` that is below `key` left of `slot`, and the rest right of
    /// it.
    fn split(&mut self, mut at: u32, key: K, slot: u32) {
        let (mut less, mut more) = (Place::Left(slot), Place::Right(slot));
        while at != NIL {
            let node = &self.nodes[at as usize];
            if node.key < key {
                let rest = node.right;
                self.attach(less, at);
                (less, at) = (Place::Right(at), rest);
            } else {
                let rest = node.left;
                self.attach(more, at);
                (more, at) = (Place::Left(at), rest);
            }
        }
        self.attach(less, NIL);
        self.attach(more, NIL);
    }

    /// Attaches two trees, every key of `left` below every key of `right`, as one at `place`.
    fn join(&mut self, mut place: Place, mut left: u32, mut right: u32) {
        while left != NIL && right != NIL {
            if self.nodes[left as usize].rank >= self.nodes[right as usize].rank {
                self.attach(place, left);
                (place, left) = (Place::Right(left), self.nodes[left as usize].right);
            } else {
                self.attach(place, right);
                (place, right) = (Place::Left(right), self.nodes[right as usize].left);
            }
        }
        self.attach(place, if left == NIL { right } else { left });
    }
}

/// Mixes 32 bits, bijectively, so that neighbouring values get unrelated results.
pub(super) fn scramble(mut x: u32) -> u32 {
    x = (x ^ (x >> 16)).wrapping_mul(0x7feb_352d);
    x = (x ^ (x >> 15)).wrapping_mul(0x846c_a68b);
    x ^ (x >> 16)
}

#[cfg(test)]
mod tests {
    use super::{NIL, Sorted};
    use alloc::collections::BTreeMap;
    use alloc::vec::Vec;
    use proptest::prelude::*;

    proptest! {
        /// Compares with the standard library's ordered map over random sequences of operations.
        #[test]
        fn answers_like_an_ordered_map(ops in prop::collection::vec((0_u32..64, 0_u64..40), 0..400)) {
            let mut sorted = Sorted::<(u64, u32)>::default();
            let mut model: BTreeMap<(u64, u32), u32> = BTreeMap::new();
            for (slot, position) in ops {
                let held = model.iter().find(|(_, s)| **s == slot).map(|(k, _)| *k);
                if let Some(key) = held {
                    sorted.remove(slot);
                    model.remove(&key);
                } else {
                    sorted.insert(slot, (position, slot));
                    model.insert((position, slot), slot);
                }
                for at in 0..41 {
                    let after = model.range((at, 0)..).next().map(|(_, s)| *s);
                    let before = model.range(..(at, 0)).next_back().map(|(_, s)| *s);
                    prop_assert_eq!(sorted.at_or_after((at, 0)), after);
                    prop_assert_eq!(sorted.before((at, 0)), before);
                }
                prop_assert_eq!(sorted.is_empty(), model.is_empty());
            }
        }
    }

    /// Sequential keys are the worst case of an unbalanced tree.
    #[test]
    fn stays_shallow_when_keys_come_in_order() {
        let mut sorted = Sorted::<u64>::default();
        (0..100_000).for_each(|slot| sorted.insert(slot, u64::from(slot)));
        let mut level: Vec<u32> = alloc::vec![sorted.root];
        let mut depth = 0;
        while !level.is_empty() {
            depth += 1;
            let nodes = level.iter().map(|&at| &sorted.nodes[at as usize]);
            level = nodes.flat_map(|n| [n.left, n.right]).filter(|&at| at != NIL).collect();
        }
        assert!(depth < 64, "{depth} levels for 100,000 keys");
    }
}
