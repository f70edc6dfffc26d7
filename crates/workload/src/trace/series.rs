//! Distributions of a trace over time, place and size, in few enough figures to draw.
//!
//! Lengths are sorted into half octaves: each bucket begins at 2^n or 3 · 2^(n-1), and is named by
//! its beginning; 0 has a bucket of its own.

use std::collections::{BTreeMap, BTreeSet};

use penstock_core::{Op, Span, Time};

use super::record::Record;
use super::spool::Spool;

/// Number of time windows that a trace is divided into.
const WINDOWS: u64 = 100;
/// Most bands of addresses.
const BANDS: usize = 48;
/// Number of pieces that the addresses are divided into to find those that are used.
const PIECES: u64 = 4096;

/// The windows and bands that all classes of a trace share.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Frame {
    /// Length of a window.
    pub window: Span,
    /// The first byte of each band, in order. Unused stretches are skipped, so that distant places
    /// are visible together.
    pub bands: Vec<u64>,
}

/// The figures to draw of a trace or of a class of it. Empty windows and buckets are left out.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Series {
    /// Window number, and its requests.
    pub arrivals: Vec<(u64, Mix)>,
    /// Window number, band number, and the number of requests that begin there.
    pub places: Vec<(u64, u64, u64)>,
    /// Size in bytes, and the requests of that size, without flushes.
    pub sizes: Vec<(u64, Mix)>,
    /// Gap between requests in nanoseconds, and the number of such gaps.
    pub gaps: Vec<(u64, u64)>,
    /// Length of a sequential run, and the number of requests in runs of that length. In a run,
    /// each request of a process begins where the previous one ended.
    pub runs: Vec<(u64, u64)>,
    /// Recorded latency in nanoseconds, and the requests with that latency.
    pub latencies: Vec<(u64, Mix)>,
}

/// Numbers of requests by operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Mix {
    /// Reads.
    pub reads: u64,
    /// Writes.
    pub writes: u64,
    /// Flushes.
    pub flushes: u64,
    /// Discards.
    pub discards: u64,
}

impl Mix {
    fn count(&mut self, op: Op) {
        *match op {
            Op::Read => &mut self.reads,
            Op::Write => &mut self.writes,
            Op::Flush => &mut self.flushes,
            Op::Discard => &mut self.discards,
        } += 1;
    }
}

impl Frame {
    /// Creates a frame that contains all of `records`.
    pub fn fitting(records: &Spool<Record>) -> Self {
        let data = || records.iter().filter(|record| record.op != Op::Flush);
        let base = data().map(|record| record.start).min().unwrap_or(0);
        let last = data().map(|record| record.start).max().unwrap_or(0);
        let end = records.iter().map(|record| record.at).max().unwrap_or(Time::ZERO);
        // Plus one, so that the last request lies within the last window.
        let window = Span::from_ns(end.ns() / WINDOWS + 1);
        let piece = (last - base) / PIECES + 1;
        let used: BTreeSet<u64> = data().map(|record| (record.start - base) / piece).collect();
        let each = used.len().div_ceil(BANDS).max(1);
        let bands = used.into_iter().step_by(each).map(|index| base + index * piece).collect();
        Self { window, bands }
    }

    /// The number of the band that contains `start`.
    fn band(&self, start: u64) -> u64 {
        self.bands.partition_point(|&begins| begins <= start) as u64 - 1
    }
}

/// Computes the figures to draw of `records`, which are in order of time and within `frame`.
pub fn compute(records: impl IntoIterator<Item = Record>, frame: &Frame) -> Series {
    let (mut arrivals, mut sizes, mut latencies) = <(Mixes, Mixes, Mixes)>::default();
    let (mut places, mut gaps) = (BTreeMap::new(), Counts::new());
    let mut runs = SequentialRuns::default();
    let mut last: Option<Time> = None;
    for record in records {
        let window = record.at.ns() / frame.window.ns();
        arrivals.entry(window).or_default().count(record.op);
        if let Some(last) = last.replace(record.at) {
            *gaps.entry(bucket(record.at.since(last).ns())).or_default() += 1;
        }
        if let Some(latency) = record.latency() {
            latencies.entry(bucket(latency.ns())).or_default().count(record.op);
        }
        if record.op == Op::Flush {
            continue;
        }
        sizes.entry(bucket(u64::from(record.len))).or_default().count(record.op);
        *places.entry((window, frame.band(record.start))).or_default() += 1;
        runs.count(&record);
    }
    Series {
        arrivals: arrivals.into_iter().collect(),
        places: places.into_iter().map(|((window, band), count)| (window, band, count)).collect(),
        sizes: sizes.into_iter().collect(),
        gaps: gaps.into_iter().collect(),
        runs: runs.lengths().into_iter().collect(),
        latencies: latencies.into_iter().collect(),
    }
}

