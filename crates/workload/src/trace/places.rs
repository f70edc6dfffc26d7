//! Where the requests of a trace go: each device of it to its own place, inside what there is.
//!
//! Where each has a device of its own, they are numbered in the trace's order, those without requests
//! left out: these are the lanes of the replay. Their bytes lie behind each other.

use super::error::ReplayError;
use super::record::{DeviceId, Record};
use super::recording::Trace;
use penstock_core::Op;

/// What happens to requests past the end of the device.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fit {
    /// They wrap around: offsets modulo the capacity. Distances stay, distant places meet.
    Wrap,
    /// If the trace reaches past the end, its whole range is mapped to the device, with offsets in
    /// steps of 4 KiB. Order and coverage stay. Neighbours overlap, so that sequential runs are
    /// broken up.
    Scale,
}

/// Where the devices of a trace lie, if it has several.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Layout {
    /// Each on a device of its own, perhaps of its own size.
    Each,
    /// Behind each other on one device, in steps of 1 MiB.
    SideBySide,
}

/// Offsets that a fit computes are multiples of this, a block of any present device.
const ALIGN_BYTES: u64 = 4096;
/// Devices that lie behind each other begin at multiples of this.
const STEP_BYTES: u64 = 1 << 20;

/// The places of the devices of one trace.
#[derive(Clone, Debug)]
pub struct Places {
    fit: Option<Fit>,
    /// The devices of the trace that have a device of their own.
    lanes: Vec<DeviceId>,
    /// By the number of a trace's device.
    regions: Vec<Region>,
    /// Every request goes to where it was recorded.
    as_recorded: bool,
}

/// Where a device of a trace lies.
#[derive(Clone, Copy, Debug, Default)]
struct Region {
    /// Its first byte on the device that it is played on, before it is made to fit.
    base: u64,
    /// The first byte of the device that it is played on.
    lane: u64,
    /// Bytes of the device that it is played on.
    capacity: u64,
    /// The byte behind the last that goes to the device that it is played on, before it is made to
    /// fit.
    end: u64,
}

impl Places {
    /// Where the requests of `trace` go: those of each of its devices on one of so many bytes as
    /// `capacity` says. Without a device for each, that is the same for all.
    ///
    /// # Errors
    /// If it has requests of several devices, and there is no layout for them.
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
        // Devices that lie behind each other count with those before them.
        let mut regions: Vec<_> = ends.iter().enumerate().map(&mut region).collect();
        if layout != Some(Layout::Each) {
            let end = regions.iter().map(|one| one.base.saturating_add(one.end)).max().unwrap_or(0);
            for region in &mut regions {
                region.end = end;
            }
        }
        let holds = |region: &Region| region.end <= region.capacity;
        let alone = used <= 1 && layout != Some(Layout::Each);
        let as_recorded = alone && fit != Some(Fit::Wrap) && regions.iter().all(holds);
        Ok(Self { fit, lanes, regions, as_recorded })
    }

    /// The devices of the trace that are played on a device of their own each, in the order of these;
    /// none if all are played on one.
    pub fn lanes(&self) -> &[DeviceId] {
        &self.lanes
    }

    /// Whether every request goes to where it was recorded: there is a place for each.
    pub(super) fn as_recorded(&self) -> bool {
        self.as_recorded
    }

    /// The first byte of `record`, for which a place was found before.
    #[inline]
    pub(super) fn at(&self, record: &Record) -> u64 {
        if self.as_recorded {
            return record.start;
        }
        self.of(record).expect("a place was found before")
    }

    /// The first byte of `record`.
    pub(super) fn of(&self, record: &Record) -> Result<u64, ReplayError> {
        let region = &self.regions[record.device.index()];
        let start = region.base.saturating_add(record.start);
        Ok(region.lane.saturating_add(self.fitted(record, start, region)?))
    }

    /// Where a request at `start` goes on the device of its `region`.
    fn fitted(&self, record: &Record, start: u64, region: &Region) -> Result<u64, ReplayError> {
        let (&Record { len, line, .. }, &Region { capacity, end, .. }) = (record, region);
        if record.op == Op::Flush {
            return Ok(0);
        }
        let Some(room) = capacity.checked_sub(u64::from(len)) else {
            return Err(ReplayError::TooLong { line, len, capacity });
        };
        // The last aligned place, so that a request moved inside stays aligned.
        let last = room - room % ALIGN_BYTES;
        match self.fit {
            None | Some(Fit::Scale) if end <= capacity => Ok(start),
            None if start <= room => Ok(start),
            None => Err(ReplayError::Past { line, start, len, capacity }),
            Some(Fit::Wrap) => {
                let whole = capacity - capacity % ALIGN_BYTES;
                let start = start % if whole == 0 { capacity } else { whole };
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
