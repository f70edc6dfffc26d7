//! A table of outstanding requests, indexed by ticket.

use alloc::vec::Vec;

use crate::request::ReqId;

/// Values by ticket (slot and generation). Insertion and removal are O(1); slots are dense, so a
/// policy may keep its own state in a `Vec` by slot. Memory grows to the high-water mark and stays.
#[derive(Debug)]
pub struct Table<T> {
    slots: Vec<Slot<T>>,
    /// First free slot, or the number of slots if none is free.
    free: u32,
    len: u32,
}

#[derive(Debug)]
struct Slot<T> {
    age: u32,
    state: State<T>,
}

#[derive(Debug)]
enum State<T> {
    Free { next: u32 },
    Used(T),
}

impl<T> Default for Table<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> Table<T> {
    /// An empty table that has allocated nothing yet.
    pub const fn new() -> Self {
        Self { slots: Vec::new(), free: 0, len: 0 }
    }

    /// Number of values.
    pub const fn len(&self) -> u32 {
        self.len
    }

    /// Whether it holds nothing.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Stores what `make` returns for its ticket, and returns the ticket.
    pub fn insert_with(&mut self, make: impl FnOnce(ReqId) -> T) -> ReqId {
        self.len += 1;
        if let Some(slot) = self.slots.get_mut(self.free as usize) {
            let id = ReqId::new(self.free, slot.age);
            let State::Free { next } = slot.state else {
                unreachable!("a used slot on the free list")
            };
            slot.state = State::Used(make(id));
            self.free = next;
            return id;
        }
        let id = ReqId::new(self.free, 0);
        self.slots.push(Slot { age: 0, state: State::Used(make(id)) });
        self.free += 1;
        id
    }

    /// Removes and returns the value under `id`.
    ///
    /// # Panics
    /// If `id` is stale: a completion was reported twice. Only a bug in a layer can cause that.
    #[inline]
    pub fn remove(&mut self, id: ReqId) -> T {
        let slot = &mut self.slots[id.index()];
        assert_eq!(slot.age, id.age(), "a stale ticket: {id:?} finished before");
        let state = core::mem::replace(&mut slot.state, State::Free { next: self.free });
        let State::Used(value) = state else { panic!("a stale ticket: {id:?} finished before") };
        slot.age = slot.age.wrapping_add(1);
        self.free = id.slot();
        self.len -= 1;
        value
    }

    /// The value under `id`, or `None` if the ticket is stale.
    pub fn get(&self, id: ReqId) -> Option<&T> {
        match self.slots.get(id.index()) {
            Some(Slot { age, state: State::Used(value) }) if *age == id.age() => Some(value),
            _ => None,
        }
    }

    /// The value under `id`, to change it.
    pub fn get_mut(&mut self, id: ReqId) -> Option<&mut T> {
        match self.slots.get_mut(id.index()) {
            Some(Slot { age, state: State::Used(value) }) if *age == id.age() => Some(value),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ticket_is_good_once() {
        let mut table = Table::new();
        let first = table.insert_with(|_| 'a');
        assert_eq!(table.remove(first), 'a');
        let second = table.insert_with(|_| 'b');
        assert_eq!(second.slot(), first.slot(), "slots are used again");
        assert_eq!(table.get(first), None, "but the old ticket is stale");
        assert_eq!(table.get(second), Some(&'b'));
        assert_eq!(table.len(), 1);
    }

    #[test]
    #[should_panic(expected = "stale ticket")]
    fn finishing_twice_is_caught() {
        let mut table = Table::new();
        let id = table.insert_with(|_| ());
        table.remove(id);
        table.remove(id);
    }
}