type Mixes = BTreeMap<u64, Mix>;
type Counts = BTreeMap<u64, u64>;

/// Returns the beginning of the half octave of `value`.
fn bucket(value: u64) -> u64 {
    match value.checked_ilog2() {
        None => 0,
        Some(0) => 1,
        // Keeps the two highest bits.
        Some(exponent) => value >> (exponent - 1) << (exponent - 1),
    }
}

/// Sequential runs of each process on each device.
#[derive(Default)]
struct SequentialRuns {
    /// End of the last request and number of requests in the run so far, by device and process.
    open: BTreeMap<(u16, u32), (u64, u64)>,
    ended: Counts,
}

impl SequentialRuns {
    fn count(&mut self, record: &Record) {
        let run = self.open.entry((record.device.0, record.pid)).or_insert((record.start, 0));
        if run.0 != record.start {
            *self.ended.entry(bucket(run.1)).or_default() += run.1;
            run.1 = 0;
        }
        *run = (record.end(), run.1 + 1);
    }

    fn lengths(mut self) -> Counts {
        for (_, length) in self.open.into_values() {
            *self.ended.entry(bucket(length)).or_default() += length;
        }
        self.ended
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(us: u64, op: Op, start: u64, len: u32) -> Record {
        Record::new(Time::ZERO + Span::from_us(us), op, start, len)
    }

    #[test]
    fn buckets_begin_at_half_octaves() {
        let begins = [0, 1, 2, 3, 4, 5, 6, 7, 8, 11, 12, 4096, 6143, 6144].map(bucket);
        assert_eq!(begins, [0, 1, 2, 3, 4, 4, 6, 6, 8, 8, 12, 4096, 4096, 6144]);
        assert_eq!(bucket(u64::MAX), 3 << 62);
    }

    #[test]
    fn a_trace_by_hand() {
        let records = [
            record(0, Op::Write, 1000, 512),
            record(0, Op::Write, 1512, 512).with_latency(Span::from_ns(5)),
            record(50, Op::Flush, 0, 0),
            record(120, Op::Read, 5000, 4096),
        ];
        let frame = Frame::fitting(&records.iter().copied().collect());
        assert_eq!(frame, Frame { window: Span::from_ns(1201), bands: vec![1000, 1512, 5000] });
        let series = compute(records, &frame);
        let mix = |reads, writes, flushes| Mix { reads, writes, flushes, discards: 0 };
        let windows = [(0, mix(0, 2, 0)), (41, mix(0, 0, 1)), (99, mix(1, 0, 0))];
        assert_eq!(series.arrivals, windows);
        assert_eq!(series.places, [(0, 0, 1), (0, 1, 1), (99, 2, 1)]);
        assert_eq!(series.sizes, [(512, mix(0, 2, 0)), (4096, mix(1, 0, 0))]);
        assert_eq!(series.gaps, [(0, 1), (49_152, 1), (65_536, 1)]);
        assert_eq!(series.runs, [(1, 1), (2, 2)]);
        assert_eq!(series.latencies, [(4, mix(0, 1, 0))]);
    }

    #[test]
    fn the_frame_of_extremes_holds_them() {
        let last = Record::new(Time::from_ns(u64::MAX - 1), Op::Read, u64::MAX - 1, 1);
        let records = [record(0, Op::Read, 0, 1), last];
        let frame = Frame::fitting(&records.iter().copied().collect());
        assert_eq!(compute(records, &frame).places, [(0, 0, 1), (99, 1, 1)]);
        assert_eq!(compute([], &Frame::fitting(&Spool::new())), Series::default());
    }

    #[test]
    fn a_frame_is_never_larger_than_a_picture() {
        let records: Vec<_> = (0..20_000).map(|n| record(n, Op::Read, n * 7919, 512)).collect();
        let frame = Frame::fitting(&records.iter().copied().collect());
        assert!((BANDS / 2..=BANDS).contains(&frame.bands.len()));
        let places = compute(records, &frame).places;
        assert!(places.len() <= WINDOWS as usize * BANDS);
        assert_eq!(places.iter().map(|&(.., count)| count).sum::<u64>(), 20_000);
    }
}
