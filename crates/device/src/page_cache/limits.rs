//! Limits on the dirty pages of each device.
//!
//! Memory is shared, and so is the limit on dirty pages. Each device has a part of it in proportion
//! to its recent rate of completed write-back, as Linux documents for its backing devices ("a part
//! of the total write-back cache that relates to its current average writeout speed in relation to
//! the other devices", `Documentation/ABI/testing/sysfs-class-bdi`; the idea is P. Zijlstra's: LWN,
//! "Smarter write throttling", 2007). So a writer to a fast device does not wait for a slow one, and
//! memory does not fill with data that takes minutes to write.
//!
//! - Rates are measured in written pages, not in time: all counts are halved whenever as many pages
//!   have been written as may be dirty. All devices begin with equal counts. An idle device keeps its
//!   part until others write.
//! - A part of the limit is reserved for each device, whatever its rate, so that an idle device can
//!   begin and no queue runs empty. All reserves together are an eighth of the limit. This fraction
//!   is ours; Linux has `min_ratio`, which is zero unless it is set, and a small pool whose size it
//!   does not document.
//! - A device may exceed its part while less than half the limit is dirty in all, as Linux
//!   allows it.
//! - The threshold of write-back is divided in the same way.
//!
//! A single device has the whole limit.

use super::pages::DirtyCount;

/// All reserves together are this fraction of the limit: one of eight parts.
const RESERVED: u32 = 8;
/// Weight of a written page.
const PAGE_WEIGHT: u64 = 16;

/// The part of one device.
#[derive(Clone, Copy, Debug)]
struct DirtyPart {
    /// Recently written pages, weighted.
    weight: u64,
    limit: u32,
    background: u32,
}

/// The limits of all devices.
#[derive(Debug)]
pub(super) struct Limits {
    /// Most dirty pages of all devices together.
    total: u32,
    /// Number of dirty pages above which they are written.
    background: u32,
    /// Pages reserved for each device.
    reserve: u32,
    /// Pages written since the weights were last halved.
    written: u64,
    parts: Box<[DirtyPart]>,
}

impl Limits {
    /// Divides `total` pages among `devices`; write-back begins above `background` pages in all.
    pub(super) fn new(total: u32, background: u32, devices: u32) -> Self {
        assert!(background < total && devices > 0 && devices <= total, "a page for each");
        let reserve = if devices == 1 { 0 } else { (total / RESERVED / devices).max(1) };
        let weight = u64::from(total) * PAGE_WEIGHT / u64::from(devices);
        let part = DirtyPart { weight, limit: total, background };
        let parts = vec![part; devices as usize].into();
        let mut limits = Self { total, background, reserve, written: 0, parts };
        limits.divide();
        limits
    }

    /// Returns the pages reserved for each device.
    pub(super) fn reserve(&self) -> u32 {
        self.reserve
    }

    /// Returns the number of dirty pages of `device` above which they are written.
    pub(super) fn background(&self, device: usize) -> u32 {
        self.parts[device].background
    }

    /// Whether one more page of `device` may become dirty; `dirty` has the current counts.
    pub(super) fn allows(&self, device: usize, dirty: &DirtyCount) -> bool {
        let own = dirty.unclean_on(device);
        if own < self.reserve {
            return true;
        }
        let within = own < self.parts[device].limit || dirty.unclean() < self.total / 2;
        within && dirty.claimed() < self.total
    }

    /// Counts pages of `device` that were written back.
    pub(super) fn written(&mut self, device: usize, pages: u32) {
        if self.parts.len() == 1 {
            return;
        }
        self.parts[device].weight += u64::from(pages) * PAGE_WEIGHT;
        self.written += u64::from(pages);
        if self.written >= u64::from(self.total) {
            self.written = 0;
            for part in &mut self.parts {
                part.weight /= 2;
            }
        }
        self.divide();
    }

    /// Divides the limit by weights. The sum of the weights is at most that of three times the
    /// pages that may be dirty, so the products below fit 64 bits up to 2^28 pages, a tebibyte.
    fn divide(&mut self) {
        let (total, background) = (u64::from(self.total), u64::from(self.background));
        let reserve = u64::from(self.reserve);
        let shared = total - reserve * self.parts.len() as u64;
        let weights: u64 = self.parts.iter().map(|part| part.weight).sum();
        for part in &mut self.parts {
            let limit = reserve + shared * part.weight / weights.max(1);
            part.limit = limit as u32;
            part.background = (background * limit / total) as u32;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(limits: &Limits) -> Vec<(u32, u32)> {
        limits.parts.iter().map(|part| (part.limit, part.background)).collect()
    }

    #[test]
    fn one_device_has_all() {
        let mut limits = Limits::new(1000, 500, 1);
        limits.written(0, 5000);
        assert_eq!((parts(&limits), limits.reserve()), (vec![(1000, 500)], 0));
    }

    #[test]
    fn parts_follow_what_was_written_and_keep_a_reserve() {
        let mut limits = Limits::new(1600, 800, 2);
        assert_eq!((parts(&limits), limits.reserve()), (vec![(800, 400); 2], 100));
        for _ in 0..1000 {
            limits.written(0, 90);
            limits.written(1, 10);
        }
        // 100, and nine or one in ten of the other 1,400.
        let [(fast, _), (slow, write)] = parts(&limits)[..] else { panic!("two devices") };
        assert!(fast.abs_diff(1360) < 20 && slow.abs_diff(240) < 20, "{fast} {slow}");
        assert_eq!(write, slow / 2);
        for _ in 0..400 {
            limits.written(1, 100);
        }
        let [(idle, _), (busy, _)] = parts(&limits)[..] else { panic!("two devices") };
        assert!(idle <= 102 && busy >= 1498 && idle + busy <= 1600, "{idle} {busy}");
    }

    #[test]
    fn as_many_devices_as_pages_have_one_each() {
        let mut limits = Limits::new(16, 15, 16);
        for _ in 0..100 {
            limits.written(3, 1);
        }
        assert_eq!(parts(&limits), vec![(1, 0); 16]);
    }

    #[test]
    fn a_device_exceeds_its_part_only_while_there_is_much_room() {
        let limits = Limits::new(1600, 800, 2);
        let mut dirty = DirtyCount::new(2, limits.reserve());
        let mut fill = |device: usize| {
            let mut count = 0;
            while limits.allows(device, &dirty) {
                dirty.add(device);
                count += 1;
            }
            count
        };
        assert_eq!([fill(0), fill(1), fill(0), fill(1)], [800, 800, 0, 0]);
        let mut limits = Limits::new(1600, 800, 2);
        (0..100).for_each(|_| limits.written(0, 100));
        let mut dirty = DirtyCount::new(2, limits.reserve());
        while limits.allows(1, &dirty) {
            dirty.add(1);
        }
        assert_eq!(dirty.unclean_on(1), 800, "half of all, although its part is small");
        while limits.allows(0, &dirty) {
            dirty.add(0);
        }
        assert_eq!(dirty.unclean_on(0), 800);
        // What is over a part is taken from no reserve.
        let limits = Limits::new(1600, 800, 2);
        let mut dirty = DirtyCount::new(2, limits.reserve());
        (0..1490).for_each(|_| dirty.add(0));
        while limits.allows(1, &dirty) {
            dirty.add(1);
        }
        assert_eq!(dirty.unclean_on(1), 110);
        assert!(!limits.allows(0, &dirty));
    }
}
