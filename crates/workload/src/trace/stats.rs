//! Statistics of a trace: amounts, sizes, rates, regularity, places.
//!
//! Percentiles are exact, by nearest rank. Peak rates are those of windows counted from the trace's
//! start.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::io;

use penstock_core::{ClassId, Op, Span, Time};

use super::record::Record;
use super::spool::{Packed, PackedReader, PackedWriter, Spool};

/// Number of most frequent sizes that are listed.
const COMMON_SIZES: usize = 5;
/// The unit of a footprint in bytes: a page, and the block of most file systems.
const BLOCK_BYTES: u64 = 4096;
const SECOND_NS: u64 = 1_000_000_000;

/// Statistics of a trace or of a class of it.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Stats {
    /// All requests; their bytes are those read and written.
    pub all: Tally,
    /// The reads.
    pub reads: Tally,
    /// The writes.
    pub writes: Tally,
    /// The flushes.
    pub flushes: Tally,
    /// The discards.
    pub discards: Tally,
    /// Number of requests that a caller waits for, by their flags.
    pub sync: u64,
    /// Arrival of the first request.
    pub first: Time,
    /// Arrival of the last request.
    pub last: Time,
    /// Sizes of reads and writes.
    pub sizes: Sizes,
    /// Rate and regularity of arrivals.
    pub arrivals: Arrivals,
    /// Share of the reads and writes that begin where the previous one of the same process and
    /// device ended.
    pub sequential_by_process: f64,
    /// Share of the reads and writes that begin where the previous one on the same device ended, of
    /// any process.
    pub sequential_by_device: f64,
    /// Bytes of all blocks of 4 KiB that are read or written at least once.
    pub footprint_bytes: u64,
    /// Recorded latencies; `None` if none is known.
    pub latency: Option<Latency>,
}

/// A number of requests and their bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Tally {
    /// Number of requests.
    pub requests: u64,
    /// Sum of their bytes.
    pub bytes: u64,
}

/// Sizes of reads and writes.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Sizes {
    /// Mean in bytes.
    pub mean: f64,
    /// Median.
    pub p50: u32,
    /// 95th percentile.
    pub p95: u32,
    /// Maximum.
    pub max: u32,
    /// The most frequent sizes and their numbers of requests, most frequent first.
    pub common: Vec<(u32, u64)>,
}

/// Rate and regularity of arrivals.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Arrivals {
    /// Requests per second between the first and the last; `None` if all arrive at one instant.
    pub mean_rate: Option<f64>,
    /// Most requests in a second.
    pub peak_1s: u64,
    /// Most requests in a tenth of a second.
    pub peak_100ms: u64,
    /// Index of dispersion, variance over mean of the counts per second: 1 if arrivals are
    /// independent, 0 if even, above 1 in bursts. `None` for a single window.
    pub dispersion_1s: Option<f64>,
    /// Index of dispersion of the counts per tenth of a second.
    pub dispersion_100ms: Option<f64>,
    /// Coefficient of variation of the gaps: 1 if arrivals are independent, 0 if even. `None` if
    /// there is no gap.
    pub gap_variation: Option<f64>,
}

/// Recorded latencies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Latency {
    /// Number of requests whose latency is known.
    pub known: u64,
    /// Mean.
    pub mean: Span,
    /// Median.
    pub p50: Span,
    /// 95th percentile.
    pub p95: Span,
    /// 99th percentile.
    pub p99: Span,
    /// Maximum.
    pub max: Span,
}

/// Computes the statistics of `records`, which are in order of time.
///
/// # Errors
/// If there is no space for the temporary files of sorting, or they cannot be read.
pub fn compute(records: impl IntoIterator<Item = Record>) -> io::Result<Stats> {
    let mut survey = StatsSurvey::new();
    records.into_iter().try_for_each(|record| survey.add(&record))?;
    survey.finish()
}

/// Computes the statistics of each of `classes` classes from requests with their class.
///
/// # Errors
/// As [`compute`].
///
/// # Panics
/// If a class lies outside.
pub fn by_class(
    records: impl IntoIterator<Item = (Record, ClassId)>,
    classes: usize,
) -> io::Result<Vec<Stats>> {
    let mut surveys: Vec<_> = (0..classes).map(|_| StatsSurvey::new()).collect();
    let mut add = |(record, class): (Record, ClassId)| surveys[class.index()].add(&record);
    records.into_iter().try_for_each(&mut add)?;
    surveys.into_iter().map(StatsSurvey::finish).collect()
}

