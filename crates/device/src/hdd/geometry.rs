//! Places of blocks: zones, spares, slips, skews.
//!
//! Blocks are numbered over the zones. Within a zone a block's number passes through three steps,
//! each a closed formula:
//! 1. *spares*: each regular interval (a range, a cylinder, a track) of `full` positions holds only
//!    `usable` blocks: `x ↦ (x div usable)·full + x mod usable`;
//! 2. *slips*: a position that is skipped moves the following positions of its interval by one. A
//!    sorted array holds the first block after each slip, so that one binary search counts them;
//! 3. *tracks*: the position divided by sectors per cylinder and per track.
//!
//! Angles are wrapping integers, 2^64 to the turn: sums need no modulus, and the difference of two
//! is the turn still to make. Divisions are multiplications by a reciprocal, exact in their range.

mod divisor;

use std::ops::Range;

use self::divisor::Divisor;
use super::drive::{Drive, DriveError, Spares, TrackOrder, Zone};

/// Part of a turn; a whole turn would be 2^64.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Angle(pub u64);

impl Angle {
    /// Returns the fraction of a turn, for reports.
    pub fn turns(self) -> f64 {
        // 64 bits of angle lose their last 11 here; those are far below a nanosecond.
        self.0 as f64 / 18_446_744_073_709_551_616.0
    }

    fn from_turns(turns: f64) -> Self {
        Self((turns.rem_euclid(1.0) * 18_446_744_073_709_551_616.0) as u64)
    }

    const fn times(self, count: u64) -> Self {
        Self(self.0.wrapping_mul(count))
    }

    const fn plus(self, other: Self) -> Self {
        Self(self.0.wrapping_add(other.0))
    }
}

/// Parts of a drive with a precomputed zone: many more than it has zones, so that few parts lie in
/// two zones.
const PARTS: u64 = 256;

const TOO_LARGE: &str = "more sectors than the map can count";

/// The place of a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Place {
    /// Cylinder, counted from the outer edge.
    pub cylinder: u32,
    /// Head, which is the surface.
    pub head: u32,
    /// Sector on the track, from 0.
    pub sector: u32,
    /// Sectors on that track.
    pub sectors_per_track: u32,
    /// Angle of the sector's beginning from the index mark.
    pub angle: Angle,
}

/// The blocks of one request that lie on one track.
#[derive(Clone, Copy, Debug)]
pub(super) struct Run {
    pub(super) place: Place,
    /// The zone.
    pub(super) zone: u32,
    /// Blocks of the request on this track.
    pub(super) blocks: u64,
    /// Sectors that pass under the head from the first block to the last.
    pub(super) sectors: u64,
}

/// The map of one drive.
#[derive(Debug)]
pub(super) struct Map {
    /// The zone of the first block of each part of `2^part` blocks. A block lies in that zone or,
    /// if the part lies in several, soon after. A binary search would cost mispredicted branches.
    parts: Box<[u32]>,
    part: u32,
    zones: Box<[ZoneMap]>,
    slips: Box<[Slip]>,
    surfaces: u32,
    order: TrackOrder,
    blocks: u64,
}

/// A zone, with everything precomputed that does not depend on the block.
#[derive(Debug)]
struct ZoneMap {
    start: u64,
    end: u64,
    empty: u64,
    first_cyl: u32,
    sectors_per_track: u32,
    /// The interval of spares; `None` if the zone is one interval.
    interval: Option<Interval>,
    /// The zone's range in `slips`, in ascending order of both `block` and `position`.
    slips: Range<usize>,
    per_cylinder: Divisor,
    per_track: Divisor,
    offset: Angle,
    track_skew: Angle,
    cyl_skew: Angle,
    sector: Angle,
}

/// Regular spares: the last `full - usable` of each `full` positions.
#[derive(Debug)]
struct Interval {
    usable: Divisor,
    full: Divisor,
}

/// A sector or track that is skipped.
#[derive(Debug)]
struct Slip {
    /// First block of the zone behind it, counting empty blocks.
    block: u64,
    /// Position in the zone.
    position: u64,
    /// Its interval; a slip moves nothing beyond it.
    interval: u64,
    /// Positions skipped in this interval up to this one, itself included.
    passed: u64,
}

