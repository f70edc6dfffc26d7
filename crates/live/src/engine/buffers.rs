//! The memory of commands' data: buffers of reads and the source of writes.
//!
//! They lie in an anonymous mapping that is made once: a buffer for each command in flight, followed by the source of
//! writes, a region of seeded pseudo-random bytes. Every write takes its data from the source, unless it
//! carries an application's data or is verified. Reads go into the buffers, so generated data depends on
//! the seed and the place only.
//!
//! Engines and the kernel use addresses. References to the buffer of a slot come only from [`SlotBuffers`],
//! which lends the buffer to a command and gives no reference until it is back.
//!
//! Invariants: every buffer is aligned for direct I/O; the source region is not written after `Area::new`;
//! the mapping lives until the last holder of its `Arc` is dropped, and an engine whose commands may
//! still be in flight holds one.

use std::ptr::NonNull;
use std::sync::Arc;

use penstock_core::Seed;
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise};

use crate::engine::error::EngineError;
use crate::filling::fill;

/// Every buffer begins at a multiple of this many bytes: the greatest alignment that direct I/O needs, whatever the size of
/// a page.
pub(crate) const BUFFER_ALIGNMENT: u32 = 4096;

/// The largest command in bytes. Disks split far smaller ones, and a buffer registered with a ring must
/// stay below 1 GiB.
const MAX_LEN: u32 = 256 << 20;

/// The largest size of all buffers together, in bytes: a depth and a length that need more are a mistake.
const MAX_TOTAL: u64 = 4 << 30;

/// The size of a huge page in bytes. Only speed depends on it, where the machine has another.
const HUGE: usize = 2 << 20;

/// Memory of at least this many bytes is put into huge pages.
const HUGE_FROM: usize = HUGE / 8;

/// The number of offsets in the source at which writes begin. A prime number, so that neighbours of any size differ; a disk
/// that looks for equal blocks far apart finds some.
const SOURCE_STEPS: u64 = 31;

/// The places of the buffers in the mapping.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Layout {
    stride: usize,
    slots: usize,
    huge_pages: bool,
}

impl Layout {
    /// Lays out buffers for `slots` commands of up to `max_len` bytes, each rounded outward to `unit`.
    pub(crate) fn new(slots: u32, max_len: u32, unit: u32) -> Result<Self, EngineError> {
        if max_len == 0 || max_len > MAX_LEN {
            return Err(EngineError::Length { found: max_len, max: MAX_LEN });
        }
        // A range that begins and ends inside a unit touches one more unit than its length has.
        let rounded = u64::from(max_len.next_multiple_of(unit)) + u64::from(unit);
        let stride = rounded.next_multiple_of(u64::from(BUFFER_ALIGNMENT));
        let needed =
            stride * (u64::from(slots) + 1) + (SOURCE_STEPS - 1) * u64::from(BUFFER_ALIGNMENT);
        if needed > MAX_TOTAL {
            return Err(EngineError::Memory { needed, slots, stride, max: MAX_TOTAL });
        }
        Ok(Self { stride: stride as usize, slots: slots as usize, huge_pages: true })
    }

    /// Sets whether the buffers are put into huge pages, if they fill one and the kernel has any.
    pub(crate) const fn in_huge_pages(self, huge_pages: bool) -> Self {
        Self { huge_pages, ..self }
    }

    /// Returns the size of a slot's buffer in bytes.
    pub(crate) const fn stride(&self) -> usize {
        self.stride
    }

    /// Returns the offset of the buffer of `slot`.
    pub(crate) fn slot(&self, slot: u32) -> usize {
        assert!((slot as usize) < self.slots, "slot {slot} of {}", self.slots);
        slot as usize * self.stride
    }

    /// Returns the offset of the source of writes.
    pub(crate) const fn source(&self) -> usize {
        self.slots * self.stride
    }

    /// Returns the offset of the data of a write to byte `start` of the file; it depends on the place only.
    pub(crate) fn source_for(&self, start: u64) -> usize {
        let step = u64::from(BUFFER_ALIGNMENT);
        self.source() + (start / step % SOURCE_STEPS * step) as usize
    }

    /// Returns the size of the mapping in bytes.
    pub(crate) const fn total(&self) -> usize {
        self.source() + self.stride + (SOURCE_STEPS as usize - 1) * BUFFER_ALIGNMENT as usize
    }
}

/// The mapping.
#[derive(Debug)]
pub(crate) struct Area {
    base: NonNull<u8>,
    len: usize,
    layout: Layout,
}

// SAFETY: the mapping belongs to the process, not to a thread.
unsafe impl Send for Area {}
// SAFETY: a shared area gives references to its source only, which is never written after `new`.
unsafe impl Sync for Area {}

