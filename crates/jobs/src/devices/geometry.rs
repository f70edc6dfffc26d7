//! A drive by its geometry: zones, skews and seek times, as extraction tools and published
//! parameter files state them.
//!
//! A drive has nothing that its table does not state: no spares beyond those that `capacity`
//! leaves, no slips, no cache of its own, no bus.

use penstock_core::Span;
use penstock_device::hdd::{
    BusProtocol, Cache, CommandOverheads, Drive, Hdd, Options, Spares, TrackOrder, Zone,
};
use serde_json::Value as Json;

use super::seek::{self, SeekSpec};
use crate::amount::{Amount, Count, SIZE, TIME};
use crate::describe;
use crate::diagnose::JobError;
use crate::keys::{keys, table};
use crate::kinds::{Own, list};
use crate::reader::Reader;
use crate::rows::Rows;
use crate::tree::{Node, Value};
use crate::units::size_text;

/// Bound of each part of an access.
const PART: Amount = TIME.at_most(Span::from_ms(500).ns());
/// Most cylinders: more than any drive has.
const CYLINDERS_MOST: u64 = 1 << 24;

keys! {
    /// Keys of a drive by its geometry.
    KEYS:
    /// Bands of cylinders with equally many sectors a track, from the outer edge inwards.
    ZONES zones: Vec<ZoneSpec> = Own {
        read: zones,
        text: |zones| list(zones, ZoneSpec::text),
        schema: || describe::some(&table(ZONE_KEYS)),
    }, needs "[{ first = 0, last = 11473, sectors = 390 }]";
    /// Cylinders that the arm can reach.
    CYLINDERS cylinders: u32 = Count(12, CYLINDERS_MOST), needs "11474";
    /// Surfaces that carry data.
    HEADS heads: u32 = Count(1, 64), needs "5";
    /// Turns a minute.
    RPM rpm: u32 = Count(1_000, 100_000), needs "7200";
    /// Seek times: a table of times by distance, or a curve.
    SEEK seek: SeekSpec = seek::KIND, needs "{ single = \"1ms\", average = \"7ms\", full = \"13ms\" }";
    /// Delay with which the next track of a cylinder begins.
    TRACK_SKEW track_skew: Span = PART, or Span::ZERO;
    /// Delay with which the next cylinder begins.
    CYLINDER_SKEW cylinder_skew: Span = PART, or Span::ZERO;
    /// Time to change heads.
    SWITCH head_switch: Span = PART, or Span::ZERO;
    /// Additional time of a write's seek.
    SETTLE write_settle: Span = PART, or Span::ZERO;
    /// Additional time of a read, the drive's own overhead.
    READ_OVERHEAD read_overhead: Span = PART, or Span::ZERO;
    /// Additional time of a read after a write; if not given, as after a read.
    READ_AFTER_WRITE read_overhead_after_write: Span = PART;
    /// Additional time of a write.
    WRITE_OVERHEAD write_overhead: Span = PART, or Span::ZERO;
    /// Additional time of a write after a write; if not given, as after a read.
    WRITE_AFTER_WRITE write_overhead_after_write: Span = PART;
    /// Bytes of the drive; the remaining sectors, at the inner edge, are spare. If not given, the
    /// sum of the zones.
    CAPACITY capacity: u64 = SIZE.above_zero();
}

keys! {
    /// Keys of a zone.
    ZONE_KEYS:
    /// First cylinder.
    FIRST first: u32 = Count(0, CYLINDERS_MOST), needs "0";
    /// Last cylinder, included in the zone.
    LAST last: u32 = Count(0, CYLINDERS_MOST), needs "881";
    /// Sectors of 512 bytes on each track.
    SECTORS sectors: u32 = Count(2, 1 << 20), needs "390";
}

/// A drive by its geometry.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GeometrySpec {
    /// Bands of cylinders, from the outer edge inwards.
    pub zones: Vec<ZoneSpec>,
    /// Cylinders that the arm can reach.
    pub cylinders: u32,
    /// Surfaces that carry data.
    pub heads: u32,
    /// Turns a minute.
    pub rpm: u32,
    /// Seek times.
    pub seek: SeekSpec,
    /// Delay of the next track of a cylinder, and of the next cylinder.
    pub skews: [Span; 2],
    /// Time to change heads.
    pub head_switch: Span,
    /// Time by which a write's seek is longer than a read's.
    pub write_settle: Span,
    /// Overheads of commands.
    pub overheads: CommandOverheads,
    /// Capacity in bytes; `None`: all that the zones hold.
    pub capacity: Option<u64>,
}

