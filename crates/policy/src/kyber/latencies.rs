//! A histogram of latencies in quarters of their target, and its percentiles.

use penstock_core::{Span, Time};

/// Number of parts: four up to the target, three beyond it, and one for all longer latencies.
const PARTS: usize = 8;

/// Parts of a target.
pub(super) const TARGET: u32 = 4;

/// A percentile is taken from this many latencies, or from all after this time.
const ENOUGH: u64 = 500;
const LONGEST: Span = Span::from_secs(1);

/// Number of latencies in each part of the target.
#[derive(Debug)]
pub(super) struct Latencies {
    target: Span,
    counts: [u64; PARTS],
    sum: u64,
    /// Time at which the first of them was added.
    since: Time,
}

impl Latencies {
    pub(super) fn new(target: Span) -> Self {
        // Avoids parts of length zero; a target of 1 ns is as hard to meet.
        let target = target.max(Span::from_ns(1));
        Self { target, counts: [0; PARTS], sum: 0, since: Time::ZERO }
    }

    pub(super) fn add(&mut self, now: Time, latency: Span) {
        if self.sum == 0 {
            self.since = now;
        }
        let below = latency.ns().saturating_sub(1);
        let part = below.saturating_mul(u64::from(TARGET)) / self.target.ns();
        self.counts[(part as usize).min(PARTS - 1)] += 1;
        self.sum += 1;
    }

    /// Returns the end of the part in which this percentile lies, in parts of the target, and
    /// clears the histogram; `None` while there are too few latencies for a percentile.
    pub(super) fn take_percentile(&mut self, now: Time, percent: u64) -> Option<u32> {
        let too_few = self.sum < ENOUGH && now.since(self.since) < LONGEST;
        if self.sum == 0 || too_few {
            return None;
        }
        let rank = (self.sum * percent).div_ceil(100);
        let mut below = 0;
        let part = self.counts.iter().position(|count| {
            below += count;
            below >= rank
        });
        (self.counts, self.sum) = ([0; PARTS], 0);
        Some(part.map_or(PARTS, |part| part + 1) as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_is_the_end_of_its_part() {
        let at = |ms| Time::ZERO + Span::from_ms(ms);
        let mut latencies = Latencies::new(Span::from_ms(4));
        // 90 latencies of 1 ms, one part, and 10 of 4 ms, the target.
        for n in 0..100 {
            latencies.add(at(0), Span::from_ms(if n < 90 { 1 } else { 4 }));
        }
        assert_eq!(latencies.take_percentile(at(999), 90), None, "too few, too early");
        assert_eq!(latencies.take_percentile(at(1_000), 90), Some(1));
        assert_eq!(latencies.take_percentile(at(1_000), 90), None, "it began anew");
        for n in 0..500 {
            latencies.add(at(2_000), Span::from_ms(if n < 450 { 4 } else { 400 }));
        }
        assert_eq!(latencies.take_percentile(at(2_000), 91), Some(8), "beyond all parts");
        for n in 0..500 {
            latencies.add(at(2_000), Span::from_ms(if n < 450 { 4 } else { 400 }));
        }
        assert_eq!(latencies.take_percentile(at(2_000), 90), Some(TARGET));
    }
}
