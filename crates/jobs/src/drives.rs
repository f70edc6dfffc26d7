//! Hard disks by name: published facts of drives, converted to [`Drive`].
//!
//! Twelve drives were measured (by `DIXtrac`, or earlier by hand); the others follow data sheets,
//! and `hdd-7200` has round figures of no particular product. The facts are embedded, so an error
//! in them is a panic, and a test reads every drive.

mod convert;
pub mod observed;
mod sheet;

use std::collections::BTreeMap;
use std::sync::OnceLock;

use penstock_core::Span;
use penstock_device::hdd::{
    BusProtocol, BusTimes, Cache, CommandOverheads, Drive, EarlyDisconnect, SeekLaw, Spares,
    TrackOrder, Zone,
};
use serde::Deserialize;

use self::convert::{ms, percent, read_ahead};
pub(crate) use self::sheet::Sheet;

/// Name of the drive with round figures.
const NEARLINE: &str = "hdd-7200";

/// Returns the drive called `name`.
pub fn drive(name: &str) -> Option<Drive> {
    drives().get(name).cloned()
}

/// Returns the names of all drives in alphabetical order.
pub fn names() -> impl Iterator<Item = &'static str> {
    drives().keys().map(String::as_str)
}

/// Returns the names of the drives whose bus is not published.
pub fn without_bus() -> impl Iterator<Item = &'static str> {
    let unknown = drives().iter().filter(|(_, drive)| drive.bus.is_none());
    unknown.map(|(name, _)| name.as_str())
}

fn drives() -> &'static BTreeMap<String, Drive> {
    static DRIVES: OnceLock<BTreeMap<String, Drive>> = OnceLock::new();
    DRIVES.get_or_init(|| {
        let Disks { disk } = toml::from_str(include_str!("../data/disks.toml"))
            .expect("the embedded facts can be read");
        let Disk { generic_7200_nearline: sheet, measured } = disk;
        let mut drives: BTreeMap<_, _> =
            measured.into_iter().map(|(name, facts)| (name, facts.into())).collect();
        drives.insert(NEARLINE.to_string(), sheet.into());
        let Sheets { disk } = toml::from_str(include_str!("../data/sheets.toml"))
            .expect("the embedded sheets can be read");
        drives.extend(disk.into_iter().map(|(name, sheet)| (name, sheet.into())));
        drives
    })
}

#[derive(Deserialize)]
struct Disks {
    disk: Disk,
}

#[derive(Deserialize)]
struct Disk {
    generic_7200_nearline: Sheet,
    #[serde(flatten)]
    measured: BTreeMap<String, Measured>,
}

#[derive(Deserialize)]
struct Sheets {
    disk: BTreeMap<String, Sheet>,
}

/// Facts that were extracted from a drive. Times are in milliseconds.
#[derive(Deserialize)]
struct Measured {
    data_surfaces: u32,
    cylinders: u32,
    rotation_speed_rpm: u32,
    zones: Vec<ZoneRow>,
    /// Zone number, and the sector or track within the zone.
    slips: Vec<(usize, u64)>,
    lbn_mapping: String,
    sparing: String,
    sparing_range: u32,
    seek_type: String,
    seek_table: Option<Vec<(u32, f64)>>,
    first_ten_seek_times: Option<Vec<f64>>,
    /// First distance of the line, constant and factor of the root, constant and factor of the
    /// line, an unused value.
    hpl_seek_equation_values: Option<(u32, f64, f64, f64, f64, f64)>,
    head_switch_time: f64,
    add_write_settling_delay: f64,
    controller: Controller,
}

/// First and last cylinder, sectors per track, offset, empty blocks, track skew, cylinder skew,
/// spares.
#[derive(Deserialize)]
struct ZoneRow(u32, u32, u32, f64, u32, f64, f64, u32);