impl Area {
    /// Maps the memory. Buffers begin as zeros, and `seed` determines the source.
    pub(crate) fn new(layout: Layout, seed: Seed) -> Result<Self, EngineError> {
        let total = layout.total();
        let huge = layout.huge_pages && total >= HUGE_FROM;
        let (base, len) = if huge { mapped_huge(total)? } else { mapped(total)? };
        let mut area = Self { base, len, layout };
        let source = layout.source();
        fill(seed, area.own(source, total - source));
        Ok(area)
    }

    /// Returns the places of the buffers.
    pub(crate) const fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Returns the address of byte `offset`, which has at least `len` bytes of the mapping behind it.
    pub(crate) fn address(&self, offset: usize, len: usize) -> *mut u8 {
        assert!(offset <= self.len && len <= self.len - offset, "{len} bytes at {offset}");
        // SAFETY: inside the mapping, as was just checked.
        unsafe { self.base.as_ptr().add(offset) }
    }

    /// Returns `len` bytes of the source of writes from `offset` on.
    pub(crate) fn source(&self, offset: usize, len: usize) -> &[u8] {
        assert!(offset >= self.layout.source(), "only the source is shared");
        // SAFETY: mapped and initialised; the source is not written after `new`.
        unsafe { std::slice::from_raw_parts(self.address(offset, len), len) }
    }

    /// Returns `len` bytes from `offset` on, for the only holder of the area.
    pub(crate) fn own(&mut self, offset: usize, len: usize) -> &mut [u8] {
        // SAFETY: mapped and initialised (anonymous pages are zero); this is the only holder of the area, so no other
        // reference to a part of it exists, and no command uses it.
        unsafe { std::slice::from_raw_parts_mut(self.address(offset, len), len) }
    }

    /// Returns the area for engines, and the buffers of its slots for code that fills and reads them.
    pub(crate) fn split(self) -> (Arc<Self>, SlotBuffers) {
        let area = Arc::new(self);
        let is_lent = vec![false; area.layout.slots];
        (Arc::clone(&area), SlotBuffers { area, is_lent })
    }
}

/// The buffers of all slots of an area, each of which can be lent to a command.
#[derive(Debug)]
pub(crate) struct SlotBuffers {
    area: Arc<Area>,
    is_lent: Vec<bool>,
}

impl SlotBuffers {
    /// Returns the area of the buffers.
    pub(crate) fn area(&self) -> &Arc<Area> {
        &self.area
    }

    /// Lends the buffer of `slot` to a command. Returns its offset in the area.
    pub(crate) fn lend(&mut self, slot: u32) -> usize {
        let was_lent = std::mem::replace(&mut self.is_lent[slot as usize], true);
        assert!(!was_lent, "one command for each slot");
        self.area.layout.slot(slot)
    }

    /// Takes the buffer of `slot` back from its command, which has ended. Does nothing if it was not lent.
    pub(crate) fn take_back(&mut self, slot: u32) {
        self.is_lent[slot as usize] = false;
    }

    /// Returns `len` bytes of the buffer of `slot`, from its byte `from` on.
    pub(crate) fn bytes(&mut self, slot: u32, from: usize, len: usize) -> &mut [u8] {
        assert!(!self.is_lent[slot as usize], "a command has the buffer");
        let stride = self.area.layout.stride;
        assert!(from <= stride && len <= stride - from, "{len} bytes at {from} of {stride}");
        let address = self.area.address(self.area.layout.slot(slot) + from, len);
        // SAFETY: mapped and initialised (anonymous pages are zero); no command uses the buffer, buffers do not overlap,
        // and there is one of these values for an area, which is borrowed for as long as the reference lives.
        unsafe { std::slice::from_raw_parts_mut(address, len) }
    }
}

impl Drop for Area {
    fn drop(&mut self) {
        // Every user holds the area, so none is left.
        unmap(self.base, self.len);
    }
}

/// Maps `len` bytes of populated memory, and returns its length too: a page fault during the run would count as time of
/// the disk.
fn mapped(len: usize) -> Result<(NonNull<u8>, usize), EngineError> {
    Ok((anonymous(len, MapFlags::PRIVATE | MapFlags::POPULATE)?, len))
}

/// Maps at least `needed` bytes in huge pages, if the kernel has any, and returns the length: the kernel pins fewer pages
/// for a command, and disks get fewer pieces of memory. Only the first `needed` bytes are populated.
fn mapped_huge(needed: usize) -> Result<(NonNull<u8>, usize), EngineError> {
    let len = needed.next_multiple_of(HUGE);
    let room = anonymous(len + HUGE, MapFlags::PRIVATE)?;
    // Unmaps the memory before the first whole huge page and behind the last.
    let before = room.as_ptr().addr().next_multiple_of(HUGE) - room.as_ptr().addr();
    // SAFETY: inside the mapping of above.
    let (base, behind) = unsafe { (room.add(before), room.add(before + len)) };
    unmap(room, before);
    unmap(behind, HUGE - before);
    let advise = |len, advice| {
        // SAFETY: advice on a fresh mapping changes none of its bytes.
        unsafe { madvise(base.as_ptr().cast(), len, advice) }
    };
    // A kernel without huge pages uses small ones.
    let _ = advise(len, Advice::LinuxHugepage);
    if advise(needed, Advice::LinuxPopulateWrite).is_err() {
        // The kernel is older than 5.14, or memory is short, which the next lines will show.
        for page in (0..needed).step_by(BUFFER_ALIGNMENT as usize) {
            // SAFETY: inside the mapping, to which nothing else refers.
            unsafe { base.add(page).write_volatile(0) };
        }
    }
    Ok((base, len))
}