impl Map {
    pub(super) fn new(drive: &Drive) -> Result<Self, DriveError> {
        if drive.surfaces == 0 || drive.zones.is_empty() {
            return Err(DriveError::Drive("it has no surface or no zone"));
        }
        let mut map = Self {
            parts: Box::default(),
            part: 0,
            zones: Box::default(),
            slips: Box::default(),
            surfaces: drive.surfaces,
            order: drive.order,
            blocks: 0,
        };
        let mut zones = Vec::new();
        let mut slips = Vec::new();
        let mut next_cyl = 0;
        for (index, zone) in drive.zones.iter().enumerate() {
            if zone.first_cyl < next_cyl || zone.last_cyl < zone.first_cyl {
                let why = "cylinders must rise, within a zone and from zone to zone";
                return Err(DriveError::Zone { index, why });
            }
            next_cyl = zone.last_cyl + 1;
            let zone = ZoneMap::new(drive, zone, map.blocks, &mut slips)
                .map_err(|why| DriveError::Zone { index, why })?;
            map.blocks = zone.end;
            zones.push(zone);
        }
        map.part = (map.blocks / PARTS).checked_ilog2().map_or(0, |log| log + 1);
        let zone_of = |block| zones.partition_point(|zone| zone.end <= block) as u32;
        map.parts = (0..=(map.blocks - 1) >> map.part).map(|at| zone_of(at << map.part)).collect();
        map.zones = zones.into();
        map.slips = slips.into();
        Ok(map)
    }

    /// Number of blocks on the drive.
    pub(super) fn blocks(&self) -> u64 {
        self.blocks
    }

    /// The cylinder behind the last one that holds data.
    pub(super) fn end_cylinder(&self) -> u32 {
        let last = &self.zones[self.zones.len() - 1];
        let (_, cylinder) = last.per_cylinder.split(self.physical(last, last.last()).0);
        last.first_cyl + cylinder as u32 + 1
    }

    /// Returns the zone of `block`.
    pub(super) fn zone_of(&self, block: u64) -> u32 {
        let mut zone = self.parts[(block >> self.part) as usize];
        while self.zones[zone as usize].end <= block {
            zone += 1;
        }
        zone
    }

    /// Returns the sectors of a track in `zone`.
    pub(super) fn sectors_per_track(&self, zone: u32) -> u32 {
        self.zones[zone as usize].sectors_per_track
    }

    /// Number of zones on the drive.
    pub(super) fn zones(&self) -> u32 {
        self.zones.len() as u32
    }

    /// Returns the place of `block`, which is in `zone`.
    pub(super) fn place(&self, zone: u32, block: u64) -> Place {
        let zone = &self.zones[zone as usize];
        self.on_track(zone, self.physical(zone, zone.position(block)).0)
    }

    /// Returns the part of `blocks` blocks from `block` on that lies on one track.
    pub(super) fn run(&self, zone: u32, block: u64, blocks: u64) -> Run {
        let map = &self.zones[zone as usize];
        let x = map.position(block);
        let (first, together) = self.physical(map, x);
        let place = self.on_track(map, first);
        let left_on_track = u64::from(map.sectors_per_track - place.sector);
        let blocks = blocks.min(map.end - block);
        if blocks <= left_on_track.min(together) {
            return Run { place, zone, blocks, sectors: blocks };
        }
        let blocks = blocks.min(self.logical(map, first + left_on_track) - x);
        let (last, _) = self.physical(map, x + blocks - 1);
        Run { place, zone, blocks, sectors: last - first + 1 }
    }

    /// Returns the position in the zone of its block `x`, counting empty blocks, and a lower bound
    /// of the blocks that follow it without a gap.
    fn physical(&self, zone: &ZoneMap, x: u64) -> (u64, u64) {
        let (rest, interval, full) = zone.split(x, |interval| &interval.usable);
        let together = zone.interval.as_ref().map_or(u64::MAX, |i| i.usable.by - rest);
        let slips = &self.slips[zone.slips.clone()];
        if slips.is_empty() {
            return (interval * full + rest, together);
        }
        let next = slips.partition_point(|slip| slip.block <= x);
        let passed = match next.checked_sub(1) {
            Some(at) if slips[at].interval == interval => slips[at].passed,
            _ => 0,
        };
        let together = slips.get(next).map_or(together, |slip| together.min(slip.block - x));
        (interval * full + rest + passed, together)
    }

    /// Returns the first block `x` of the zone, counting empty blocks, at `position` or behind it.
    fn logical(&self, zone: &ZoneMap, position: u64) -> u64 {
        let (rest, interval, _) = zone.split(position, |interval| &interval.full);
        let slips = &self.slips[zone.slips.clone()];
        let passed = match slips.partition_point(|slip| slip.position < position).checked_sub(1) {
            Some(at) if slips[at].interval == interval => slips[at].passed,
            _ => 0,
        };
        match &zone.interval {
            // Spares at the end of the interval hold nothing.
            Some(i) => interval * i.usable.by + (rest - passed).min(i.usable.by),
            None => rest - passed,
        }
    }