/// Facts of the controller. Times are in milliseconds.
#[derive(Deserialize)]
struct Controller {
    /// Time of the drive itself for a sector; zero if the facts state only the bus.
    bulk_sector_transfer_time: f64,
    bus_read_block_transfer_time: Option<f64>,
    bus_write_block_transfer_time: Option<f64>,
    read_miss_overhead_after_read: f64,
    read_miss_overhead_after_write: f64,
    write_miss_overhead_after_read: f64,
    write_miss_overhead_after_write: f64,
    read_hit_overhead_after_read: f64,
    read_hit_overhead_after_write: f64,
    write_hit_overhead_after_read: f64,
    write_hit_overhead_after_write: f64,
    number_of_buffer_segments: u32,
    segment_size_blocks: u32,
    use_separate_write_segment: u8,
    buffer_continuous_read: u8,
    minimum_read_ahead_blocks: u32,
    maximum_read_ahead_blocks: u32,
    read_ahead_on_idle_hit: u8,
    allow_almost_read_hits: u8,
    read_any_free_blocks: u8,
    immediate_buffer_read: u8,
    fast_write_level: u8,
    combine_seq_writes: u8,
    allow_read_hits_on_write_data: u8,
    immediate_buffer_write: u8,
    stop_prefetch_in_sector: u8,
    read_ahead_over_requested: i8,
    high_read_water_mark: f64,
    low_write_water_mark: f64,
    hold_bus_entire_write_xfer: u8,
    data_preparation_overhead: f64,
    first_reselect_overhead: f64,
    other_reselect_overhead: f64,
    read_disconnect_afterread: f64,
    read_disconnect_afterwrite: f64,
    write_disconnect_overhead: f64,
    read_completion_overhead: f64,
    write_completion_overhead: f64,
    extra_write_disconnect: u8,
    extradisc_command_overhead: f64,
    extradisc_disconnect_overhead: f64,
    extradisc_inter_disconnect_delay: f64,
    extradisc_2nd_disconnect_overhead: f64,
    extradisc_seek_delta: f64,
    minimum_seek_delay: f64,
}

impl From<Measured> for Drive {
    fn from(facts: Measured) -> Self {
        let (spares, seek) = (facts.spares(), facts.seek());
        let order = match facts.lbn_mapping.split_whitespace().next() {
            Some("normal") => TrackOrder::Normal,
            Some("serpentine") => TrackOrder::Serpentine,
            _ => panic!("no order of tracks is called {}", facts.lbn_mapping),
        };
        let mut zones: Vec<Zone> = facts.zones.into_iter().map(Zone::from).collect();
        for (zone, slip) in facts.slips {
            zones[zone].slips.push(slip);
        }
        let controller = facts.controller;
        Self {
            surfaces: facts.data_surfaces,
            cylinders: facts.cylinders,
            rpm: facts.rotation_speed_rpm,
            zones,
            spares,
            order,
            seek,
            head_switch: ms(facts.head_switch_time),
            write_settle_ns: (facts.add_write_settling_delay * 1e6).round() as i64,
            overheads: CommandOverheads {
                read_after_read: ms(controller.read_miss_overhead_after_read),
                read_after_write: ms(controller.read_miss_overhead_after_write),
                write_after_read: ms(controller.write_miss_overhead_after_read),
                write_after_write: ms(controller.write_miss_overhead_after_write),
            },
            least_write_seek: ms(controller.minimum_seek_delay),
            bus: controller.bus(),
            protocol: controller.protocol(),
            cache: controller.cache(),
        }
    }
}

impl Controller {
    /// Returns the times of the slower of drive and bus; `None` if neither is known.
    fn bus(&self) -> Option<BusTimes> {
        let own = self.bulk_sector_transfer_time;
        let slower = |bus: Option<f64>| ms(own.max(bus.unwrap_or(0.0)));
        let (read, write) = (self.bus_read_block_transfer_time, self.bus_write_block_transfer_time);
        let known = own > 0.0 || read.is_some();
        known.then(|| BusTimes { read: slower(read), write: slower(write) })
    }