/// Statistics in progress.
struct StatsSurvey {
    stats: Stats,
    sizes: BTreeMap<u32, u64>,
    latencies: Spool<u64>,
    blocks: Spool<BlockRange>,
    seconds: Windows,
    tenths: Windows,
    gaps: Gaps,
    by_process: StreamEnds,
    by_device: StreamEnds,
}

impl StatsSurvey {
    fn new() -> Self {
        Self {
            stats: Stats::default(),
            sizes: BTreeMap::new(),
            latencies: Spool::new(),
            blocks: Spool::new(),
            seconds: Windows::new(SECOND_NS),
            tenths: Windows::new(SECOND_NS / 10),
            gaps: Gaps::default(),
            by_process: StreamEnds::default(),
            by_device: StreamEnds::default(),
        }
    }

    fn add(&mut self, record: &Record) -> io::Result<()> {
        self.stats.count(record);
        self.seconds.count(record.at);
        self.tenths.count(record.at);
        self.gaps.count(record.at);
        record.latency().map_or(Ok(()), |latency| self.latencies.push(latency.ns()))?;
        if matches!(record.op, Op::Flush | Op::Discard) {
            return Ok(());
        }
        *self.sizes.entry(record.len).or_default() += 1;
        self.by_process.count((record.device.0, record.pid), record);
        self.by_device.count((record.device.0, 0), record);
        let last = (record.end() - 1) / BLOCK_BYTES;
        self.blocks.push((record.device.0, record.start / BLOCK_BYTES, last))
    }

    fn finish(self) -> io::Result<Stats> {
        let mut stats = self.stats;
        let data = self.sizes.values().sum();
        stats.sequential_by_process = share(self.by_process.sequential, data);
        stats.sequential_by_device = share(self.by_device.sequential, data);
        stats.sizes = summarize_sizes(&self.sizes, data);
        stats.footprint_bytes = count_distinct_blocks(self.blocks)?.saturating_mul(BLOCK_BYTES);
        stats.latency = summarize_latencies(self.latencies)?;
        let span_s = stats.last.since(stats.first).ns() as f64 / SECOND_NS as f64;
        stats.arrivals = Arrivals {
            mean_rate: (span_s > 0.0).then(|| stats.all.requests as f64 / span_s),
            peak_1s: self.seconds.peak(),
            peak_100ms: self.tenths.peak(),
            dispersion_1s: self.seconds.dispersion(),
            dispersion_100ms: self.tenths.dispersion(),
            gap_variation: self.gaps.variation(),
        };
        Ok(stats)
    }
}

impl Stats {
    fn count(&mut self, record: &Record) {
        if self.all.requests == 0 {
            self.first = record.at;
        }
        self.last = record.at;
        self.sync += u64::from(record.flags.is_sync(record.op));
        let kind = match record.op {
            Op::Read => &mut self.reads,
            Op::Write => &mut self.writes,
            Op::Flush => &mut self.flushes,
            Op::Discard => &mut self.discards,
        };
        kind.requests += 1;
        kind.bytes += u64::from(record.len);
        self.all.requests += 1;
        if record.op != Op::Discard {
            self.all.bytes += u64::from(record.len);
        }
    }
}

/// Counts of requests per window of a fixed length. Only sums are kept, so empty windows cost
/// nothing.
struct Windows {
    len_ns: u64,
    first: Option<u64>,
    current: u64,
    count: u64,
    peak: u64,
    sum: u64,
    squares: u128,
}

impl Windows {
    fn new(len_ns: u64) -> Self {
        Self { len_ns, first: None, current: 0, count: 0, peak: 0, sum: 0, squares: 0 }
    }

    fn count(&mut self, at: Time) {
        let window = at.ns() / self.len_ns;
        if self.first.is_none() {
            self.first = Some(window);
            self.current = window;
        }
        if window != self.current {
            self.close();
            self.current = window;
        }
        self.count += 1;
    }

    fn close(&mut self) {
        self.peak = self.peak();
        self.sum += self.count;
        self.squares += u128::from(self.count).pow(2);
        self.count = 0;
    }

    fn peak(&self) -> u64 {
        self.peak.max(self.count)
    }

    fn dispersion(mut self: Windows) -> Option<f64> {
        self.close();
        let windows = self.current - self.first? + 1;
        let mean = self.sum as f64 / windows as f64;
        (windows > 1).then(|| (self.squares as f64 / windows as f64 - mean * mean) / mean)
    }
}