    fn on_track(&self, zone: &ZoneMap, position: u64) -> Place {
        let (in_cylinder, cylinder) = zone.per_cylinder.split(position);
        let (sector, track) = zone.per_track.split(in_cylinder);
        // Track skews are counted in the order of the blocks. There is none between cylinders: the
        // cylinder skew takes its place there.
        let tracks = cylinder * u64::from(self.surfaces - 1) + track;
        let angle = zone
            .offset
            .plus(zone.track_skew.times(tracks))
            .plus(zone.cyl_skew.times(cylinder))
            .plus(zone.sector.times(sector));
        let track = track as u32;
        let reversed = self.order == TrackOrder::Serpentine && cylinder % 2 == 1;
        Place {
            cylinder: zone.first_cyl + cylinder as u32,
            head: if reversed { self.surfaces - 1 - track } else { track },
            sector: sector as u32,
            sectors_per_track: zone.sectors_per_track,
            angle,
        }
    }
}

impl ZoneMap {
    fn new(
        drive: &Drive,
        zone: &Zone,
        start: u64,
        slips: &mut Vec<Slip>,
    ) -> Result<Self, &'static str> {
        let track = u64::from(zone.sectors_per_track);
        let cylinder = track * u64::from(drive.surfaces);
        let cylinders = u64::from(zone.last_cyl - zone.first_cyl) + 1;
        let all = cylinder.checked_mul(cylinders).ok_or(TOO_LARGE)?;
        let spares = u64::from(zone.spares);
        let (full, spares) = match drive.spares {
            Spares::None => (all, 0),
            Spares::ZoneEnd => (all, zone.slips.len() as u64),
            Spares::PerZone => (all, spares),
            Spares::Tracks => (all, spares * track),
            Spares::PerRange { cylinders } => (u64::from(cylinders) * cylinder, spares),
            Spares::PerTrack => (track, spares),
            Spares::PerCylinder => (cylinder, spares),
        };
        let width = if drive.spares == Spares::Tracks { track } else { 1 };
        if zone.sectors_per_track < 2 || full < spares + 2 {
            return Err("a track, and what is not spare of an interval, needs two sectors or more");
        }
        // The divisors below are exact up to this product.
        all.checked_mul(cylinder.max(full.min(all))).ok_or(TOO_LARGE)?;
        let usable = full - spares;
        let first_slip = slips.len();
        add_slips(zone, width, all, full, usable, slips)?;
        // A range cut off by the zone's end has no spares.
        let blocks = all / full * usable + (all % full).min(usable);
        let empty = u64::from(zone.empty_blocks);
        let blocks = blocks.checked_sub(empty).filter(|&b| b > 0).ok_or("it holds no block")?;
        let turns = |sectors: f64| Angle::from_turns(sectors / f64::from(zone.sectors_per_track));
        let whole = full >= all || usable == full;
        Ok(Self {
            start,
            end: start + blocks,
            empty,
            first_cyl: zone.first_cyl,
            sectors_per_track: zone.sectors_per_track,
            interval: (!whole)
                .then(|| Interval { usable: Divisor::new(usable), full: Divisor::new(full) }),
            slips: first_slip..slips.len(),
            per_cylinder: Divisor::new(cylinder),
            per_track: Divisor::new(track),
            offset: turns(zone.offset),
            track_skew: turns(zone.track_skew),
            cyl_skew: turns(zone.cyl_skew),
            sector: Angle(((1_u128 << 64) / u128::from(track)) as u64),
        })
    }

    /// Returns a block's number in the zone, counting the empty blocks at the front.
    const fn position(&self, block: u64) -> u64 {
        block - self.start + self.empty
    }

    /// Returns the last block's number in the zone, counting empty blocks.
    const fn last(&self) -> u64 {
        self.position(self.end - 1)
    }

    /// Returns the place of `x` within its interval, the number of the interval, and the positions
    /// of an interval. `divisor` selects the length of intervals.
    fn split(&self, x: u64, divisor: impl Fn(&Interval) -> &Divisor) -> (u64, u64, u64) {
        match &self.interval {
            None => (x, 0, 0),
            Some(interval) => {
                let (rest, number) = divisor(interval).split(x);
                (rest, number, interval.full.by)
            }
        }
    }
}

/// Appends the slips of one zone, each `width` sectors wide.
fn add_slips(
    zone: &Zone,
    width: u64,
    all: u64,
    full: u64,
    usable: u64,
    slips: &mut Vec<Slip>,
) -> Result<(), &'static str> {
    let mut sorted = zone.slips.clone();
    sorted.sort_unstable();
    let (mut interval, mut passed) = (0, 0);
    let mut before = None;
    for slip in sorted {
        let position = slip.checked_mul(width).filter(|&at| at < all).ok_or("a slip beyond it")?;
        if before.replace(slip) == Some(slip) {
            return Err("the same slip twice");
        }
        if position / full != interval {
            (interval, passed) = (position / full, 0);
        }
        let rest = position % full - passed;
        if rest >= usable {
            continue; // A bad spare: nothing lies behind it.
        }
        passed += width;
        if passed > full - usable || interval == all / full {
            return Err("more slips than spares");
        }
        slips.push(Slip { block: interval * usable + rest, position, interval, passed });
    }
    Ok(())
}

#[cfg(test)]
mod tests;
mod track;
