//! Doubly linked lists of slots: first in first out, with removal from the middle in O(1).

use alloc::vec::Vec;

use super::slots::{NIL, put};

/// The links of any number of lists. Each slot is in at most one of them.
#[derive(Clone, Debug, Default)]
pub struct Links(Vec<Link>);

#[derive(Clone, Debug)]
struct Link {
    prev: u32,
    next: u32,
}

/// The ends of a list. Its links live in a [`Links`].
#[derive(Clone, Debug)]
pub struct List {
    head: u32,
    tail: u32,
}

impl Default for List {
    fn default() -> Self {
        Self { head: NIL, tail: NIL }
    }
}

impl List {
    /// The first slot.
    pub fn front(&self) -> Option<u32> {
        (self.head != NIL).then_some(self.head)
    }

    /// Whether it is empty.
    pub fn is_empty(&self) -> bool {
        self.head == NIL
    }
}

impl Links {
    /// Appends `slot`, which is in no list.
    pub fn push_back(&mut self, list: &mut List, slot: u32) {
        put(&mut self.0, slot, Link { prev: list.tail, next: NIL });
        match list.tail {
            NIL => list.head = slot,
            tail => self.0[tail as usize].next = slot,
        }
        list.tail = slot;
    }

    /// Removes `slot`, which is in `list`.
    pub fn remove(&mut self, list: &mut List, slot: u32) {
        let Link { prev, next } = self.0[slot as usize];
        match prev {
            NIL => list.head = next,
            prev => self.0[prev as usize].next = next,
        }
        match next {
            NIL => list.tail = prev,
            next => self.0[next as usize].prev = prev,
        }
    }

    /// Removes and returns the first slot.
    pub fn pop_front(&mut self, list: &mut List) -> Option<u32> {
        let slot = list.front()?;
        self.remove(list, slot);
        Some(slot)
    }
}
