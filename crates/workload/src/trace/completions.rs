//! Matches completions to requests by device and range, since no other field connects them.
//!
//! A completion of exactly a waiting request's range ends the oldest such request. Otherwise it
//! counts towards every request that it overlaps: the kernel merges neighbours and splits long
//! requests. A request has ended when all of its bytes have completed. A completed flush ends the
//! oldest waiting flush.

use std::collections::{BTreeMap, VecDeque};

use penstock_core::{Op, Span};

use super::error::Parsed;
use super::record::DeviceId;

/// Time after which a missing completion counts as lost, or as after the end of the trace: the
/// kernel itself gives up a command after thirty seconds.
const LOST_AFTER_NS: u64 = 30_000_000_000;
/// Limit on waiting requests, above which the oldest are dropped. No real system has more in
/// flight, and a trace without completions must not be held in memory twice.
const WAITING_MAX: usize = 1 << 16;
/// Number of requests beginning before a completion that are checked for an overlap with it.
const LOOK_BACK: usize = 8;

/// The range of a request or a completion, in bytes.
pub(super) struct Range {
    pub(super) device: DeviceId,
    pub(super) op: Op,
    pub(super) start: u64,
    pub(super) end: u64,
}

/// Device, operation, start and number of a request, so that equal ranges keep their order.
type Key = (DeviceId, Op, u64, usize);

struct PendingRequest {
    at_ns: u64,
    end: u64,
    /// Bytes that no completion has covered yet.
    left: u64,
}

pub(super) struct Completions {
    waiting: BTreeMap<Key, PendingRequest>,
    flushes: BTreeMap<DeviceId, VecDeque<(usize, u64)>>,
    /// Working memory: the requests that a completion overlaps.
    touched: Vec<Key>,
}

impl Completions {
    pub(super) fn new() -> Self {
        Self { waiting: BTreeMap::new(), flushes: BTreeMap::new(), touched: Vec::new() }
    }

    /// The request numbered `index` was queued.
    pub(super) fn queued(&mut self, index: usize, at_ns: u64, range: &Range) {
        if range.op == Op::Flush {
            let flushes = self.flushes.entry(range.device).or_default();
            flushes.push_back((index, at_ns));
            if flushes.len() > WAITING_MAX {
                flushes.pop_front();
            }
            return;
        }
        let left = range.end - range.start;
        let key = (range.device, range.op, range.start, index);
        self.waiting.insert(key, PendingRequest { at_ns, end: range.end, left });
        if self.waiting.len() >= 2 * WAITING_MAX {
            let oldest = index - WAITING_MAX;
            self.waiting.retain(|&(.., index), _| index > oldest);
        }
    }

    /// A completion arrived. Calls `ended` for each request that it ends, with the latency.
    ///
    /// # Errors
    /// The errors of `ended`.
    pub(super) fn completed(
        &mut self,
        at_ns: u64,
        range: &Range,
        mut ended: impl FnMut(usize, Span) -> Parsed<()>,
    ) -> Parsed<()> {
        if range.op == Op::Flush {
            let Some(flushes) = self.flushes.get_mut(&range.device) else { return Ok(()) };
            while let Some(&(index, queued_ns)) = flushes.front() {
                if queued_ns > at_ns {
                    return Ok(());
                }
                flushes.pop_front();
                if at_ns - queued_ns <= LOST_AFTER_NS {
                    return ended(index, Span::from_ns(at_ns - queued_ns));
                }
            }
            return Ok(());
        }
        self.touch(at_ns, range);
        for key in self.touched.drain(..) {
            let waiting = self.waiting.get_mut(&key).expect("`touch` found it");
            let covered = waiting.end.min(range.end) - key.2.max(range.start);
            waiting.left = waiting.left.saturating_sub(covered);
            let took_ns = at_ns - waiting.at_ns;
            let lost = took_ns > LOST_AFTER_NS;
            if waiting.left > 0 && !lost {
                continue;
            }
            if !lost {
                ended(key.3, Span::from_ns(took_ns))?;
            }
            self.waiting.remove(&key);
        }
        Ok(())
    }

