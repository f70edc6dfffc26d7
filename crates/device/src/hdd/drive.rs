//! The plain facts of a drive, as a data sheet or an extraction tool states them.
//!
//! This file computes nothing: [`Hdd::new`](super::Hdd::new) checks the facts and converts them to
//! tables.

use core::fmt;

use penstock_core::Span;

use super::bus::{BusProtocol, BusTimes};

/// The known facts of one drive. Sectors have 512 bytes.
#[derive(Clone, PartialEq, Debug)]
pub struct Drive {
    /// Surfaces that carry data, with one head each.
    pub surfaces: u32,
    /// Cylinders that the arm can reach. Zones may end one later, as in some published tables.
    pub cylinders: u32,
    /// Turns a minute.
    pub rpm: u32,
    /// Bands of cylinders with equally many sectors a track, from the outer edge inwards. Cylinders
    /// between two zones hold no data.
    pub zones: Vec<Zone>,
    /// Places of spare sectors, which decide what a slip moves.
    pub spares: Spares,
    /// Order of the tracks of a zone.
    pub order: TrackOrder,
    /// Seek times.
    pub seek: SeekLaw,
    /// Time to change heads on one cylinder.
    pub head_switch: Span,
    /// Nanoseconds by which a write's seek is longer than a read's. May be negative: some tables
    /// were measured with writes.
    pub write_settle_ns: i64,
    /// Time to decode a command that the cache cannot answer.
    pub overheads: CommandOverheads,
    /// Least seek time of a write, however near it is.
    pub least_write_seek: Span,
    /// Time of one sector on the bus, if it is known.
    pub bus: Option<BusTimes>,
    /// Costs of a command on the bus.
    pub protocol: BusProtocol,
    /// The buffer and its rules.
    pub cache: Cache,
}

/// The buffer of a drive and its rules. Sizes are sectors.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a yes or no of the drive's facts")]
pub struct Cache {
    /// Parts of the buffer; each holds one run of sectors.
    pub segments: u32,
    /// Sectors of a segment.
    pub segment_sectors: u32,
    /// Whether one of the segments is for writes only, and the others for reads.
    pub write_segment: bool,
    /// Read-ahead behind a request.
    pub ahead: ReadAhead,
    /// Minimum read-ahead, even if a command waits.
    pub ahead_least: u32,
    /// Maximum read-ahead.
    pub ahead_most: u32,
    /// Whether it continues reading ahead after a request was found whole in an idle segment.
    pub ahead_on_hit: bool,
    /// Whether a read that begins with the very sector that is being read ahead is a hit.
    pub hits_on_coming: bool,
    /// Whether sectors that pass on the way to the first wanted one are kept.
    pub free_sectors: bool,
    /// Whether wanted sectors are read in the order in which they come round.
    pub zero_latency: bool,
    /// Whether sectors are written in the order in which they come round, once all data is in the
    /// buffer.
    pub zero_latency_write: bool,
    /// Whether the drive stops reading ahead at once, and not at the end of the passing sector.
    pub stops_in_sector: bool,
    /// Whether requested sectors are dropped when the host has them.
    pub drops_asked: bool,
    /// Percent of a read, or of a segment if that is less, that must be in the buffer before a read
    /// that needs the platter begins to cross the bus (the high water mark).
    pub read_mark: u32,
    /// Percent of a write longer than a segment, or of the segment, that may be left in the buffer
    /// when the next part begins to cross the bus (the low water mark).
    pub write_mark: u32,
    /// Whether such a write crosses the bus as the buffer has room, without the low water mark: the
    /// drive keeps the bus.
    pub holds_bus_for_write: bool,
    /// Whether a write is answered when its data is in the buffer.
    pub write_back: bool,
    /// Whether a write that continues the data on its way to the platter joins it.
    pub combine: bool,
    /// Whether written data may be read from the buffer.
    pub hits_on_written: bool,
    /// Whether reading ahead stops before it would displace requested sectors.
    pub keeps_asked: bool,
    /// Whether the short overhead after a command of the same kind applies only to a command that
    /// begins where that one ended. Any other command then costs as much as after the other kind.
    pub short_if_continued: bool,
    /// Least time of the arm for a command that needs the platter, even if it is on the track: it
    /// has read on or was idle, and must find the track again.
    pub settle: Span,
    /// Time to decode a command that the buffer can answer: a read whose beginning it holds, or a
    /// write if writes are answered from it.
    pub overheads: CommandOverheads,
}

/// Read-ahead of a drive behind a request, at most [`Cache::ahead_most`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReadAhead {
    /// No read-ahead.
    None,
    /// To the end of the track.
    Track,
    /// To the end of the cylinder.
    Cylinder,
    /// Reads ahead as far as [`Cache::ahead_most`] allows.
    Segment,
    /// To the end of the track, or to the end of the next one if the segment's data began before
    /// this track, as in a sequential stream. [`Cache::ahead_most`] does not apply.
    Stream,
}