/// Cylinders with equally many sectors per track.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ZoneSpec {
    /// First cylinder.
    pub first: u32,
    /// Last cylinder, part of the zone.
    pub last: u32,
    /// Sectors of each track.
    pub sectors: u32,
}

/// Whether the table of a drive describes its geometry.
pub(super) fn is_geometry(node: &Node) -> bool {
    matches!(&node.value, Value::Table(table) if table.get(ZONES.name).is_some())
}

pub(super) fn read(node: &Node) -> Result<GeometrySpec, JobError> {
    let reader = Reader::new(node, "the drive", &[KEYS])?;
    let (read, write) = (reader.get(&READ_OVERHEAD)?, reader.get(&WRITE_OVERHEAD)?);
    let geometry = GeometrySpec {
        zones: reader.get(&ZONES)?,
        cylinders: reader.get(&CYLINDERS)?,
        heads: reader.get(&HEADS)?,
        rpm: reader.get(&RPM)?,
        seek: reader.get(&SEEK)?,
        skews: [reader.get(&TRACK_SKEW)?, reader.get(&CYLINDER_SKEW)?],
        head_switch: reader.get(&SWITCH)?,
        write_settle: reader.get(&SETTLE)?,
        overheads: CommandOverheads {
            read_after_read: read,
            read_after_write: reader.find(&READ_AFTER_WRITE)?.unwrap_or(read),
            write_after_read: write,
            write_after_write: reader.find(&WRITE_AFTER_WRITE)?.unwrap_or(write),
        },
        capacity: reader.find(&CAPACITY)?,
    };
    let GeometrySpec { zones, cylinders, .. } = &geometry;
    let last = zones.last().map_or(0, |zone| zone.last);
    if last >= *cylinders {
        let message = format!("the zones end with cylinder {last}; the drive has {cylinders}");
        let hint = "cylinders are counted from 0: the last of 100 is 99";
        return Err(JobError::new(message).at(reader.place(&ZONES)).hint(hint));
    }
    geometry.seek.check(*cylinders).map_err(|error| error.at(reader.place(&SEEK)))?;
    geometry.check_capacity().map_err(|error| error.at(reader.place(&CAPACITY)))?;
    let built = Hdd::new(&geometry.drive(), Options::MECHANICAL);
    let hint = "compare with the drive's parameters";
    built.map_err(|error| JobError::new(error.to_string()).at(&node.origin).hint(hint))?;
    Ok(geometry)
}

/// Describes the table.
pub(super) fn schema() -> Json {
    table(KEYS)
}

fn zones(node: &Node) -> Result<Vec<ZoneSpec>, JobError> {
    let expected = "a list of zones, as in [{ first = 0, last = 881, sectors = 390 }]";
    let items = node.list(expected)?;
    let mut zones: Vec<ZoneSpec> = Vec::with_capacity(items.len());
    for item in &items {
        let reader = Reader::new(item, "the zone", &[ZONE_KEYS])?;
        let (first, last) = (reader.get(&FIRST)?, reader.get(&LAST)?);
        let wrong = |message: String, key| JobError::new(message).at(reader.place(key));
        if last < first {
            let message = format!("the zone begins with cylinder {first} and ends with {last}");
            return Err(wrong(message, &LAST).hint("`last` is `first` or greater"));
        }
        if let Some(before) = zones.last().map(|zone| zone.last).filter(|&before| first <= before) {
            let message = format!(
                "the zone begins with cylinder {first}, and the one before it ends with {before}"
            );
            return Err(
                wrong(message, &FIRST).hint("zones follow each other from the outer edge inwards")
            );
        }
        zones.push(ZoneSpec { first, last, sectors: reader.get(&SECTORS)? });
    }
    if zones.is_empty() {
        return Err(node.expected(expected).hint("a drive has one zone at least"));
    }
    Ok(zones)
}