    /// Collects the requests that a completion belongs to.
    fn touch(&mut self, at_ns: u64, range: &Range) {
        let &Range { device, op, start, end } = range;
        let first = (device, op, start, 0);
        let same_place = self.waiting.range(first..=(device, op, start, usize::MAX));
        let mut exact = same_place.filter(|(_, waiting)| {
            let age_ns = at_ns.checked_sub(waiting.at_ns);
            waiting.end == end && age_ns.is_some_and(|age_ns| age_ns <= LOST_AFTER_NS)
        });
        if let Some((&key, _)) = exact.next() {
            self.touched.push(key);
            return;
        }
        let before = self.waiting.range((device, op, 0, 0)..first).rev().take(LOOK_BACK);
        let inside = self.waiting.range(first..(device, op, end, 0));
        let overlapping = before.filter(|(_, waiting)| waiting.end > start).chain(inside);
        // Lines of several CPUs may be out of order: a request that was queued later does not
        // match.
        let earlier = overlapping.filter(|(_, waiting)| waiting.at_ns <= at_ns);
        self.touched.extend(earlier.map(|(&key, _)| key));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND_NS: u64 = 1_000_000_000;

    fn range(op: Op, start: u64, end: u64) -> Range {
        Range { device: DeviceId(0), op, start, end }
    }

    /// Returns the requests that this completion ends, with their latencies in seconds.
    fn ended(completions: &mut Completions, at_s: u64, range: &Range) -> Vec<(usize, u64)> {
        let mut latencies = Vec::new();
        let mut note = |index, latency: Span| {
            latencies.push((index, latency.ns() / SECOND_NS));
            Ok(())
        };
        completions.completed(at_s * SECOND_NS, range, &mut note).unwrap();
        latencies
    }

    #[test]
    fn equal_ranges_end_in_their_order() {
        let mut completions = Completions::new();
        let same = range(Op::Read, 0, 8);
        completions.queued(0, 0, &same);
        completions.queued(1, SECOND_NS, &same);
        completions.queued(2, SECOND_NS, &range(Op::Write, 0, 8));
        assert_eq!(ended(&mut completions, 2, &same), [(0, 2)]);
        assert_eq!(ended(&mut completions, 3, &same), [(1, 2)]);
        assert_eq!(ended(&mut completions, 4, &same), []);
    }

    #[test]
    fn merged_requests_end_together_and_split_ones_with_their_last_piece() {
        let mut completions = Completions::new();
        completions.queued(0, 0, &range(Op::Write, 0, 8));
        completions.queued(1, 0, &range(Op::Write, 8, 16));
        completions.queued(2, 0, &range(Op::Write, 100, 120));
        assert_eq!(ended(&mut completions, 1, &range(Op::Write, 110, 120)), []);
        assert_eq!(ended(&mut completions, 2, &range(Op::Write, 0, 16)), [(0, 2), (1, 2)]);
        assert_eq!(ended(&mut completions, 3, &range(Op::Write, 100, 110)), [(2, 3)]);
    }

    #[test]
    fn a_lost_completion_does_not_spoil_later_ones() {
        let mut completions = Completions::new();
        for op in [Op::Read, Op::Flush] {
            let same = range(op, 0, 8 * u64::from(op == Op::Read));
            completions.queued(0, 0, &same);
            completions.queued(1, 40 * SECOND_NS, &same);
            assert_eq!(ended(&mut completions, 41, &same), [(1, 1)], "{op:?}");
        }
    }

    #[test]
    fn requests_without_completions_are_dropped_at_the_limit() {
        let mut completions = Completions::new();
        for index in 0..5 * WAITING_MAX {
            completions.queued(index, 0, &range(Op::Read, index as u64, index as u64 + 1));
            completions.queued(index, 0, &range(Op::Flush, 0, 0));
        }
        assert!(completions.waiting.len() <= 2 * WAITING_MAX);
        assert!(completions.flushes[&DeviceId(0)].len() <= WAITING_MAX);
    }
}
