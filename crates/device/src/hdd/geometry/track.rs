//! Begins and ends of tracks, for reads of more sectors than a request wants.

use super::{Map, Run};

impl Map {
    /// Returns the first block of the track of `block`.
    pub(in crate::hdd) fn track_start(&self, zone: u32, block: u64) -> u64 {
        let map = &self.zones[zone as usize];
        let (position, _) = self.physical(map, map.position(block));
        let (in_cylinder, _) = map.per_cylinder.split(position);
        let (sector, _) = map.per_track.split(in_cylinder);
        (self.logical(map, position - sector) + map.start).saturating_sub(map.empty).max(map.start)
    }

    /// Returns the block behind the last one of the track of `block`.
    pub(in crate::hdd) fn track_end(&self, zone: u32, block: u64) -> u64 {
        block + self.run(zone, block, u64::MAX).blocks
    }

    /// Returns how many blocks of `run`, which begins with `block`, lie in its first `sectors`
    /// sectors.
    pub(in crate::hdd) fn within(&self, run: &Run, block: u64, sectors: u64) -> u64 {
        if run.sectors == run.blocks {
            return sectors.min(run.blocks);
        }
        let map = &self.zones[run.zone as usize];
        let x = map.position(block);
        let (position, _) = self.physical(map, x);
        (self.logical(map, position + sectors) - x).min(run.blocks)
    }
}
