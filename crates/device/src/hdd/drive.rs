//! The plain facts of a drive, as a data sheet or an extraction tool states them.
//!
//! Nothing here computes anything: [`Hdd::new`](super::Hdd::new) checks the facts and turns them
//! into tables.

use core::fmt;

use penstock_core::Span;

use super::bus::{BusProtocol, BusTimes};

/// What is known of one drive. Sectors are of 512 bytes.
#[derive(Clone, PartialEq, Debug)]
pub struct Drive {
    /// Surfaces that carry data; one head each.
    pub surfaces: u32,
    /// Cylinders that the arm can reach. Zones may end one later: some published tables do.
    pub cylinders: u32,
    /// Turns a minute.
    pub rpm: u32,
    /// Bands of cylinders with equally many sectors a track, from the outer edge inwards.
    /// Cylinders between two zones hold no data.
    pub zones: Vec<Zone>,
    /// Where spare sectors lie, and so what a slip pushes on.
    pub spares: Spares,
    /// In which order the tracks of a zone follow each other.
    pub order: TrackOrder,
    /// What the arm takes to move.
    pub seek: SeekLaw,
    /// Time to change heads on one cylinder.
    pub head_switch: Span,
    /// How much longer a write's seek takes than a read's, in nanoseconds. May be negative: some
    /// tables were measured with writes.
    pub write_settle_ns: i64,
    /// Time to decode a command that finds nothing in a cache.
    pub overheads: CommandOverheads,
    /// What the arm takes at least for a write, however near it is.
    pub least_write_seek: Span,
    /// Time of one sector on the bus, if it is known.
    pub bus: Option<BusTimes>,
    /// What a command costs on the bus in addition.
    pub protocol: BusProtocol,
    /// Its buffer, and what it does with it.
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
    /// One of the segments is for writes and the others are for reads.
    pub write_segment: bool,
    /// How far it reads on behind a request.
    pub ahead: ReadAhead,
    /// The least read-ahead, even if a command waits.
    pub ahead_least: u32,
    /// The greatest read-ahead.
    pub ahead_most: u32,
    /// Whether it goes on reading ahead when a request was found whole in a segment at rest.
    pub ahead_on_hit: bool,
    /// A read that begins with the very sector that is being read ahead is a hit.
    pub hits_on_coming: bool,
    /// Sectors that pass by on the way to the first wanted one are kept.
    pub free_sectors: bool,
    /// Wanted sectors are taken in the order in which they come round.
    pub zero_latency: bool,
    /// The same of what is written, once all of it is in the buffer.
    pub zero_latency_write: bool,
    /// The drive stops reading ahead at once, not at the end of the sector that passes.
    pub stops_in_sector: bool,
    /// What was asked for is dropped when the host has it.
    pub drops_asked: bool,
    /// Percent of a read, or of a segment if that is less, that are in the buffer before a read that
    /// needs the platter begins to cross the bus (the high water mark).
    pub read_mark: u32,
    /// Percent of a write longer than a segment, or of the segment, of which no more are in the
    /// buffer when the rest begins to cross the bus (the low water mark).
    pub write_mark: u32,
    /// Such a write crosses the bus as the buffer has room, without the low water mark: the drive
    /// keeps the bus.
    pub holds_bus_for_write: bool,
    /// A write is answered when its data is in the buffer.
    pub write_back: bool,
    /// A write that continues the data on its way to the platter joins it.
    pub combine: bool,
    /// What was written may be read from the buffer.
    pub hits_on_written: bool,
    /// Reading ahead stops before what was asked for would be pushed out.
    pub keeps_asked: bool,
    /// The short overhead after a command of the same kind applies only to a command that begins
    /// where that one ended. Any other command costs as much as after the other kind.
    pub short_if_continued: bool,
    /// The least time of the arm for a command that needs the platter, even if it stands there: it
    /// has read on or stood idle, and finds the track anew.
    pub settle: Span,
    /// Time to decode a command that the buffer can answer: a read whose beginning it holds, a
    /// write if writes are answered from it.
    pub overheads: CommandOverheads,
}

/// How far a drive reads on behind a request, [`Cache::ahead_most`] at most.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReadAhead {
    /// Not at all.
    None,
    /// To the end of the track.
    Track,
    /// To the end of the cylinder.
    Cylinder,
    /// As far as it may.
    Segment,
    /// To the end of the track; to the end of the next one if the segment's data came from before
    /// this track, as that of a sequential stream does. [`Cache::ahead_most`] does not apply.
    Stream,
}

/// Equally dense cylinders.
#[derive(Clone, PartialEq, Debug)]
pub struct Zone {
    /// First cylinder.
    pub first_cyl: u32,
    /// Last cylinder, part of the zone.
    pub last_cyl: u32,
    /// Sectors on each track.
    pub sectors_per_track: u32,
    /// Where the zone's first sector lies, in sectors from the index mark.
    pub offset: f64,
    /// Sectors at the front of the zone that hold no blocks.
    pub empty_blocks: u32,
    /// How much later the next track of a cylinder begins, in sectors.
    pub track_skew: f64,
    /// How much later the next cylinder begins, in sectors.
    pub cyl_skew: f64,
    /// Spares in each unit of the [`Spares`] scheme.
    pub spares: u32,
    /// Sectors (tracks under [`Spares::Tracks`]) of the zone that are passed over, by position in
    /// the zone in the order of the blocks, in any order.
    pub slips: Vec<u64>,
}

/// Where the spares of a zone lie. A slip takes the next spare; blocks after it move on by one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Spares {
    /// None, and so no slips.
    None,
    /// Each slip shortens its zone by one sector.
    ZoneEnd,
    /// The last sectors of each zone.
    PerZone,
    /// The last sectors of every so many cylinders; none in a range cut off by the zone's end.
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
    /// Downwards on each second cylinder of a zone, so that the head stays when the arm moves on.
    Serpentine,
}

/// What the arm takes to move a distance.
#[derive(Clone, PartialEq, Debug)]
pub enum SeekLaw {
    /// Measured points `(cylinders, time)`, distances rising. Linear between them; beyond the last
    /// point the last two are prolonged.
    Table(Vec<(u32, Span)>),
    /// A list for the shortest distances `1, 2, …`, then `root.0 + root.1·√d` for `d < below`, then
    /// `line.0 + line.1·d`; milliseconds.
    ListAndCurves {
        /// Times of distances 1, 2, ….
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
        /// To the next cylinder.
        single: Span,
        /// The average seek, taken as a seek over a third of the cylinders.
        average: Span,
        /// From the first cylinder to the last.
        full: Span,
    },
}

/// Command overheads of a drive by what is asked and what was asked before.
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
    /// No buffer.
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
    /// The same overhead for every command.
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
    /// The whole drive: what is wrong with it.
    Drive(&'static str),
    /// One zone.
    Zone {
        /// Which, from 0.
        index: usize,
        /// What is wrong with it.
        why: &'static str,
    },
    /// The law of seeks.
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
