//! The address space below a cache: devices next to each other, and files on them.
//!
//! Devices and files are ranges of the addresses below. Each file numbers its own pages: page 0
//! begins at the file's first byte, and the last page ends with the file. The bytes of a device
//! outside its files are numbered in the same way, range by range. Such a range, or a file, is an
//! *extent* here. Page numbers of two extents are never neighbours, so no command and no read-ahead
//! window crosses from one extent into another.

use std::ops::Range;

use super::options::PAGE;

/// Devices one behind the other, and the files on them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Topology {
    devices: Vec<Range<u64>>,
    files: Vec<Range<u64>>,
}

impl Topology {
    /// Places devices of these `capacities` one behind the other from byte 0 on, as in a
    /// [`Rack`](crate::Rack). `files` are ranges of the same addresses, in any order; they need not
    /// fill a device.
    ///
    /// # Panics
    /// If there is no device; if a device or a file is empty; if a file shares a byte with another,
    /// or does not lie on one device.
    pub fn new(
        capacities: impl IntoIterator<Item = u64>,
        files: impl IntoIterator<Item = Range<u64>>,
    ) -> Self {
        let mut end = 0;
        let mut device = |capacity| {
            assert!(capacity > 0, "a device of no bytes");
            let start = end;
            end += capacity;
            start..end
        };
        let devices: Vec<Range<u64>> = capacities.into_iter().map(&mut device).collect();
        assert!(end > 0, "a cache has a device below it");
        let mut files: Vec<Range<u64>> = files.into_iter().collect();
        files.sort_unstable_by_key(|file| file.start);
        let mut end = 0;
        for file in &files {
            assert!(file.start >= end && file.end > file.start, "{file:?} after {end}");
            let holds = |device: &Range<u64>| device.start <= file.start && file.end <= device.end;
            assert!(devices.iter().any(holds), "{file:?} lies on no device");
            end = file.end;
        }
        Self { devices, files }
    }

    /// Number of devices.
    pub(super) fn devices(&self) -> u32 {
        self.devices.len() as u32
    }

    /// Whether the bytes from `start` to `end` belong to one file, or to one device between its
    /// files.
    pub fn holds(&self, start: u64, end: u64) -> bool {
        let within = |range: &Range<u64>| range.start <= start && end <= range.end;
        let apart = |range: &Range<u64>| end <= range.start || range.end <= start;
        self.devices.iter().any(within)
            && self.files.iter().all(|range| within(range) || apart(range))
    }
}

/// A file, or a range of a device between its files.
#[derive(Clone, Copy, Debug)]
pub(super) struct Extent {
    start: u64,
    end: u64,
    /// Number of its first page.
    first: u64,
    /// The device on which it lies.
    pub(super) device: usize,
    is_file: bool,
}

impl Extent {
    /// Returns the pages of the bytes from `start` to `end`.
    pub(super) fn pages(&self, start: u64, end: u64) -> Range<u64> {
        let page = u64::from(PAGE);
        let (start, end) = (start - self.start, end - self.start);
        self.first + start / page..self.first + end.div_ceil(page)
    }

    /// Returns the number behind its last page.
    pub(super) fn pages_end(&self) -> u64 {
        self.first + (self.end - self.start).div_ceil(PAGE.into())
    }

    /// Returns the begin and the number of the bytes of `pages` pages from `first` on. The extent
    /// may end within the last page.
    pub(super) fn bytes(&self, first: u64, pages: u32) -> (u64, u32) {
        let start = self.start + (first - self.first) * u64::from(PAGE);
        let end = (start + u64::from(pages * PAGE)).min(self.end);
        (start, (end - start) as u32)
    }
}

/// All extents below a cache, in the order of their addresses.
#[derive(Debug)]
pub(super) struct Extents {
    all: Box<[Extent]>,
    /// The extents of each device, and its first byte.
    devices: Box<[(Range<usize>, u64)]>,
}

impl Extents {
    pub(super) fn new(topology: &Topology) -> Self {
        let mut all: Vec<Extent> = Vec::new();
        let mut add = |device, start, end, is_file| {
            if start < end {
                // The number between two extents belongs to no page.
                let first = all.last().map_or(0, |last| last.pages_end() + 1);
                all.push(Extent { start, end, first, device, is_file });
            }
            all.len()
        };
        let mut devices = Vec::new();
        let mut from = 0;
        for (device, Range { start, end }) in topology.devices.iter().cloned().enumerate() {
            let mut at = start;
            for file in topology.files.iter().filter(|file| start <= file.start && file.start < end)
            {
                add(device, at, file.start, false);
                add(device, file.start, file.end, true);
                at = file.end;
            }
            let to = add(device, at, end, false);
            devices.push((from..to, start));
            from = to;
        }
        Self { all: all.into(), devices: devices.into() }
    }