/// Cylinders with equal density.
#[derive(Clone, PartialEq, Debug)]
pub struct Zone {
    /// First cylinder.
    pub first_cyl: u32,
    /// Last cylinder, part of the zone.
    pub last_cyl: u32,
    /// Sectors on each track.
    pub sectors_per_track: u32,
    /// Place of the zone's first sector, in sectors from the index mark.
    pub offset: f64,
    /// Sectors at the front of the zone that hold no blocks.
    pub empty_blocks: u32,
    /// Delay of the next track of a cylinder, in sectors.
    pub track_skew: f64,
    /// Delay of the next cylinder, in sectors.
    pub cyl_skew: f64,
    /// Spares in each unit of the [`Spares`] scheme.
    pub spares: u32,
    /// Sectors (tracks under [`Spares::Tracks`]) of the zone that are skipped, by position in the
    /// zone in the order of the blocks, in any order.
    pub slips: Vec<u64>,
}

/// The places of a zone's spares. A slip takes the next spare; blocks after it move by one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Spares {
    /// No spares, and so no slips.
    None,
    /// Each slip shortens its zone by one sector.
    ZoneEnd,
    /// The last sectors of each zone.
    PerZone,
    /// The last sectors of every range of cylinders; none in a range cut off by the zone's end.
    PerRange {
        /// Cylinders of a range.
        cylinders: u32,
    },
    /// The last tracks of each zone; whole tracks slip.
    Tracks,
    /// The last sectors of each track.
    PerTrack,
    /// The last sectors of each cylinder.
    PerCylinder,
}

/// The order of tracks within a zone.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TrackOrder {
    /// From head 0 upwards on every cylinder.
    Normal,
    /// Downwards on every second cylinder of a zone, so that the head stays when the arm moves on.
    Serpentine,
}

/// Seek times by distance.
#[derive(Clone, PartialEq, Debug)]
pub enum SeekLaw {
    /// Measured points `(cylinders, time)` with rising distances. Linear between them; beyond the
    /// last point the line through the last two continues.
    Table(Vec<(u32, Span)>),
    /// A list for the shortest distances `1, 2, …`, then `root.0 + root.1·√d` for `d < below`, then
    /// `line.0 + line.1·d`, in milliseconds.
    ListAndCurves {
        /// Times of the distances 1, 2, ….
        first: Vec<Span>,
        /// First distance of the straight line.
        below: u32,
        /// Constant and factor of the root, in milliseconds.
        root: (f64, f64),
        /// Constant and factor of the line, in milliseconds.
        line: (f64, f64),
    },
    /// `a + b·√d + c·d` through three published times.
    ThreePoint {
        /// Seek to the next cylinder.
        single: Span,
        /// The average seek, taken as a seek over a third of the cylinders.
        average: Span,
        /// Seek from the first cylinder to the last.
        full: Span,
    },
}

/// Command overheads of a drive by the operation and the one before it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CommandOverheads {
    /// A read that follows a read.
    pub read_after_read: Span,
    /// A read that follows a write.
    pub read_after_write: Span,
    /// A write that follows a read.
    pub write_after_read: Span,
    /// A write that follows a write.
    pub write_after_write: Span,
}

impl Cache {
    /// A drive without a buffer.
    pub const NONE: Self = Self {
        segments: 0,
        segment_sectors: 0,
        write_segment: false,
        ahead: ReadAhead::None,
        ahead_least: 0,
        ahead_most: 0,
        ahead_on_hit: false,
        hits_on_coming: false,
        free_sectors: false,
        zero_latency: false,
        zero_latency_write: false,
        stops_in_sector: false,
        drops_asked: false,
        read_mark: 0,
        write_mark: 0,
        holds_bus_for_write: false,
        write_back: false,
        combine: false,
        hits_on_written: false,
        keeps_asked: false,
        short_if_continued: false,
        settle: Span::ZERO,
        overheads: CommandOverheads::constant(Span::ZERO),
    };
}

impl CommandOverheads {
    /// Every command has the same overhead.
    pub const fn constant(overhead: Span) -> Self {
        Self {
            read_after_read: overhead,
            read_after_write: overhead,
            write_after_read: overhead,
            write_after_write: overhead,
        }
    }
}

/// Facts that no drive can have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DriveError {
    /// An error in the whole drive.
    Drive(&'static str),
    /// An error in one zone.
    Zone {
        /// Index of the zone, from 0.
        index: usize,
        /// The error.
        why: &'static str,
    },
    /// An error in the seek times.
    Seek(&'static str),
}

impl fmt::Display for DriveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Drive(why) => write!(f, "no such drive: {why}"),
            Self::Zone { index, why } => write!(f, "zone {index} (from 0): {why}"),
            Self::Seek(why) => write!(f, "seek times: {why}"),
        }
    }
}

impl core::error::Error for DriveError {}