/// Maps `len` bytes of anonymous memory.
fn anonymous(len: usize, flags: MapFlags) -> Result<NonNull<u8>, EngineError> {
    let protection = ProtFlags::READ | ProtFlags::WRITE;
    // SAFETY: a fresh anonymous mapping at an address of the kernel's choice aliases nothing.
    let base = unsafe { rustix::mm::mmap_anonymous(std::ptr::null_mut(), len, protection, flags) };
    let base = base.map_err(|errno| EngineError::System {
        doing: "map memory for buffers",
        source: errno.into(),
    })?;
    Ok(NonNull::new(base.cast()).expect("the kernel maps nothing at address zero"))
}

/// Unmaps `len` bytes of a mapping from `base` on; both are whole pages.
fn unmap(base: NonNull<u8>, len: usize) {
    if len > 0 {
        // SAFETY: callers own these pages and have no references to them.
        let unmapped = unsafe { rustix::mm::munmap(base.as_ptr().cast(), len) };
        debug_assert!(unmapped.is_ok(), "a mapping of ours is unmapped once");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_that_straddles_fits() {
        let layout = Layout::new(3, 4096, 512).unwrap();
        assert_eq!(layout.stride(), 8192, "4096 bytes from byte 1 touch 9 sectors of 512");
        assert_eq!((layout.slot(2), layout.source()), (16384, 24576));
        assert!(layout.source_for(u64::MAX) + layout.stride() <= layout.total());
    }

    #[test]
    fn too_much_is_refused_with_its_numbers() {
        let error = Layout::new(32_768, 1 << 20, 4096).unwrap_err();
        assert_eq!(error.exit_code(), 2);
        assert_eq!(
            error.to_string(),
            "found buffers of 34495131648 bytes (32768 commands of 1052672 bytes); expected \
             4294967296 at most\nhint: choose a smaller depth or smaller commands"
        );
        let error = Layout::new(1, 0, 4096).unwrap_err();
        assert!(error.to_string().starts_with("found a largest command of 0 bytes"), "{error}");
    }

    #[test]
    fn memory_in_huge_pages_has_the_same_bytes() {
        let (small, huge) =
            (Layout::new(1, 4096, 4096).unwrap(), Layout::new(1024, 4096, 4096).unwrap());
        let area = |layout| Area::new(layout, Seed(7)).unwrap();
        let (small, mut huge) = (area(small), area(huge));
        assert!(small.len < HUGE_FROM && huge.len.is_multiple_of(HUGE));
        assert!(huge.base.as_ptr().addr().is_multiple_of(HUGE));
        let source = |area: &Area| {
            let (begin, end) = (area.layout.source(), area.layout.total());
            area.source(begin, end - begin).to_vec()
        };
        assert_eq!(source(&small), source(&huge));
        let slots = huge.layout.source();
        assert!(huge.own(0, slots).iter().all(|byte| *byte == 0));
    }

    #[test]
    fn a_slots_bytes_stay_its_own() {
        let area = Area::new(Layout::new(2, 4096, 4096).unwrap(), Seed(7)).unwrap();
        let (area, mut buffers) = area.split();
        let stride = area.layout().stride();
        buffers.bytes(0, 0, stride).fill(1);
        buffers.bytes(1, 0, stride).fill(2);
        assert_eq!(buffers.bytes(0, stride - 1, 1), [1]);
        assert_eq!(buffers.lend(1), stride);
        assert_eq!(buffers.bytes(0, 0, 1), [1], "that of another slot is lent");
        buffers.take_back(1);
        assert_eq!(buffers.bytes(1, 0, 1), [2]);
    }

    #[test]
    #[should_panic(expected = "a command has the buffer")]
    fn a_buffer_is_not_looked_at_while_a_command_has_it() {
        let area = Area::new(Layout::new(1, 4096, 4096).unwrap(), Seed(7)).unwrap();
        let (_, mut buffers) = area.split();
        buffers.lend(0);
        buffers.bytes(0, 0, 1);
    }

    #[test]
    fn the_source_is_a_function_of_the_seed() {
        let layout = Layout::new(1, 4096, 4096).unwrap();
        let bytes = |seed| {
            let area = Area::new(layout, Seed(seed)).unwrap();
            area.source(layout.source(), layout.total() - layout.source()).to_vec()
        };
        assert_eq!(bytes(7), bytes(7));
        assert_ne!(bytes(7), bytes(8));
    }
}
