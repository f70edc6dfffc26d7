//! Figures of requests in a window.

use hdrhistogram::Histogram;
use penstock_core::Span;
use serde::Serialize;

use super::letters::Direction;
use crate::result::buckets::LatencyBuckets;

/// Significant digits of the percentiles.
const DIGITS: u8 = 3;

/// Requests of a class and a direction.
#[derive(Serialize)]
pub(super) struct Figures {
    /// Requests that ended in the window.
    count: u64,
    /// Their bytes.
    bytes: u64,
    /// Their latencies; `None` if none ended and none waits.
    latency_ns: Option<Latency>,
    /// Requests that wait at its end.
    waiting: u64,
    /// Age of the oldest of them.
    oldest_ns: Option<u64>,
    /// Latencies of all requests that ended since the meter began, in buckets.
    latency_buckets: LatencyBuckets,
}

/// Latencies from queueing to the completion of the last sector.
///
/// A request that waits has at least its age: each figure is the greater of two, that of the requests
/// that ended and that of all. So no figure falls because nothing completes.
#[derive(Clone, Copy, Serialize)]
struct Latency {
    p50: u64,
    p95: u64,
    p99: u64,
    max: u64,
}

/// Counts of requests of a class and a direction.
pub(super) struct RequestCounts {
    ended: Histogram<u64>,
    bytes: u64,
    /// Ages of those that wait at the end of the window.
    waiting: Histogram<u64>,
    oldest_ns: u64,
    /// Latencies of all windows.
    buckets: LatencyBuckets,
}

/// The counts of a class by direction.
#[derive(Default)]
pub(super) struct ClassCounts([RequestCounts; Direction::ALL.len()]);

impl ClassCounts {
    pub(super) fn of(&mut self, direction: Direction) -> &mut RequestCounts {
        &mut self.0[direction as usize]
    }

    /// Returns the figures by direction, and begins anew.
    pub(super) fn take(&mut self) -> ClassWindow {
        let [read, write, flush, discard] =
            Direction::ALL.map(|direction| self.of(direction).take());
        ClassWindow { read, write, flush, discard }
    }
}

/// The figures of a class.
#[derive(Serialize)]
pub(super) struct ClassWindow {
    read: Figures,
    write: Figures,
    /// Flushes, and writes with one, whose bytes count as written.
    flush: Figures,
    discard: Figures,
}

impl Default for RequestCounts {
    fn default() -> Self {
        let histogram = || Histogram::new(DIGITS).expect("valid digits");
        let (ended, waiting, buckets) = (histogram(), histogram(), LatencyBuckets::new());
        Self { ended, bytes: 0, waiting, oldest_ns: 0, buckets }
    }
}

impl RequestCounts {
    /// Counts a request that ended.
    pub(super) fn ended(&mut self, bytes: u64, latency_ns: u64) {
        self.bytes += bytes;
        self.ended.record(latency_ns).expect("a histogram that grows");
        self.buckets.add(Span::from_ns(latency_ns));
    }

    /// Counts a request that waits.
    pub(super) fn waits(&mut self, age_ns: u64) {
        self.oldest_ns = self.oldest_ns.max(age_ns);
        self.waiting.record(age_ns).expect("a histogram that grows");
    }

    fn take(&mut self) -> Figures {
        let Self { ended, bytes, waiting, oldest_ns, buckets } = self;
        let figures = Figures {
            count: ended.len(),
            bytes: std::mem::take(bytes),
            latency_ns: latency(ended, waiting),
            waiting: waiting.len(),
            oldest_ns: (!waiting.is_empty()).then_some(std::mem::take(oldest_ns)),
            latency_buckets: buckets.clone(),
        };
        for latencies in [ended, waiting] {
            // Most classes have no requests of most directions.
            if !latencies.is_empty() {
                latencies.reset();
            }
        }
        figures
    }
}

/// The latencies of requests that ended, or those with the ages of `waiting`, whichever are greater.
fn latency(ended: &Histogram<u64>, waiting: &Histogram<u64>) -> Option<Latency> {
    if waiting.is_empty() {
        return Latency::of(ended);
    }
    let mut all = ended.clone();
    all.add(waiting).expect("a histogram that grows");
    let all = Latency::of(&all)?;
    Some(Latency::of(ended).map_or(all, |ended| Latency {
        p50: all.p50.max(ended.p50),
        p95: all.p95.max(ended.p95),
        p99: all.p99.max(ended.p99),
        max: all.max,
    }))
}

impl Latency {
    fn of(latencies: &Histogram<u64>) -> Option<Self> {
        let at = |quantile| latencies.value_at_quantile(quantile).min(latencies.max());
        let of_all = || Self { p50: at(0.5), p95: at(0.95), p99: at(0.99), max: latencies.max() };
        (!latencies.is_empty()).then(of_all)
    }
}
