//! Think times of streams and distances between their successive requests.
//!
//! Policies that keep a disk idle for a stream's next request decide by these. Means decay: each
//! sample has the weight of an eighth, so a changed behaviour shows after a dozen requests.
//! Integers only.

use penstock_core::{Span, Time};

/// A mean in which each sample counts seven eighths of the one after it.
#[derive(Clone, Debug, Default)]
pub(crate) struct DecayingMean {
    /// Eight times the mean, so that small samples are not rounded away.
    eightfold: u64,
    known: bool,
}

impl DecayingMean {
    /// Adds a sample; the first one is the mean.
    pub(crate) fn add(&mut self, sample: u64) {
        let sample = sample.min(u64::MAX / 16);
        self.eightfold =
            if self.known { self.eightfold - self.eightfold / 8 + sample } else { 8 * sample };
        self.known = true;
    }

    /// The mean; `None` before the first sample.
    pub(crate) fn get(&self) -> Option<u64> {
        self.known.then_some(self.eightfold / 8)
    }
}

/// The think time of a stream: the time from the completion that leaves it without a request to its
/// next request.
#[derive(Clone, Debug, Default)]
pub(crate) struct ThinkTime {
    /// Number of requests queued or in flight.
    outstanding: u32,
    /// Time of the last completion.
    since: Option<Time>,
    mean: DecayingMean,
}

impl ThinkTime {
    /// A request arrives. A pause of more than `longest` counts as `longest`, so that one long pause
    /// does not hide many short ones.
    pub(crate) fn arrives(&mut self, now: Time, longest: Span) {
        if self.outstanding == 0
            && let Some(since) = self.since
        {
            self.mean.add(now.since(since).min(longest).ns());
        }
        self.outstanding += 1;
    }

    /// A request has completed.
    pub(crate) fn completes(&mut self, now: Time) {
        self.outstanding -= 1;
        self.since = Some(now);
    }

    /// Whether it has no request queued or in flight.
    pub(crate) fn is_idle(&self) -> bool {
        self.outstanding == 0
    }

    /// Whether its next request is likely to come within `limit`; `true` before the first pause.
    pub(crate) fn within(&self, limit: Span) -> bool {
        self.mean.get().is_none_or(|mean| mean <= limit.ns())
    }
}

/// Whether a stream's requests follow one another on the disk.
#[derive(Clone, Debug, Default)]
pub(crate) struct Locality {
    /// Position at which its last request ended.
    end: Option<u64>,
    /// Share of requests, in 1,024ths, that began far from the end of the previous one.
    far: DecayingMean,
}

/// Distance in bytes from which a request is far: more than a disk reads ahead or a track holds.
const FAR: u64 = 1 << 20;

impl Locality {
    /// A request of the bytes from `start` to `end` arrives.
    pub(crate) fn arrives(&mut self, start: u64, end: u64) {
        if let Some(last) = self.end {
            self.far.add(if start.abs_diff(last) < FAR { 0 } else { 1024 });
        }
        self.end = Some(end);
    }

    /// Whether at least half of its requests begin far from the previous one; `false` before the
    /// second request.
    pub(crate) fn is_scattered(&self) -> bool {
        self.far.get().is_some_and(|far| far >= 512)
    }
}

#[cfg(test)]
mod tests {
    use super::{DecayingMean, Locality, ThinkTime};
    use penstock_core::{Span, Time};

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_ms(ms)
    }

    #[test]
    fn a_mean_follows_a_change_and_settles_at_the_new_value() {
        let mut mean = DecayingMean::default();
        assert_eq!(mean.get(), None);
        mean.add(1_000);
        assert_eq!(mean.get(), Some(1_000));
        (0..12).for_each(|_| mean.add(0));
        assert!(mean.get().unwrap() < 250, "{mean:?}");
        (0..200).for_each(|_| mean.add(0));
        assert_eq!(mean.get(), Some(0));
        (0..200).for_each(|_| mean.add(7));
        assert_eq!(mean.get(), Some(7));
        mean.add(u64::MAX);
        assert!(mean.get().unwrap() > 7);
    }

    #[test]
    fn think_time_begins_when_no_request_is_left() {
        let (mut think, longest) = (ThinkTime::default(), Span::from_ms(16));
        assert!(think.within(Span::ZERO), "nothing is known");
        think.arrives(at(0), longest);
        think.arrives(at(1), longest);
        think.completes(at(5));
        think.arrives(at(50), longest);
        assert!(think.within(Span::ZERO), "a request was there all the time");
        think.completes(at(60));
        think.completes(at(61));
        assert!(think.is_idle());
        think.arrives(at(64), longest);
        assert!(think.within(Span::from_ms(3)) && !think.within(Span::from_ms(2)));
        think.completes(at(70));
        think.arrives(at(7_000), longest);
        assert!(think.within(Span::from_ms(5)), "a long pause counts as 16 ms");
    }

    #[test]
    fn far_requests_make_a_stream_scattered_and_near_ones_unmake_it() {
        let mut locality = Locality::default();
        (0..4_u64).for_each(|n| locality.arrives(n * 4096, (n + 1) * 4096));
        assert!(!locality.is_scattered());
        (0..10_u64).for_each(|n| locality.arrives(n << 30, (n << 30) + 4096));
        assert!(locality.is_scattered());
        (0..10_u64).for_each(|n| locality.arrives((9 << 30) + n * 4096, (9 << 30) + n * 4096));
        assert!(!locality.is_scattered());
    }
}
