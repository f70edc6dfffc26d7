//! Drives of data sheets.

use penstock_core::Span;
use penstock_device::hdd::{
    BusProtocol, BusTimes, Cache, CommandOverheads, Drive, ReadAhead, SeekLaw, Spares, TrackOrder,
    Zone,
};
use serde::Deserialize;

use super::convert::ms;

/// Zones of a data-sheet drive. Drives have 15 to 30; with 20, neighbouring zones differ in rate by
/// at most 6 %.
const SHEET_ZONES: u32 = 20;

/// Command overhead of a data-sheet drive. No sheet states one; this is the order of the overhead
/// that was measured for reads on the 7,200 rpm drives here (0.25 ms on `ibm18es`, 0.6 ms on
/// `barracuda`).
const SHEET_OVERHEAD: Span = Span::from_us(300);

/// Command overhead when the cache of a data-sheet drive answers: the order of the overhead that
/// was measured for read hits on `ibm18es`, `cheetah9LP` and `barracuda` (0.07 to 0.08 ms).
const NEARLINE_HIT_OVERHEAD: Span = Span::from_us(80);

/// Segments of a data-sheet drive's cache. No sheet states them; with 128 MiB each holds what two
/// turns at the outer edge read.
const NEARLINE_SEGMENTS: u32 = 40;

/// Facts of a data sheet. Times are in milliseconds, rates in 10^6 bytes a second.
///
/// `disks.toml` calls its two rates those of the medium, but says that they are round numbers from
/// data sheets, and sheets state sustained rates.
#[derive(Deserialize)]
pub(crate) struct Sheet {
    pub(crate) data_surfaces: u32,
    pub(crate) cylinders: u32,
    pub(crate) rotation_speed_rpm: u32,
    pub(crate) single_cylinder_seek_time: f64,
    pub(crate) avg_read_seek_time: f64,
    pub(crate) full_strobe_seek_time: f64,
    pub(crate) add_write_settling_delay: f64,
    pub(crate) head_switch_time: f64,
    #[serde(alias = "outer_media_rate_mb_s")]
    pub(crate) outer_sustained_rate_mb_s: f64,
    #[serde(alias = "inner_media_rate_mb_s")]
    pub(crate) inner_sustained_rate_mb_s: f64,
    pub(crate) interface_rate_mb_s: f64,
    pub(crate) cache_mib: u32,
}

impl From<Sheet> for Drive {
    fn from(sheet: Sheet) -> Self {
        let zones = (0..SHEET_ZONES).map(|index| sheet.zone(index)).collect();
        Self {
            surfaces: sheet.data_surfaces,
            cylinders: sheet.cylinders,
            rpm: sheet.rotation_speed_rpm,
            zones,
            spares: Spares::None,
            order: TrackOrder::Normal,
            seek: SeekLaw::ThreePoint {
                single: ms(sheet.single_cylinder_seek_time),
                average: ms(sheet.avg_read_seek_time),
                full: ms(sheet.full_strobe_seek_time),
            },
            head_switch: ms(sheet.head_switch_time),
            write_settle_ns: (sheet.add_write_settling_delay * 1e6).round() as i64,
            overheads: CommandOverheads::constant(SHEET_OVERHEAD),
            least_write_seek: Span::ZERO,
            bus: Some(BusTimes::same(ms(512.0 / (sheet.interface_rate_mb_s * 1e3)))),
            protocol: BusProtocol::NONE,
            cache: Cache {
                segments: NEARLINE_SEGMENTS,
                segment_sectors: sheet.cache_mib * 2048 / NEARLINE_SEGMENTS,
                ahead_most: sheet.cache_mib * 2048 / NEARLINE_SEGMENTS,
                ahead: ReadAhead::Segment,
                ahead_on_hit: true,
                hits_on_coming: true,
                write_back: true,
                combine: true,
                hits_on_written: true,
                overheads: CommandOverheads::constant(NEARLINE_HIT_OVERHEAD),
                ..Cache::NONE
            },
        }
    }
}

impl Sheet {
    /// Sets the number of cylinders so that the drive holds `bytes`, and little more.
    pub(crate) fn holding(self, bytes: u64) -> Self {
        // Rounding at the borders of zones takes less than a cylinder from each zone.
        let needed = bytes.div_ceil(self.least() / u64::from(SHEET_ZONES));
        let cylinders = needed.next_multiple_of(SHEET_ZONES.into());
        Self { cylinders: u32::try_from(cylinders).unwrap_or(u32::MAX), ..self }
    }

    /// Returns the bytes of one cylinder in each zone.
    pub(crate) fn least(&self) -> u64 {
        let sectors = (0..SHEET_ZONES).map(|index| u64::from(self.sectors_per_track(index)));
        sectors.sum::<u64>() * u64::from(self.data_surfaces) * 512
    }

    fn turn_ms(&self) -> f64 {
        60_000.0 / f64::from(self.rotation_speed_rpm)
    }

    /// Returns the skew between the tracks of a cylinder and between cylinders. A skew shorter than
    /// the switch costs a turn on every track, a longer one costs the excess, so the skew just
    /// covers the switch. It is the switch of a write, which takes the settling longer, since
    /// sequential writes run at nearly the rate of reads.
    fn skews_ms(&self) -> [f64; 2] {
        let switch = self.head_switch_time;
        [switch, self.single_cylinder_seek_time.max(switch)]
            .map(|switch| switch + self.add_write_settling_delay)
    }

    /// Returns the sectors per track. The sustained rate of a sheet is that of a long sequential
    /// read, which on each cylinder reads a track with every head, waits for the track skew between
    /// two heads and once for the cylinder skew: the tracks of a cylinder hold the bytes of that
    /// whole time.
    fn sectors_per_track(&self, zone: u32) -> u32 {
        let inwards = f64::from(zone) / f64::from(SHEET_ZONES - 1);
        let (outer, inner) = (self.outer_sustained_rate_mb_s, self.inner_sustained_rate_mb_s);
        let heads = f64::from(self.data_surfaces);
        let [track, cylinder] = self.skews_ms();
        let cylinder_ms = heads * self.turn_ms() + (heads - 1.0) * track + cylinder;
        let bytes_per_track = (outer + (inner - outer) * inwards) * 1e3 * cylinder_ms / heads;
        (bytes_per_track / 512.0).round() as u32
    }

    /// Returns a zone. All zones have equally many cylinders; their rates fall linearly from the
    /// outer to the inner one, as the circumference of the tracks does.
    fn zone(&self, index: u32) -> Zone {
        let zones = u64::from(SHEET_ZONES);
        let first = |index| (u64::from(index) * u64::from(self.cylinders) / zones) as u32;
        let (sectors, turn_ms) = (self.sectors_per_track(index), self.turn_ms());
        let [track_skew, cyl_skew] =
            self.skews_ms().map(|skew_ms| (skew_ms * f64::from(sectors) / turn_ms).ceil());
        Zone {
            first_cyl: first(index),
            last_cyl: first(index + 1) - 1,
            sectors_per_track: sectors,
            offset: 0.0,
            empty_blocks: 0,
            track_skew,
            cyl_skew,
            spares: 0,
            slips: Vec::new(),
        }
    }
}