    fn protocol(&self) -> BusProtocol {
        let early = EarlyDisconnect {
            command: ms(self.extradisc_command_overhead),
            seek_delay: ms(self.extradisc_seek_delta),
            disconnect: ms(self.extradisc_disconnect_overhead),
            apart: ms(self.extradisc_inter_disconnect_delay),
            second_disconnect: ms(self.extradisc_2nd_disconnect_overhead),
            second_reselect: ms(self.other_reselect_overhead),
        };
        BusProtocol {
            data_preparation: ms(self.data_preparation_overhead),
            reselect: ms(self.first_reselect_overhead),
            read_disconnect_after_read: ms(self.read_disconnect_afterread),
            read_disconnect_after_write: ms(self.read_disconnect_afterwrite),
            write_disconnect: ms(self.write_disconnect_overhead),
            read_completion: ms(self.read_completion_overhead),
            write_completion: ms(self.write_completion_overhead),
            early_disconnect: (self.extra_write_disconnect != 0).then_some(early),
        }
    }

    fn cache(&self) -> Cache {
        Cache {
            segments: self.number_of_buffer_segments,
            segment_sectors: self.segment_size_blocks,
            write_segment: self.use_separate_write_segment != 0,
            ahead: read_ahead(self.buffer_continuous_read),
            ahead_least: self.minimum_read_ahead_blocks,
            ahead_most: self.maximum_read_ahead_blocks,
            ahead_on_hit: self.read_ahead_on_idle_hit != 0,
            hits_on_coming: self.allow_almost_read_hits != 0,
            free_sectors: self.read_any_free_blocks != 0,
            zero_latency: self.immediate_buffer_read != 0,
            zero_latency_write: self.immediate_buffer_write != 0,
            stops_in_sector: self.stop_prefetch_in_sector != 0,
            drops_asked: self.read_ahead_over_requested < 0,
            read_mark: percent(self.high_read_water_mark),
            write_mark: percent(self.low_write_water_mark),
            holds_bus_for_write: self.hold_bus_entire_write_xfer != 0,
            write_back: self.fast_write_level != 0,
            combine: self.combine_seq_writes != 0,
            hits_on_written: self.allow_read_hits_on_write_data != 0,
            keeps_asked: false,
            short_if_continued: false,
            settle: Span::ZERO,
            overheads: CommandOverheads {
                read_after_read: ms(self.read_hit_overhead_after_read),
                read_after_write: ms(self.read_hit_overhead_after_write),
                write_after_read: ms(self.write_hit_overhead_after_read),
                write_after_write: ms(self.write_hit_overhead_after_write),
            },
        }
    }
}

impl Measured {
    fn spares(&self) -> Spares {
        match self.sparing.split_whitespace().next() {
            Some("none") => Spares::None,
            Some("sectors_at_end_of_zone") => Spares::ZoneEnd,
            Some("sectors_per_zone") => Spares::PerZone,
            Some("sector_per_range") => Spares::PerRange { cylinders: self.sparing_range },
            Some("track") => Spares::Tracks,
            Some("sector_per_track") => Spares::PerTrack,
            Some("sector_per_cylinder") => Spares::PerCylinder,
            _ => panic!("no spare scheme is called {}", self.sparing),
        }
    }

    fn seek(&self) -> SeekLaw {
        if self.seek_type == "extracted" {
            let table = self.seek_table.as_ref().expect("an extracted table");
            return SeekLaw::Table(table.iter().map(|&(d, time)| (d, ms(time))).collect());
        }
        assert_eq!(self.seek_type, "hplplus10", "no other law is in the data");
        let first = self.first_ten_seek_times.iter().flatten().map(|&time| ms(time)).collect();
        let (below, a, b, c, d, _) = self.hpl_seek_equation_values.expect("the curves' values");
        SeekLaw::ListAndCurves { first, below, root: (a, b), line: (c, d) }
    }
}

impl From<ZoneRow> for Zone {
    fn from(row: ZoneRow) -> Self {
        let ZoneRow(first_cyl, last_cyl, sectors_per_track, offset, empty, track, cyl, spares) =
            row;
        Self {
            first_cyl,
            last_cyl,
            sectors_per_track,
            offset,
            empty_blocks: empty,
            track_skew: track,
            cyl_skew: cyl,
            spares,
            slips: Vec::new(),
        }
    }
}
