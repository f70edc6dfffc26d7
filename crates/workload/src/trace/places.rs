//! The places of the requests of a trace on the devices of a replay.
//!
//! If each device of the trace has a device of its own, these are the lanes of the replay: numbered
//! in the order of the trace, without those that have no requests. Their bytes lie behind each
//! other.

use super::error::ReplayError;
use super::record::{DeviceId, Record};
use super::recording::Trace;
use penstock_core::Op;

/// The treatment of requests past the end of the device.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fit {
    /// Offsets are taken modulo the capacity. Distances are preserved, but distant places may
    /// coincide.
    Wrap,
    /// If the trace reaches past the end, its whole range is scaled to the device, with offsets in
    /// steps of 4 KiB. Order and coverage are preserved, but neighbours overlap, so that sequential
    /// runs are broken up.
    Scale,
}

/// The layout of several devices of a trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Layout {
    /// Each on a device of its own, which may have its own size.
    Each,
    /// Behind each other on one device, in steps of 1 MiB.
    SideBySide,
}

/// Bytes of which computed offsets are multiples: the largest block of any current device.
const ALIGN_BYTES: u64 = 4096;
/// Bytes of which the beginnings of devices that lie behind each other are multiples.
const STEP_BYTES: u64 = 1 << 20;

/// The places of the devices of a trace.
#[derive(Clone, Debug)]
pub struct Places {
    fit: Option<Fit>,
    /// The devices of the trace that have a device of their own.
    lanes: Vec<DeviceId>,
    /// Regions by the number of the trace's device.
    regions: Vec<Region>,
    /// Whether every request goes to its recorded place.
    as_recorded: bool,
}

/// The place of a device of a trace. The *target* is the device that it is replayed on.
#[derive(Clone, Copy, Debug, Default)]
struct Region {
    /// Its first byte on the target, before the fit.
    base: u64,
    /// The first byte of the target in the address space of the replay.
    lane: u64,
    /// Bytes of the target.
    capacity: u64,
    /// The byte behind the last requested one on the target, before the fit.
    end: u64,
}

impl Places {
    /// Places the devices of `trace`. `capacity` returns the size of the device that a device of
    /// the trace is replayed on; it is the same for all unless each has its own.
    ///
    /// # Errors
    /// If several devices have requests and there is no layout for them.
    pub fn new(
        trace: &Trace,
        layout: Option<Layout>,
        capacity: impl Fn(DeviceId) -> u64,
        fit: Option<Fit>,
    ) -> Result<Self, ReplayError> {
        let ends = trace.records.ends();
        let used = ends.iter().flatten().count();
        if layout.is_none() && used > 1 {
            let with = ends.iter().zip(&trace.devices).filter(|(end, _)| end.is_some());
            return Err(ReplayError::Devices {
                names: with.map(|(_, name)| name.clone()).collect(),
            });
        }
        let (mut lane, mut base, mut lanes) = (0_u64, 0_u64, Vec::new());
        let mut region = |(device, end): (usize, &Option<u64>)| {
            let device = DeviceId(device as u16);
            let capacity = capacity(device);
            let &Some(end) = end else { return Region { capacity, ..Region::default() } };
            let region = Region { base, lane, capacity, end };
            match layout {
                Some(Layout::Each) => {
                    lanes.push(device);
                    lane = lane.saturating_add(capacity);
                }
                _ => {
                    base = base.saturating_add(end).div_ceil(STEP_BYTES).saturating_mul(STEP_BYTES);
                }
            }
            region
        };
        // Devices that lie behind each other share a target, so they all end at the last one's end.
        let mut regions: Vec<_> = ends.iter().enumerate().map(&mut region).collect();
        if layout != Some(Layout::Each) {
            let end = regions
                .iter()
                .map(|region| region.base.saturating_add(region.end))
                .max()
                .unwrap_or(0);
            for region in &mut regions {
                region.end = end;
            }
        }
        let holds = |region: &Region| region.end <= region.capacity;
        let alone = used <= 1 && layout != Some(Layout::Each);
        let as_recorded = alone && fit != Some(Fit::Wrap) && regions.iter().all(holds);
        Ok(Self { fit, lanes, regions, as_recorded })
    }

    /// The devices of the trace that have a device of their own, in the order of these; empty if
    /// all are replayed on one.
    pub fn lanes(&self) -> &[DeviceId] {
        &self.lanes
    }

    /// Whether every request goes to its recorded place, so that each has a place.
    pub(super) fn as_recorded(&self) -> bool {
        self.as_recorded
    }

    /// The first byte of `record` on the replay's device. [`place`](Self::place) must have
    /// succeeded for it.
    #[inline]
    pub(super) fn known_place(&self, record: &Record) -> u64 {
        if self.as_recorded {
            return record.start;
        }
        self.place(record).expect("a place was found before")
    }

    /// The first byte of `record` on the replay's device.
    ///
    /// # Errors
    /// If it does not fit.
    pub(super) fn place(&self, record: &Record) -> Result<u64, ReplayError> {
        let region = &self.regions[record.device.index()];
        let start = region.base.saturating_add(record.start);
        Ok(region.lane.saturating_add(self.fitted(record, start, region)?))
    }

    /// Fits the request `record` at `start` into the target of its `region`. Returns its first
    /// byte.
    fn fitted(&self, record: &Record, start: u64, region: &Region) -> Result<u64, ReplayError> {
        let (&Record { len, line, .. }, &Region { capacity, end, .. }) = (record, region);
        if record.op == Op::Flush {
            return Ok(0);
        }
        let Some(room) = capacity.checked_sub(u64::from(len)) else {
            return Err(ReplayError::TooLong { line, len, capacity });
        };
        // The last aligned place, for requests that are moved inside.
        let last = room - room % ALIGN_BYTES;
        match self.fit {
            None | Some(Fit::Scale) if end <= capacity => Ok(start),
            None if start <= room => Ok(start),
            None => Err(ReplayError::Past { line, start, len, capacity }),
            Some(Fit::Wrap) => {
                let aligned = capacity - capacity % ALIGN_BYTES;
                let start = start % if aligned == 0 { capacity } else { aligned };
                Ok(if start <= room { start } else { last })
            }
            Some(Fit::Scale) => {
                let scaled = u128::from(start) * u128::from(capacity) / u128::from(end);
                let scaled = scaled as u64;
                Ok((scaled - scaled % ALIGN_BYTES).min(last))
            }
        }
    }
}
