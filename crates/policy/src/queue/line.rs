//! A waiting line in the order of keys, in which each entry may be overtaken a limited number of
//! times.
//!
//! An entry is overtaken when another enters before it. A new entry overtakes every entry behind
//! its key, so the line counts for all of them at once: O(log n) to enter, to leave, and to check
//! whether a place may be taken.
//!
//! A treap as in `sorted`. Each node also keeps the least number of times that an entry of its
//! subtree may still be overtaken, and a count that its children have not been charged yet.

use alloc::vec::Vec;

use super::slots::{NIL, put};
use super::sorted::scramble;

/// Slots in the order of their keys; each slot at most once, all keys different.
#[derive(Debug)]
pub struct Line<K> {
    nodes: Vec<LineNode<K>>,
    root: u32,
    turn: u32,
}

#[derive(Clone, Debug)]
struct LineNode<K> {
    key: K,
    rank: u32,
    left: u32,
    right: u32,
    /// Number of times that the entry may still be overtaken.
    allowed: u32,
    /// The least such number in its subtree.
    least: u32,
    /// Number of times that both children's subtrees were overtaken since they were last charged.
    owed: u32,
}

impl<K> Default for Line<K> {
    fn default() -> Self {
        Self { nodes: Vec::new(), root: NIL, turn: 0 }
    }
}

impl<K: Copy + Ord> Line<K> {
    /// The entry with the least key.
    pub fn first(&self) -> Option<u32> {
        self.outermost(|node| node.left)
    }

    /// The entry with the greatest key.
    pub fn last(&self) -> Option<u32> {
        self.outermost(|node| node.right)
    }

    /// The key of `slot`, which is in the line.
    pub fn key(&self, slot: u32) -> K {
        self.nodes[slot as usize].key
    }

    /// Whether every entry behind `key` may be overtaken once more.
    pub fn may_overtake(&self, key: K) -> bool {
        let (mut at, mut owed) = (self.root, 0);
        while at != NIL {
            let node = &self.nodes[at as usize];
            if node.key <= key {
                owed += node.owed;
                at = node.right;
                continue;
            }
            let right = node.right;
            if node.allowed == owed {
                return false;
            }
            owed += node.owed;
            if right != NIL && self.nodes[right as usize].least == owed {
                return false;
            }
            at = node.left;
        }
        true
    }

    /// Counts an overtaking of every entry behind `key`, all of which must allow it.
    pub fn overtake(&mut self, key: K) {
        self.overtake_in(self.root, key);
    }

    /// Inserts `slot`, which is not in the line, at `key`, which no other slot has. It may be
    /// overtaken `allowed` times.
    pub fn insert(&mut self, slot: u32, key: K, allowed: u32) {
        self.turn = self.turn.wrapping_add(1);
        let rank = scramble(slot ^ self.turn.rotate_left(16));
        let (left, right, owed) = (NIL, NIL, 0);
        let node = LineNode { key, rank, left, right, allowed, least: allowed, owed };
        put(&mut self.nodes, slot, node);
        self.root = self.insert_in(self.root, slot);
    }

    /// Removes `slot`, which is in the line.
    pub fn remove(&mut self, slot: u32) {
        self.root = self.remove_from(self.root, slot);
    }

    fn outermost(&self, next: impl Fn(&LineNode<K>) -> u32) -> Option<u32> {
        let mut at = self.root;
        while at != NIL && next(&self.nodes[at as usize]) != NIL {
            at = next(&self.nodes[at as usize]);
        }
        (at != NIL).then_some(at)
    }

    /// Charges all entries of the subtree `at`.
    fn charge(&mut self, at: u32, times: u32) {
        if at != NIL {
            let node = &mut self.nodes[at as usize];
            node.allowed -= times;
            node.least -= times;
            node.owed += times;
        }
    }

    /// Charges the children of `at` with its `owed` count, so that they can be moved. Returns them.
    fn settle(&mut self, at: u32) -> (u32, u32) {
        let node = &mut self.nodes[at as usize];
        let (left, right, owed) = (node.left, node.right, node.owed);
        node.owed = 0;
        self.charge(left, owed);
        self.charge(right, owed);
        (left, right)
    }