impl ZoneSpec {
    fn text(&self) -> String {
        let rows = Rows::of(&[ZONE_KEYS]).put(&FIRST, &self.first).put(&LAST, &self.last);
        rows.put(&SECTORS, &self.sectors).inline()
    }

    /// Returns the sectors of the zone under `heads` heads.
    fn holds(&self, heads: u32) -> u64 {
        u64::from(self.last - self.first + 1) * u64::from(heads) * u64::from(self.sectors)
    }
}

impl GeometrySpec {
    pub(super) fn text(&self) -> String {
        let ([track, cylinder], overheads) = (&self.skews, &self.overheads);
        Rows::of(&[KEYS])
            .put(&ZONES, &self.zones)
            .put(&CYLINDERS, &self.cylinders)
            .put(&HEADS, &self.heads)
            .put(&RPM, &self.rpm)
            .put(&SEEK, &self.seek)
            .put(&TRACK_SKEW, track)
            .put(&CYLINDER_SKEW, cylinder)
            .put(&SWITCH, &self.head_switch)
            .put(&SETTLE, &self.write_settle)
            .put(&READ_OVERHEAD, &overheads.read_after_read)
            .maybe(&READ_AFTER_WRITE, Some(&overheads.read_after_write))
            .put(&WRITE_OVERHEAD, &overheads.write_after_read)
            .maybe(&WRITE_AFTER_WRITE, Some(&overheads.write_after_write))
            .maybe(&CAPACITY, self.capacity.as_ref())
            .inline()
    }

    /// Returns the sectors of all zones.
    fn sectors(&self) -> u64 {
        self.zones.iter().map(|zone| zone.holds(self.heads)).sum()
    }

    /// Returns the sectors at the inner edge that hold no data.
    fn spare(&self) -> u64 {
        self.capacity.map_or(0, |bytes| self.sectors().saturating_sub(bytes.div_ceil(512)))
    }

    /// Checks that the zones hold the capacity, and that the last zone is not empty.
    fn check_capacity(&self) -> Result<(), JobError> {
        let holds = self.sectors().saturating_mul(512);
        let last = self.zones.last().map_or(0, |zone| zone.holds(self.heads));
        let capacity = self.capacity.unwrap_or(holds);
        let text = size_text(capacity);
        if capacity > holds {
            let message =
                format!("the zones hold {}, less than the capacity of {text}", size_text(holds));
            return Err(JobError::new(message).hint("leave `capacity` out for all that they hold"));
        }
        if self.spare() + 2 > last || self.spare() > u64::from(u32::MAX) {
            let message = format!("a capacity of {text} leaves the last zone empty");
            return Err(JobError::new(message).hint("leave that zone out"));
        }
        Ok(())
    }

    pub(super) fn drive(&self) -> Drive {
        let (spare, last) = (self.spare() as u32, self.zones.len() - 1);
        let zone = |(number, zone): (usize, &ZoneSpec)| {
            let sectors = |skew: Span| {
                skew.ns() as f64 * f64::from(self.rpm) * f64::from(zone.sectors) / 6e10
            };
            let [track_skew, cyl_skew] = self.skews.map(sectors);
            Zone {
                first_cyl: zone.first,
                last_cyl: zone.last,
                sectors_per_track: zone.sectors,
                offset: 0.0,
                empty_blocks: 0,
                track_skew,
                cyl_skew,
                spares: if number == last { spare } else { 0 },
                slips: Vec::new(),
            }
        };
        Drive {
            surfaces: self.heads,
            cylinders: self.cylinders,
            rpm: self.rpm,
            zones: self.zones.iter().enumerate().map(zone).collect(),
            spares: Spares::PerZone,
            order: TrackOrder::Normal,
            seek: self.seek.law(self.cylinders),
            head_switch: self.head_switch,
            write_settle_ns: self.write_settle.ns().cast_signed(),
            overheads: self.overheads,
            least_write_seek: Span::ZERO,
            bus: None,
            protocol: BusProtocol::NONE,
            cache: Cache::NONE,
        }
    }
}

#[cfg(test)]
mod tests;
