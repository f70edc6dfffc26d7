//! The index from pages to slots: open addressing, with neighbours next to each other.
//!
//! Sixteen neighbours share one home in the hash table and lie next to each other behind it, so
//! that a long request touches few cache lines. At most half of the cells are in use. Removing a
//! page leaves no mark, so searches stay short.

/// Number of neighbouring pages that lie together.
const TOGETHER: u64 = 16;

/// Slots by page number.
#[derive(Debug)]
pub(super) struct Index {
    /// Page number plus one; zero in an empty cell.
    keys: Vec<u64>,
    slots: Vec<u32>,
    mask: usize,
}

impl Index {
    /// Creates an index for up to `pages` pages.
    pub(super) fn new(pages: u32) -> Self {
        let cells = (pages as usize * 2).next_power_of_two().max(2 * TOGETHER as usize);
        Self { keys: vec![0; cells], slots: vec![0; cells], mask: cells - 1 }
    }

    fn home(&self, page: u64) -> usize {
        let spread = (page / TOGETHER).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
        (spread * TOGETHER + page % TOGETHER) as usize & self.mask
    }

    /// Returns the cell of `page`, or the empty cell where its search ends.
    fn cell(&self, page: u64) -> usize {
        let mut at = self.home(page);
        while self.keys[at] != 0 && self.keys[at] != page + 1 {
            at = (at + 1) & self.mask;
        }
        at
    }

    /// Returns the slot of `page`.
    pub(super) fn get(&self, page: u64) -> Option<u32> {
        let at = self.cell(page);
        (self.keys[at] != 0).then(|| self.slots[at])
    }

    /// Inserts `page`, which is not in the index, at `slot`.
    pub(super) fn insert(&mut self, page: u64, slot: u32) {
        let at = self.cell(page);
        (self.keys[at], self.slots[at]) = (page + 1, slot);
    }

    /// Removes `page`, which is in the index, and closes the gap.
    pub(super) fn remove(&mut self, page: u64) {
        let mut gap = self.cell(page);
        let mut at = gap;
        loop {
            at = (at + 1) & self.mask;
            if self.keys[at] == 0 {
                self.keys[gap] = 0;
                return;
            }
            // An entry moves into the gap if the gap lies between its home and its cell.
            let way = at.wrapping_sub(self.home(self.keys[at] - 1)) & self.mask;
            if way >= at.wrapping_sub(gap) & self.mask {
                (self.keys[gap], self.slots[gap]) = (self.keys[at], self.slots[at]);
                gap = at;
            }
        }
    }
}