    /// Sets the children of `at`, whose `owed` count must be 0. Returns `at`.
    fn attach(&mut self, at: u32, left: u32, right: u32) -> u32 {
        let least = |slot: u32| self.nodes.get(slot as usize).map_or(u32::MAX, |node| node.least);
        let least = least(left).min(least(right)).min(self.nodes[at as usize].allowed);
        let node = &mut self.nodes[at as usize];
        (node.left, node.right, node.least) = (left, right, least);
        at
    }

    fn overtake_in(&mut self, at: u32, key: K) {
        if at == NIL {
            return;
        }
        let (left, right) = self.settle(at);
        if self.nodes[at as usize].key <= key {
            self.overtake_in(right, key);
        } else {
            self.nodes[at as usize].allowed -= 1;
            self.charge(right, 1);
            self.overtake_in(left, key);
        }
        self.attach(at, left, right);
    }

    fn insert_in(&mut self, at: u32, slot: u32) -> u32 {
        let LineNode { key, rank, .. } = self.nodes[slot as usize];
        if at == NIL || self.nodes[at as usize].rank < rank {
            let (left, right) = self.split(at, key);
            return self.attach(slot, left, right);
        }
        let (left, right) = self.settle(at);
        if key < self.nodes[at as usize].key {
            let left = self.insert_in(left, slot);
            self.attach(at, left, right)
        } else {
            let right = self.insert_in(right, slot);
            self.attach(at, left, right)
        }
    }

    fn remove_from(&mut self, at: u32, slot: u32) -> u32 {
        let (left, right) = self.settle(at);
        if at == slot {
            return self.join(left, right);
        }
        if self.nodes[slot as usize].key < self.nodes[at as usize].key {
            let left = self.remove_from(left, slot);
            self.attach(at, left, right)
        } else {
            let right = self.remove_from(right, slot);
            self.attach(at, left, right)
        }
    }

    /// Splits the tree `at` into the part below `key` and the rest.
    fn split(&mut self, at: u32, key: K) -> (u32, u32) {
        if at == NIL {
            return (NIL, NIL);
        }
        let (left, right) = self.settle(at);
        if self.nodes[at as usize].key < key {
            let (less, more) = self.split(right, key);
            (self.attach(at, left, less), more)
        } else {
            let (less, more) = self.split(left, key);
            (less, self.attach(at, more, right))
        }
    }

    /// Joins two trees, with every key of `left` below every key of `right`.
    fn join(&mut self, left: u32, right: u32) -> u32 {
        if left == NIL || right == NIL {
            return if left == NIL { right } else { left };
        }
        if self.nodes[left as usize].rank >= self.nodes[right as usize].rank {
            let (lower, middle) = self.settle(left);
            let joined = self.join(middle, right);
            self.attach(left, lower, joined)
        } else {
            let (middle, upper) = self.settle(right);
            let joined = self.join(left, middle);
            self.attach(right, joined, upper)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Line;
    use alloc::collections::BTreeMap;
    use proptest::prelude::*;

    proptest! {
        /// Compares with an ordered map that counts for each entry, over random operations.
        #[test]
        fn counts_like_an_ordered_map(
            ops in prop::collection::vec((0_u32..48, 0_u64..40, 0_u32..12), 0..400),
        ) {
            let mut line = Line::<(u64, u32)>::default();
            let mut model: BTreeMap<(u64, u32), (u32, u32)> = BTreeMap::new();
            for (slot, position, allowed) in ops {
                let held = model.iter().find(|(_, (s, _))| *s == slot).map(|(key, _)| *key);
                let key = (position, slot);
                let behind = model.range(key..).filter(|(k, _)| **k > key);
                let may = behind.clone().all(|(_, (_, left))| *left > 0);
                prop_assert_eq!(line.may_overtake(key), may);
                if let Some(key) = held {
                    line.remove(slot);
                    model.remove(&key);
                } else {
                    if may {
                        line.overtake(key);
                        model.range_mut(key..).for_each(|(_, (_, left))| *left -= 1);
                    }
                    line.insert(slot, key, allowed);
                    model.insert(key, (slot, allowed));
                }
                for at in 0..41 {
                    let may = model.range((at, u32::MAX)..).all(|(_, (_, left))| *left > 0);
                    prop_assert_eq!(line.may_overtake((at, u32::MAX)), may);
                }
                let ends = [model.first_key_value(), model.last_key_value()];
                let ends = ends.map(|end| end.map(|(_, (slot, _))| *slot));
                prop_assert_eq!([line.first(), line.last()], ends);
            }
        }
    }
}