/// Moments of the gaps between requests by Welford's method, which is exact for equal gaps.
#[derive(Default)]
struct Gaps {
    last: Option<Time>,
    count: u64,
    mean: f64,
    squares: f64,
}

impl Gaps {
    fn count(&mut self, at: Time) {
        if let Some(last) = self.last.replace(at) {
            let gap = at.since(last).ns() as f64;
            self.count += 1;
            let deviation = gap - self.mean;
            self.mean += deviation / self.count as f64;
            self.squares += deviation * (gap - self.mean);
        }
    }

    fn variation(&self) -> Option<f64> {
        (self.mean > 0.0).then(|| (self.squares / self.count as f64).sqrt() / self.mean)
    }
}

/// End of the last request of each stream, and the number of sequential requests.
#[derive(Default)]
struct StreamEnds {
    ends: BTreeMap<(u16, u32), u64>,
    sequential: u64,
}

impl StreamEnds {
    fn count(&mut self, stream: (u16, u32), record: &Record) {
        let before = self.ends.insert(stream, record.end());
        self.sequential += u64::from(before == Some(record.start));
    }
}

fn share(part: u64, total: u64) -> f64 {
    if total == 0 { 0.0 } else { part as f64 / total as f64 }
}

/// Returns the nearest rank of a percentile of `count` sorted values, counted from 0.
fn rank(count: u64, percent: u64) -> u64 {
    (u128::from(count) * u128::from(percent)).div_ceil(100).max(1) as u64 - 1
}

fn summarize_sizes(counts: &BTreeMap<u32, u64>, requests: u64) -> Sizes {
    let Some((&max, _)) = counts.last_key_value() else { return Sizes::default() };
    let sum: u128 = counts.iter().map(|(&size, &count)| u128::from(size) * u128::from(count)).sum();
    let percentile = |percent| {
        let (rank, mut below) = (rank(requests, percent), 0);
        let reached = |(_, count): &(&u32, &u64)| {
            below += **count;
            below > rank
        };
        counts.iter().find(reached).map_or(max, |(&size, _)| size)
    };
    let mut common: Vec<(u32, u64)> = counts.iter().map(|(&size, &count)| (size, count)).collect();
    common.sort_by_key(|&(size, count)| (Reverse(count), size));
    common.truncate(COMMON_SIZES);
    Sizes {
        mean: sum as f64 / requests as f64,
        p50: percentile(50),
        p95: percentile(95),
        max,
        common,
    }
}

fn summarize_latencies(latencies: Spool<u64>) -> io::Result<Option<Latency>> {
    let sorted = latencies.sorted_by_key(|&ns| ns)?;
    let Some(max) = sorted.last() else { return Ok(None) };
    let known = sorted.len() as u64;
    let sum: u128 = sorted.iter().map(u128::from).sum();
    let percentile = |percent| sorted.get(rank(known, percent) as usize).map(Span::from_ns);
    let latency = Latency {
        known,
        mean: Span::from_ns((sum / u128::from(known)) as u64),
        p50: percentile(50)?,
        p95: percentile(95)?,
        p99: percentile(99)?,
        max: Span::from_ns(max),
    };
    sorted.check()?;
    Ok(Some(latency))
}

/// A device, and the first and last block of a range on it.
type BlockRange = (u16, u64, u64);

impl Packed for BlockRange {
    const BYTES: usize = 18;

    fn pack(&self, to: &mut PackedWriter<'_>) {
        to.u16(self.0);
        to.u64(self.1);
        to.u64(self.2);
    }

    fn unpack(from: &mut PackedReader<'_>) -> Self {
        (from.u16(), from.u64(), from.u64())
    }
}

/// Counts the blocks that these ranges cover on all devices.
fn count_distinct_blocks(ranges: Spool<BlockRange>) -> io::Result<u64> {
    let sorted = ranges.sorted_by_key(|&range| range)?;
    let mut covered = 0_u64;
    // The current device, and its first block that is not counted yet.
    let mut next: Option<(u16, u64)> = None;
    for (device, first, last) in &sorted {
        let from = match next {
            Some((same, next)) if same == device => first.max(next),
            _ => first,
        };
        covered += (last + 1).saturating_sub(from);
        next = Some((device, from.max(last + 1)));
    }
    sorted.check()?;
    Ok(covered)
}