    /// Returns the extent with the byte `start`; the last extent for bytes behind all.
    pub(super) fn of(&self, start: u64) -> usize {
        self.all.partition_point(|extent| extent.start <= start) - 1
    }

    pub(super) fn get(&self, extent: usize) -> &Extent {
        &self.all[extent]
    }

    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    /// Returns the device of each extent.
    pub(super) fn devices(&self) -> impl Iterator<Item = usize> {
        self.all.iter().map(|extent| extent.device)
    }

    /// Returns the extents of `device`.
    pub(super) fn on(&self, device: usize) -> Range<usize> {
        self.devices[device].0.clone()
    }

    /// Returns the first byte of `device`.
    pub(super) fn device_start(&self, device: usize) -> u64 {
        self.devices[device].1
    }

    /// Returns the extents that a flush at `extent` covers: its file, or all of its device.
    pub(super) fn flushed(&self, extent: usize) -> Range<usize> {
        let Extent { is_file, device, .. } = self.all[extent];
        if is_file { extent..extent + 1 } else { self.on(device) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns start, end, first page, device, and whether it is a file.
    fn rows(extents: &Extents) -> Vec<(u64, u64, u64, usize, bool)> {
        let row = |one: &Extent| (one.start, one.end, one.first, one.device, one.is_file);
        extents.all.iter().map(row).collect()
    }

    #[test]
    fn a_range_is_of_one_file_or_between_the_files_of_one_device() {
        let topology = Topology::new([8192, 8192], [1024..4096, 4096..6144]);
        for (start, end) in
            [(0, 1024), (1024, 4096), (2048, 2048), (4096, 6144), (6144, 8192), (8192, 16384)]
        {
            assert!(topology.holds(start, end), "{start} to {end}");
        }
        for (start, end) in
            [(0, 1025), (1023, 4096), (2048, 4097), (6143, 6145), (8000, 8193), (8192, 16385)]
        {
            assert!(!topology.holds(start, end), "{start} to {end}");
        }
    }

    #[test]
    fn files_and_what_lies_between_them_have_pages_of_their_own() {
        let topology = Topology::new([100_000, 30_000], [60_000..70_000, 0..5000]);
        let extents = Extents::new(&topology);
        let wanted = [
            (0, 5000, 0, 0, true),
            (5000, 60_000, 3, 0, false),
            (60_000, 70_000, 18, 0, true),
            (70_000, 100_000, 22, 0, false),
            (100_000, 130_000, 31, 1, false),
        ];
        assert_eq!(rows(&extents), wanted);
        let found = [0, 4999, 5000, 69_999, 70_000, 100_000, u64::MAX].map(|at| extents.of(at));
        assert_eq!(found, [0, 0, 1, 2, 3, 4, 4]);
        assert_eq!(extents.get(2).pages(60_000, 64_097), 18..20);
        assert_eq!(extents.get(2).bytes(19, 2), (64_096, 5904), "the file ends");
        assert_eq!([0, 1, 2, 4].map(|at| extents.flushed(at)), [0..1, 0..4, 2..3, 4..5]);
        assert_eq!((extents.device_start(1), extents.on(1)), (100_000, 4..5));
    }

    #[test]
    fn one_device_is_numbered_by_its_addresses() {
        let extents = Extents::new(&Topology::new([10_000], []));
        assert_eq!(rows(&extents), [(0, 10_000, 0, 0, false)]);
        assert_eq!((extents.flushed(0), extents.get(0).pages_end()), (0..1, 3));
    }

    #[test]
    fn what_is_no_topology_is_refused() {
        let refused = |capacities: &[u64], files: &[Range<u64>]| {
            let (capacities, files) = (capacities.to_vec(), files.to_vec());
            std::panic::catch_unwind(|| Topology::new(capacities, files)).is_err()
        };
        let two = [100, 100];
        assert!(!refused(&two, &[100..200, 0..100]));
        assert!(refused(&[], &[]) && refused(&[0, 100], &[]));
        assert!(refused(&two, &[0..10, 50..150]), "a file lies on one device");
        assert!(refused(&two, &[0..50, 49..60]) && refused(&two, &[0..7, 9..9]));
    }
}
